"""The tree of errors that a caller can mend, each with its HTTP status."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from planstrip.plan.todos import Problem


class PlanstripError(Exception):
    """`detail` names the thing, the value seen and what was expected; `problems` lists every fault by its path."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"

    def __init__(self, detail: str, problems: "Sequence[Problem]" = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = tuple(problems)


class BadRequest(PlanstripError):
    status, title = 400, "Bad request"


class Unauthorized(PlanstripError):
    status, title = 401, "Token needed"


class Forbidden(PlanstripError):
    status, title = 403, "Refused"


class NotFound(PlanstripError):
    status, title = 404, "Not found"


class Conflict(PlanstripError):
    status, title = 409, "Conflict"


class TooLarge(PlanstripError):
    status, title = 413, "Too large"


class UnsupportedType(PlanstripError):
    status, title = 415, "Unsupported content type"


class Invalid(PlanstripError):
    status, title = 422, "Invalid"

    @classmethod
    def of(cls, problems: "Sequence[Problem]") -> "Invalid":
        return cls("; ".join(problem.message for problem in problems), problems)


class Unavailable(PlanstripError):
    """The store cannot take it now; the same call may succeed later."""

    status, title = 503, "Store unavailable"


class UnusableSettings(PlanstripError):
    """Arguments or settings with which the program cannot start: exit 2, said in one line."""


class StoreUnusable(UnusableSettings):
    """A database that is locked, read-only, of a newer schema, or not ours."""


class ContradictingHeader(PlanstripError):
    """A transcript whose header is not that of the session stored under its id."""


class UnreadableTranscript(PlanstripError):
    """A file that is unreadable, corrupt, or no agent's transcript."""
