"""The tool calls of an ACP session: told bit by bit on the wire, recorded as a call and its result."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from planstrip.transcripts.adapter import Adapted, Composer
from planstrip.transcripts.records import at, json_of, list_at, text_at

ENDED: Final = ("completed", "failed", "cancelled")
MAX_OPEN: Final = 1_000
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]*")


@dataclass(slots=True)
class Call:
    """`name` is the tool's where the agent gives it, else the kind that it says it is of."""

    name: str
    title: str = ""
    kind: str = "other"
    input: object = None
    paths: list[str] = field(default_factory=list)
    content: list[object] = field(default_factory=list)
    is_told: bool = False

    @property
    def arguments(self) -> str:
        if self.input not in (None, {}, "", []):
            return self.input if isinstance(self.input, str) else json_of(self.input)
        if self.kind == "execute":
            return json_of({"command": self.title})
        return json_of(({"path": self.paths[0]} if self.paths else {}) | {"title": self.title})

    def learn(self, update: object) -> None:
        """An update holds what has changed; its content is whole, but for a chunk's."""
        self.title = text_at(update, "title") or self.title
        self.kind = text_at(update, "kind") or self.kind
        given = at(update, "rawInput")
        self.input = self.input if given is None else given
        paths = [path for place in list_at(update, "locations") or [] if (path := text_at(place, "path")) is not None]
        self.paths = paths or self.paths
        content = at(update, "content")
        if isinstance(content, list):
            self.content = content
        elif isinstance(content, dict):
            self.content.append(content)

    def text(self, output: object) -> str:
        shown = [text for part in self.content if (text := _shown(part))]
        if shown or output is None:
            return "\n".join(shown)
        return output if isinstance(output, str) else json_of(output)


@dataclass(slots=True)
class Calls:
    """Those without a result. A call is told once its arguments are known, or it runs."""

    _open: dict[str, Call] = field(default_factory=dict)

    def take(self, composer: Composer, update: object, time: int | None) -> Iterator[Adapted]:
        call_id, status = text_at(update, "toolCallId"), text_at(update, "status")
        if not call_id:
            return
        call = self._open.get(call_id)
        if call is None:
            call = self._open[call_id] = Call(_name(update))
            if len(self._open) > MAX_OPEN:
                del self._open[next(iter(self._open))]
        call.learn(update)
        if not call.is_told and (status not in (None, "pending") or call.input not in (None, {}, "", [])):
            call.is_told = True
            yield composer.call(call_id, call.name, call.arguments, time, is_plan=False)
        if status in ENDED:
            del self._open[call_id]
            yield composer.result(call_id, call.text(at(update, "rawOutput")), time, is_error=status != "completed")


def _name(update: object) -> str:
    """`_meta` has it with Claude's adapter; others put it in the title at first, or a sentence."""
    name = text_at(update, "_meta", "claudeCode", "toolName") or text_at(update, "name") or text_at(update, "title")
    if name is not None and _NAME.fullmatch(name):
        return name
    kind = text_at(update, "kind")
    return kind if kind not in (None, "other") else "tool"


def _shown(part: object) -> str:
    kind = text_at(part, "type")
    if kind == "diff":
        return text_at(part, "path") or ""
    return text_at(part, "content", "text") or "" if kind == "content" else ""
