"""Who looks at a page: whoever the panel belongs to, or a guest with a view token, who reads and can do nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from starlette.requests import HTTPConnection

from planstrip.view_tokens import ViewToken

READER: Final = "planstrip.reader"  # where the guard puts a guest in an ASGI scope


@dataclass(frozen=True, slots=True)
class Reader:
    """`view` is a guest's token, `token` the same as it stood in the address, to be kept in the page's own links."""

    view: ViewToken | None = None
    token: str | None = None

    @property
    def is_guest(self) -> bool:
        return self.view is not None

    @property
    def key(self) -> str:
        """Tells apart what is rendered for different readers: without the token, since keys are logged."""
        if self.view is None:
            return ""
        return f"{self.view.id}{'' if self.token else ' header'}"

    @property
    def kept(self) -> Mapping[str, str]:
        """What every link that this reader may follow has in its query."""
        return {} if self.token is None else {"token": self.token}


OWNER: Final = Reader()


def reader_of(request: HTTPConnection) -> Reader:
    return cast(Reader, request.scope.get(READER, OWNER))
