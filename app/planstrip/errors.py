"""The tree of errors that a caller can mend, each with its HTTP status."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from planstrip.bidi import undirected

if TYPE_CHECKING:
    from gettext import NullTranslations

    from planstrip.plan.todos import Problem


def msgid(text: str) -> str:
    """Marks a text for the catalogue where it is imported as `_`; who shows it translates it."""
    return text


class Said(str):
    """English for a program; for a person it keeps the msgid and what stands in it, to be said in their language."""

    msgid: str
    values: Mapping[str, object]

    def __new__(cls, msgid: str, **values: object) -> "Said":
        said = super().__new__(cls, msgid % values)
        said.msgid, said.values = msgid, values
        return said

    def to(self, tr: "NullTranslations") -> str:
        return tr.gettext(self.msgid) % {name: _shown(value, tr) for name, value in self.values.items()}


def _shown(value: object, tr: "NullTranslations") -> object:
    if isinstance(value, Said):
        return value.to(tr)
    return undirected(value) if isinstance(value, str) else value


_ = msgid


class PlanstripError(Exception):
    """`detail` names the thing, the value seen and what was expected; `problems` lists every fault by its path."""

    status: ClassVar[int] = 500
    retry_after_s: int | None = None
    title: ClassVar[str] = _("Internal error")

    def __init__(self, detail: str, problems: "Sequence[Problem]" = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = tuple(problems)


class BadRequest(PlanstripError):
    status, title = 400, _("Bad request")


class Unauthorized(PlanstripError):
    status, title = 401, _("Token needed")


class Forbidden(PlanstripError):
    status, title = 403, _("Refused")


class NotFound(PlanstripError):
    status, title = 404, _("Not found")


class Conflict(PlanstripError):
    status, title = 409, _("Conflict")


class TooLarge(PlanstripError):
    status, title = 413, _("Too large")


class UnsupportedType(PlanstripError):
    status, title = 415, _("Unsupported content type")


class TooMany(PlanstripError):
    """More requests, or open streams, than one client may have: later there is room again."""

    status, title = 429, _("Too many requests")

    def __init__(self, detail: str, retry_after_s: int) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class Invalid(PlanstripError):
    status, title = 422, _("Invalid")

    @classmethod
    def of(cls, problems: "Sequence[Problem]") -> "Invalid":
        return cls("; ".join(problem.message for problem in problems), problems)


class Unavailable(PlanstripError):
    """The store cannot take it now; the same call may succeed later."""

    status, title = 503, _("Store unavailable")
    retry_after_s = 1


class Full(PlanstripError):
    """The log holds as many sessions as it may, and those go on: until somebody makes room no new one is taken."""

    status, title = 503, _("No room for a new session")
    retry_after_s = 300


class Crowded(PlanstripError):
    """As many streams are open as this process can hold."""

    status, title = 503, _("Too many viewers")
    retry_after_s = 10


class UnusableSettings(PlanstripError):
    """Arguments or settings with which the program cannot start: exit 2, said in one line."""


class StoreUnusable(UnusableSettings):
    """A database that is locked, read-only, of a newer schema, or not ours."""


class ContradictingHeader(PlanstripError):
    """A transcript whose header is not that of the session stored under its id."""


class UnreadableTranscript(PlanstripError):
    """A file that is unreadable, corrupt, or no agent's transcript."""
