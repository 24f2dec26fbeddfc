"""The running parts that a request needs, as `main.create_app` wired them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from sqlalchemy import Engine
from starlette.requests import HTTPConnection

from planstrip.masks import NO_MASKS, Masks
from planstrip.settings import Settings
from planstrip.writer import Writer

if TYPE_CHECKING:
    from planstrip.web.live import Hub
    from planstrip.web.render import Renderer


@dataclass(frozen=True, slots=True)
class Parts:
    """`clock` gives ms since the epoch, UTC."""

    settings: Settings
    engine: Engine
    writer: Writer
    hub: "Hub"
    make_renderer: "Callable[[], Renderer]"
    clock: Callable[[], int]
    masks: Masks = NO_MASKS

    @property
    def renderer(self) -> "Renderer":
        """Made at the first page: no start waits for templates."""
        return self.make_renderer()


def parts_of(request: HTTPConnection) -> Parts:
    return cast(Parts, request.app.state.parts)
