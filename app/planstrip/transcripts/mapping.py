"""How an agent's list becomes ours: contents, statuses, and what is kept of long texts (spec.md §2)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from planstrip.events import Omitted, Status, Todo, encode
from planstrip.plan.todos import MAX_CONTENT_CHARS, MAX_TODOS, WHITE_SPACE, limit_problems

MAX_TEXT_BYTES: Final = 16 * 1024
MAX_CHAR_BYTES: Final = 6  # in JSON
MAX_PLAN_BYTES: Final = 248 * 1024  # the door takes 256 KiB an event; the rest is for its other keys

STATUSES: Final[dict[str, Status]] = {
    "pending": "pending",
    "todo": "pending",
    "not-started": "pending",
    "open": "pending",
    "blocked": "pending",
    "in_progress": "in_progress",
    "in-progress": "in_progress",
    "inProgress": "in_progress",
    "completed": "completed",
    "complete": "completed",
    "done": "completed",
    "closed": "completed",
}
OMITTED: Final = frozenset({"cancelled", "canceled", "abandoned", "deleted", "failed"})


@dataclass(frozen=True, slots=True)
class MappedList:
    todos: tuple[Todo, ...]
    omitted: tuple[Omitted, ...]

    @property
    def data(self) -> dict[str, object]:
        """The keys of a `todo/write`."""
        data: dict[str, object] = {"todos": [{"content": t.content, "status": t.status} for t in self.todos]}
        if self.omitted:
            data["omitted"] = [{"content": o.content, "status": o.status} for o in self.omitted]
        return data

    @property
    def excess(self) -> str | None:
        """Why no log may hold it, or None."""
        contents = [item.content for items in (self.todos, self.omitted) for item in items]
        if len(contents) <= MAX_TODOS and sum(map(len, contents)) <= MAX_CONTENT_CHARS:
            return None  # as most lists; with 6 bytes a character and 99 an entry that makes 219,000 at most
        for items in (self.todos, self.omitted):
            for problem in limit_problems([item.content for item in items]):
                return problem.message
        size = len(encode(self.data).encode())
        return None if size <= MAX_PLAN_BYTES else f"invalid todos: at most {MAX_PLAN_BYTES} bytes (got {size})"


def map_list(items: Iterable[tuple[str | None, str | None]]) -> MappedList:
    """The agent's (content, status) pairs as a list that keeps the invariant; an unknown status is pending."""
    todos: list[Todo] = []
    omitted: list[Omitted] = []
    taken: set[str] = set()
    repeats: dict[str, int] = {}
    for raw, status in items:
        content = raw.strip(WHITE_SPACE) if raw else ""
        if not content:
            continue
        if status in OMITTED:
            omitted.append(Omitted(content, status))
            continue
        if content in taken:
            content = _free(content, taken, repeats)
        taken.add(content)
        todos.append(Todo(content, STATUSES.get(status or "", "pending")))
    return MappedList(tuple(todos), tuple(omitted))


def _free(content: str, taken: set[str], repeats: dict[str, int]) -> str:
    """The content, or the first of `content (2)`, `content (3)` … that is not taken."""
    candidate = content
    while candidate in taken:
        repeats[content] = repeats.get(content, 1) + 1
        candidate = f"{content} ({repeats[content]})"
    return candidate


def kept(text: str, limit_bytes: int = MAX_TEXT_BYTES) -> str:
    """The text, or its first bytes and a mark that says how many are missing."""
    if len(text) * 4 <= limit_bytes:  # no character has more bytes
        return text
    data = text.encode()
    if len(data) <= limit_bytes:
        return text
    head = data[:limit_bytes].decode(errors="ignore")
    return f"{head}… [trimmed {len(data) - len(head.encode())} bytes]"


def kept_plan(arguments: str) -> str:
    """A plan call's arguments, whole as long as the door takes them."""
    if len(arguments) * MAX_CHAR_BYTES + 99 < MAX_PLAN_BYTES:
        return arguments
    return arguments if len(encode({"arguments": arguments}).encode()) <= MAX_PLAN_BYTES else kept(arguments)
