"""Payloads as facts, in the dialect that Claude Code, Codex, Qwen, Gemini and dsh's bridge share (agents.md §4)."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from planstrip.errors import Invalid
from planstrip.hooks.payload import NOTE
from planstrip.intake.check import MAX_ID_CHARS, check_session_id, shown
from planstrip.intake.hooks_facts import (
    Answered,
    Called,
    Closed,
    Ended,
    Fact,
    Prompted,
    Resumed,
    Told,
    Waits,
)
from planstrip.plan.outline import first_line
from planstrip.plan.todos import Problem
from planstrip.transcripts.claude_code_rows import label_of
from planstrip.transcripts.records import Record, at, iso_time_at, json_of, text_at

TURN_IDS: Final = ("prompt_id", "turn_id")
CALL_IDS: Final = ("tool_call_id", "tool_use_id")  # qwen's transcript knows the first
WAITING: Final = frozenset({"permission_prompt", "elicitation_dialog", "ToolPermission"})
MAX_REF_CHARS: Final = 120


def read(agent: str, payload: dict[str, Any], mark: str, time: int | None) -> Told:
    """Raises Invalid for a payload that does not say whose it is."""
    root, child = text_at(payload, "session_id"), text_at(payload, "agent_id")
    if root is None:
        message = f"session_id must be a string, got {shown(payload.get('session_id'))}"
        raise Invalid(message, [Problem("session_id", message)])
    check_session_id(root, "session_id")
    is_child = child is not None and child != root and _is_id(child)
    return Told(
        agent,
        child if is_child and child is not None else root,
        mark,
        tuple(_facts(agent, payload, mark, is_child=is_child)),
        root if is_child else None,
        text_at(payload, "cwd"),
        next((short(found) for key in TURN_IDS if (found := text_at(payload, key))), None),
        iso_time_at(payload, "timestamp") or time,
    )


def short(text: str) -> str:
    """An agent's id as a part of a key."""
    return text if len(text) <= MAX_REF_CHARS else hashlib.sha256(text.encode(errors="replace")).hexdigest()[:20]


def _facts(agent: str, payload: Record, mark: str, *, is_child: bool) -> Iterator[Fact]:
    event = text_at(payload, "hook_event_name")
    if event == "UserPromptSubmit":
        prompt = text_at(payload, "prompt") or ""
        if agent != "qwen-code" or "submitted_prompt" in payload:  # else it only goes on after a batch of tools
            yield Prompted(_as_its_transcript(prompt) if agent == "claude-code" else prompt)
    elif event == "SubagentStart" and is_child and agent == "claude-code":  # Codex tells its prompt as well
        yield Prompted()
    elif event == "SubagentStop":
        if is_child:
            yield Ended("completed")
    elif event in _SIMPLE:
        yield from _SIMPLE[event](payload)
    elif event in _TOOLS:
        yield from _TOOLS[event](payload, mark)


def _as_its_transcript(prompt: str) -> str:
    """Claude Code's notices of tasks are prompts, which are named by what they tell."""
    return label_of([{"type": "text", "text": prompt}])


def _called(payload: Record, mark: str | None) -> Called | None:
    name = text_at(payload, "tool_name")
    call_id = next((found for key in CALL_IDS if (found := text_at(payload, key))), None)
    call_id = call_id or (None if mark is None else f"hook_{mark[-40:]}")  # gemini tells none
    if name is None or call_id is None:
        return None
    sent = payload.get("tool_input")
    return Called(call_id, name, sent if isinstance(sent, str) else json_of({} if sent is None else sent))


def _before(payload: Record, _mark: str) -> Iterator[Fact]:
    """Without an id the call could not be told from its result's."""
    call = _called(payload, None)
    if call is not None:
        yield call


def _after(payload: Record, mark: str) -> Iterator[Fact]:
    """Of a payload that broke off the call alone: an answer is not made up."""
    is_cut = NOTE in payload
    call = _called(payload, None if is_cut else mark)
    if call is not None and is_cut and "tool_response" not in payload:
        yield call
    elif call is not None:
        yield Answered(call, payload.get("tool_input"), payload.get("tool_response"))


def _failed(payload: Record, mark: str) -> Iterator[Fact]:
    call = _called(payload, mark)
    if call is not None:
        response = next((payload[key] for key in ("error", "tool_response") if payload.get(key)), None)
        yield Answered(call, payload.get("tool_input"), response, is_error=True)


def _permission(payload: Record) -> Iterator[Fact]:
    yield Waits(f"permission: {text_at(payload, 'tool_name') or '?'}"[:200])


def _notice(payload: Record) -> Iterator[Fact]:
    kind, message = text_at(payload, "notification_type"), text_at(payload, "message") or ""
    if kind in WAITING or (kind is None and "needs your permission" in message):
        yield Waits(first_line(message) or kind or "")


_SIMPLE: Final[dict[str | None, Callable[[Record], Iterator[Fact]]]] = {
    "BeforeAgent": lambda payload: iter([Prompted(text_at(payload, "prompt") or "")]),
    "Stop": lambda _: iter([Ended("completed")]),
    "AfterAgent": lambda _: iter([Ended("completed")]),
    "StopFailure": lambda _: iter([Ended("error")]),
    "Interrupt": lambda _: iter([Ended("interrupted")]),
    "SessionEnd": lambda payload: iter([Closed(text_at(payload, "reason"))]),
    "PermissionRequest": _permission,
    "Elicitation": lambda payload: iter([Waits(first_line(text_at(payload, "message") or "") or "an answer")]),
    "ElicitationResult": lambda _: iter([Resumed()]),
    "PermissionDenied": lambda _: iter([Resumed()]),
    "Notification": _notice,
}
_TOOLS: Final[dict[str | None, Callable[[Record, str], Iterator[Fact]]]] = {
    "PreToolUse": _before,
    "BeforeTool": _before,
    "PostToolUse": _after,
    "AfterTool": _after,
    "PostToolUseFailure": _failed,
}


def _is_id(value: str) -> bool:
    return 0 < len(value) <= MAX_ID_CHARS and "/" not in value and value.isprintable()


def response_text(response: object) -> str:
    """What a tool gave, as its reader would see it: words where there are some, else JSON."""
    if isinstance(response, str):
        return response
    for key in ("llmContent", "content"):
        if (text := _words(at(response, key))) is not None:
            return text
    if isinstance(response, list) and (text := _words(response)) is not None:
        return text
    streams = [text for key in ("stdout", "stderr") if (text := text_at(response, key))]
    if streams or isinstance(at(response, "stdout"), str):
        return "\n".join(streams)
    for path in (("file", "content"), ("error",), ("error", "message"), ("output",)):
        if (text := text_at(response, *path)) is not None:
            return text
    return "" if response is None else json_of(response)


def _words(parts: object) -> str | None:
    """The text of a string, or of a list's parts; None where there is none."""
    if isinstance(parts, str):
        return parts
    if not isinstance(parts, list):
        return text_at(parts, "text")
    texts = [part if isinstance(part, str) else text_at(part, "text") for part in parts]
    found = [text for text in texts if text is not None]
    return "\n".join(found) if found else None
