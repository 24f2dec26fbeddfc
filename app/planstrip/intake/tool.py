"""The `todo_write` tool: its description, what it accepts, and what a call leaves in the log (spec.md §3)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from random import getrandbits
from typing import Any, Final

from planstrip.errors import Invalid, TooLarge
from planstrip.eventlog import Draft
from planstrip.events import STATUSES, Failure, Todo, TodoWrite, ToolCall, ToolResult, encode, size_bytes
from planstrip.intake.check import MAX_EVENT_BYTES, shown
from planstrip.intake.record import record
from planstrip.plan.todos import Counts, Problem, count, limit_problems, tool_problems, trim
from planstrip.writer import Writer

NAME: Final = "todo_write"
MAX_REFUSED_BYTES: Final = 16 * 1024
MAX_UNKNOWN_KEYS: Final = 5  # named for one object

_DESCRIPTION: Final = (
    "Record the plan of the current work as a list of to-dos. Send the COMPLETE list on every call: it replaces the"
    " previous one; there are no partial updates. Write it before you start work of several steps, and again as soon"
    " as the status of a to-do changes. {active} Mark a to-do completed only when it is wholly done, add what you"
    " discover, and leave out what is no longer needed. An empty list clears the plan. Each `content` is a short"
    " imperative sentence, non-empty and unique in the list."
)
_PARALLEL: Final = (
    "Mark every to-do that is actively being worked on as in_progress: several while work really runs in parallel"
    " (subagents, background commands), one for sequential work, and keep at least one while work remains."
)
_SINGLE: Final = "Keep exactly one to-do in_progress while work remains, and never more than one."

INPUT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["todos"],
    "properties": {
        "todos": {
            "type": "array",
            "description": "The complete list, in the order of the work.",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["content", "status"],
                "properties": {
                    "content": {"type": "string", "description": "What is to be done."},
                    "status": {"type": "string", "enum": list(STATUSES)},
                },
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class Answer:
    """`position` is that of the `todo/write`; the log's head is one further. `listed` is `todos` as JSON."""

    todos: tuple[Todo, ...]
    listed: str
    counts: Counts
    text: str
    position: int

    def as_json(self) -> str:
        """`{todos, counts, text, position}`."""
        counts = {name: getattr(self.counts, name) for name in ("pending", "in_progress", "completed")}
        rest = encode({"counts": counts, "text": self.text, "position": self.position})
        return f'{{"todos":{self.listed},{rest[1:]}'


def description(*, allow_parallel_in_progress: bool) -> str:
    """What the model is told. Only the clause on what is active differs: it and what is accepted move together."""
    return _DESCRIPTION.format(active=_PARALLEL if allow_parallel_in_progress else _SINGLE)


@dataclass(frozen=True, slots=True)
class Way:
    """How a call came: the client's `call_id` if it gave one, and what is recorded `before` it, in the same append.

    `key` names the call in its session: one that comes again is recorded once. `is_told`: a hook or a transcript has
    told the call itself, so that only what came of it is added. `expected_position`: where the log stood when that was
    looked up.
    """

    call_id: str | None = None
    key: str | None = None
    before: Sequence[Draft] = ()
    is_told: bool = False
    expected_position: int | None = None

    def drafts(self, own: list[Draft]) -> list[Draft]:
        if self.is_told:
            own = [draft for draft in own if draft.type != "tool/call"]
        if self.key is not None:
            own = [replace(draft, key=f"{self.key}/{draft.type}") for draft in own]
        return [*self.before, *own]


async def todo_write(
    writer: Writer,
    session: str,
    arguments: Mapping[str, Any],
    raw: str,
    *,
    allow_parallel_in_progress: bool,
    way: Way = Way(),
) -> Answer:
    """One call of the tool. `raw` is the string that the model sent, `arguments` what it parses to.

    Raises Invalid with the reason, after recording the refused call; Invalid or TooLarge for a list over the limits,
    with nothing recorded; Conflict for a `way.key` that names another call, or a log that has moved on.
    """
    if size_bytes(raw) > MAX_EVENT_BYTES:
        raise TooLarge(f"the arguments have {size_bytes(raw)} bytes; an event of at most {MAX_EVENT_BYTES} is taken")
    todos, problems = check(arguments, allow_parallel_in_progress=allow_parallel_in_progress)
    call = ToolCall(way.call_id or f"call_{getrandbits(64):016x}", NAME, raw)
    if problems:
        refusal = Invalid.of(problems)
        await record(
            writer, session, way.drafts(_refused(call, refusal.detail)), expected_position=way.expected_position
        )
        raise refusal
    counts = count(todos)
    text = (
        f"Updated todo list: {counts.pending} pending, {counts.in_progress} in progress, {counts.completed} completed."
    )
    listed = encode([{"content": todo.content, "status": todo.status} for todo in todos])
    drafts = way.drafts(_accepted(call, todos, listed, text))
    appended = await record(writer, session, drafts, expected_position=way.expected_position)
    return Answer(todos, listed, counts, text, appended.positions[-2])


def check(arguments: Mapping[str, Any], *, allow_parallel_in_progress: bool) -> tuple[tuple[Todo, ...], list[Problem]]:
    """The todos with their contents trimmed, or what is wrong: schema, then content, then the policy."""
    contents = [_content(item) for item in _listed(arguments)]
    over = list(limit_problems(contents))
    if over:
        raise Invalid.of(over)
    problems = list(_schema_problems(arguments))
    if problems:
        return (), problems
    items = zip(contents, arguments["todos"], strict=True)
    todos = tuple([Todo(content, item["status"]) for content, item in items])
    return todos, list(tool_problems(todos, allow_parallel_in_progress=allow_parallel_in_progress))[:1]


def _listed(arguments: Mapping[str, Any]) -> list[object]:
    todos = arguments.get("todos")
    return todos if isinstance(todos, list) else []


def _content(item: object) -> str:
    content = item.get("content") if isinstance(item, dict) else None
    return trim(content) if isinstance(content, str) else ""


def _schema_problems(arguments: Mapping[str, Any]) -> Iterator[Problem]:
    yield from (_fault(key, "is not a known key; only todos is") for key in _unknown(arguments, "todos"))
    if "todos" not in arguments:
        yield _fault("todos", "is missing; expected the complete list")
        return
    todos = arguments["todos"]
    if not isinstance(todos, list):
        hint = ", not JSON in a string" if isinstance(todos, str) else ""
        yield _fault("todos", f"must be a list of objects{hint} (got {shown(todos)})")
        return
    for index, item in enumerate(todos):
        yield from _item_problems(item, f"todos[{index}]")


def _item_problems(item: object, path: str) -> Iterator[Problem]:
    if not isinstance(item, dict):
        yield _fault(path, f"must be an object with content and status (got {shown(item)})")
        return
    for key in _unknown(item, "content", "status"):
        yield _fault(f"{path}.{key}", "is not a known key; only content and status are")
    if not isinstance(item.get("content"), str):
        yield _fault(f"{path}.content", f"must be a string (got {shown(item.get('content'))})")
    if item.get("status") not in STATUSES:
        yield _fault(f"{path}.status", f"must be one of {', '.join(STATUSES)} (got {shown(item.get('status'))})")


def _unknown(item: Mapping[str, Any], *known: str) -> Iterator[str]:
    """The first few: a refusal must not grow larger than what it refuses."""
    return islice((key for key in item if key not in known), MAX_UNKNOWN_KEYS)


def _fault(path: str, message: str) -> Problem:
    return Problem(path[:200], f"invalid arguments: {path[:200]} {message}")


def _accepted(call: ToolCall, todos: tuple[Todo, ...], listed: str, text: str) -> list[Draft]:
    """`listed` goes in as it is: the list is encoded once, for the log and for the answer."""
    result = ToolResult(call.call_id, is_error=False, text=text)
    written = f'{{"todos":{listed},"call_id":{encode(call.call_id)}}}'
    drafts = [
        _call_draft(call),
        Draft("todo/write", TodoWrite(todos, call.call_id), written),
        _draft("tool/result", result, {"call_id": call.call_id, "is_error": False, "text": text}),
    ]
    for draft in drafts:
        size = size_bytes(draft.data)
        if size > MAX_EVENT_BYTES:
            raise TooLarge(f"the call makes a {draft.type} of {size} bytes; at most {MAX_EVENT_BYTES} are taken")
    return drafts


def _refused(call: ToolCall, reason: str) -> list[Draft]:
    kept = call.arguments.encode()[:MAX_REFUSED_BYTES].decode(errors="ignore")
    text = reason.encode()[:MAX_REFUSED_BYTES].decode(errors="ignore")
    failure = Failure("InvalidTodos", "INVALID_TODOS")
    return [
        _call_draft(ToolCall(call.call_id, call.name, kept)),
        _draft(
            "tool/result",
            ToolResult(call.call_id, is_error=True, text=text, error=failure),
            {"call_id": call.call_id, "is_error": True, "text": text, "error": asdict(failure)},
        ),
    ]


def _call_draft(call: ToolCall) -> Draft:
    return _draft("tool/call", call, {"call_id": call.call_id, "name": call.name, "arguments": call.arguments})


def _draft(type_: str, event: ToolCall | TodoWrite | ToolResult, data: dict[str, Any]) -> Draft:
    return Draft(type_, event, encode(data))
