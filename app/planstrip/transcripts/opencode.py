"""opencode: a session's messages with their parts, as its database and its exports hold them (formats.md §4).

Keys: `opencode:header`, `opencode:title`, `opencode:MESSAGE ID/TYPE`, `opencode:PART ID/TYPE`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from planstrip.plan.outline import first_line
from planstrip.transcripts.adapter import Adapted, Composer, Header
from planstrip.transcripts.records import Record, at, json_of, list_at, text_at, time_at

AGENT: Final = "opencode"
PLAN_TOOL: Final = "todowrite"
INVALID_TOOL: Final = "invalid"  # stands for a call whose arguments were no JSON
GOES_ON: Final = frozenset({"tool-calls", "unknown"})  # how a message finishes within a turn
PLACEHOLDERS: Final = ("New session - ", "Child session - ")  # titles until the model has made one


@dataclass(frozen=True, slots=True)
class Message:
    """`parts` in the order of their ids, each with its id."""

    id: str
    info: Record
    parts: Sequence[tuple[str, Record]]

    @property
    def created_at(self) -> int | None:
        return time_at(self.info, "time", "created")

    @property
    def is_assistant(self) -> bool:
        return text_at(self.info, "role") == "assistant"

    @property
    def prompt(self) -> str:
        """What the user typed; parts that opencode adds are marked as such."""
        parts = [
            part for _, part in self.parts if text_at(part, "type") == "text" and at(part, "synthetic") is not True
        ]
        return "\n".join(text_at(part, "text") or "" for part in parts)

    @property
    def end(self) -> str | None:
        """How the turn ended with this answer; None while the agent goes on."""
        if at(self.info, "error") is not None:
            return "aborted" if text_at(self.info, "error", "name") == "MessageAbortedError" else "error"
        finish = text_at(self.info, "finish")
        if finish is None or finish in GOES_ON or time_at(self.info, "time", "completed") is None:
            return None
        return "completed" if finish == "stop" else finish

    @property
    def is_over(self) -> bool:
        """Whether nothing of it can change that is told."""
        ended = at(self.info, "error") is not None or time_at(self.info, "time", "completed") is not None
        tools = [part for _, part in self.parts if text_at(part, "type") == "tool"]
        return ended and all(text_at(tool, "state", "status") in ("completed", "error") for tool in tools)


@dataclass(slots=True)
class OpencodeSession:
    """Takes the messages in order, one that has changed again; what was told of it is not told twice.

    A prompt that was sent while the agent worked starts its turn when the answer to it begins.
    """

    header: Header
    _composer: Composer = field(default_factory=lambda: Composer(AGENT))
    _turns: dict[str, int] = field(default_factory=dict)  # a user message's id -> its turn
    _held: dict[str, Message] = field(default_factory=dict)  # user messages whose turn has not begun
    _told: dict[str, set[str]] = field(default_factory=dict)  # keys of messages that are not over
    _title: str | None = None
    _newest: tuple[int, str] = (0, "")  # of the answers

    @property
    def open_messages(self) -> list[str]:
        """Ids of those that are to be taken again when they change."""
        return [*self._held, *self._told]

    def name(self, title: str | None, time: int | None) -> Iterator[Adapted]:
        """The session's title, when it is one and is new."""
        label = first_line(title or "")
        if label and label != self._title and not label.startswith(PLACEHOLDERS):
            self._title = label
            yield Adapted("session/title", {"title": label}, time, f"{AGENT}:title")

    def take(self, message: Message) -> Iterator[Adapted]:
        if message.is_assistant:
            yield from self._release(text_at(message.info, "parentID"))
            yield from self._answer(message)
        elif message.id not in self._turns:
            self._held[message.id] = message
        if not self._told:
            for held in list(self._held.values()):
                if not held.prompt.strip():
                    break
                yield self._start(held)

    def finish(self) -> Iterator[Adapted]:
        """What was held back, where nothing can follow."""
        for held in list(self._held.values()):
            yield self._start(held)

    def _release(self, parent: str | None) -> Iterator[Adapted]:
        """The turns up to the one that is answered; all of them where the prompt is gone."""
        if parent in self._turns:
            return
        is_known = parent in self._held
        for held in list(self._held.values()):
            yield self._start(held)
            if is_known and held.id == parent:
                return

    def _start(self, message: Message) -> Adapted:
        del self._held[message.id]
        self._told.clear()  # an answer that was never ended belongs to a turn that is over
        start = self._composer.start_turn(message.created_at, message.prompt, message.id)
        self._turns[message.id] = self._composer.turn
        return start

    def _answer(self, message: Message) -> Iterator[Adapted]:
        turn = self._turns.get(text_at(message.info, "parentID") or "", self._composer.turn)
        is_current = turn == self._composer.turn
        events: list[Adapted] = []
        place = (message.created_at or 0, message.id)
        if is_current and place > self._newest:
            self._newest = place
            events += self._composer.resume_turn(message.created_at, message.id)
        for part_id, part in message.parts:
            if text_at(part, "type") == "tool":
                events += self._tool(part_id, part)
        events.sort(key=lambda event: event.time or 0)  # calls that ran in parallel, as they went
        kind = message.end
        if kind is not None and is_current:
            events += self._composer.end_turn(kind, time_at(message.info, "time", "completed"), message.id)
        told = self._told.setdefault(message.id, set())
        yield from (event for event in events if event.key not in told)
        told.update(event.key for event in events)
        if message.is_over or not is_current:
            del self._told[message.id]

    def _tool(self, part_id: str, part: Record) -> Iterator[Adapted]:
        """A call from when it runs, since its arguments are not known before; its list once it was accepted."""
        state = at(part, "state")
        status, call_id, name = text_at(state, "status"), text_at(part, "callID"), text_at(part, "tool")
        if call_id is None or name is None or status not in ("running", "completed", "error"):
            return
        is_invalid = name == INVALID_TOOL
        name = text_at(state, "input", "tool") or name if is_invalid else name
        is_plan = name == PLAN_TOOL
        arguments = json_of(at(state, "input") or {})
        yield self._composer.call(call_id, name, arguments, time_at(state, "time", "start"), part_id, is_plan=is_plan)
        if status == "running":
            return
        time = time_at(state, "time", "end")
        is_error = is_invalid or status == "error"
        items = list_at(state, "metadata", "todos") or list_at(state, "input", "todos")
        if is_plan and not is_error and items is not None:
            pairs = [(text_at(item, "content"), text_at(item, "status")) for item in items]
            yield from self._composer.write(pairs, time, call_id, part_id)
        text = text_at(state, "error") or text_at(state, "output") or ""
        yield self._composer.result(call_id, text, time, part_id, is_error=is_error)
