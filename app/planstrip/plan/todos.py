"""The durable invariant of a todo list, the policy, and its counts (spec.md §2, §3)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planstrip.events import Status, Todo

# Unicode White_Space and U+FEFF. str.strip() is not that: it takes U+001C-1F and leaves U+FEFF.
WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
MAX_TODOS: Final = 1_000
MAX_CONTENT_CHARS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: `path` into the value that was checked (`todos[2].content`), and a sentence."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Counts:
    completed: int = 0
    in_progress: int = 0
    pending: int = 0

    @property
    def total(self) -> int:
        return self.completed + self.in_progress + self.pending

    @property
    def is_complete(self) -> bool:
        return self.completed == self.total > 0


def trim(text: str) -> str:
    return text.strip(WHITE_SPACE)


def count(todos: Iterable[Todo]) -> Counts:
    tally: dict[Status, int] = {"completed": 0, "in_progress": 0, "pending": 0}
    for todo in todos:
        tally[todo.status] += 1
    return Counts(**tally)


def limit_problems(contents: Sequence[str]) -> Iterator[Problem]:
    """What no writer may exceed, answered with 422 and never stored."""
    if len(contents) > MAX_TODOS:
        yield Problem("todos", f"invalid todos: at most {MAX_TODOS} entries are allowed (got {len(contents)})")
    for index, content in enumerate(contents[:MAX_TODOS]):
        if len(content) > MAX_CONTENT_CHARS:
            yield Problem(
                f"todos[{index}].content",
                f"invalid todo: `content` may have at most {MAX_CONTENT_CHARS} characters (got {len(content)})",
            )


def invariant_problems(todos: Sequence[Todo]) -> Iterator[Problem]:
    """What breaks the durable invariant. The number in progress is not its business: a log outlives a policy."""
    seen: set[str] = set()
    for index, todo in enumerate(todos):
        path = f"todos[{index}].content"
        if not trim(todo.content):
            yield Problem(path, "invalid todo: `content` must be a non-empty string")
        elif trim(todo.content) != todo.content:
            yield Problem(
                path, f"invalid todo: `content` must have no white space around it (got {todo.content!r:.80})"
            )
        elif todo.content in seen:
            yield duplicate(index, todo.content)
        seen.add(todo.content)


def tool_problems(todos: Sequence[Todo], *, allow_parallel_in_progress: bool) -> Iterator[Problem]:
    """What the tool refuses in a list of trimmed todos, in the order of spec.md §3; empty when it is accepted."""
    for index, todo in enumerate(todos):
        if not todo.content:
            yield Problem(f"todos[{index}].content", "invalid todo: `content` must be a non-empty string")
    seen: set[str] = set()
    for index, todo in enumerate(todos):
        if todo.content and todo.content in seen:
            yield duplicate(index, todo.content)
        seen.add(todo.content)
    active = count(todos).in_progress
    if active > 1 and not allow_parallel_in_progress:
        yield Problem("todos", f"invalid todos: at most one task may be in_progress (got {active})")


def duplicate(index: int, content: str) -> Problem:
    shown = content if len(content) <= 80 else content[:79] + "…"
    return Problem(f"todos[{index}].content", f'invalid todos: duplicate content "{shown}"')
