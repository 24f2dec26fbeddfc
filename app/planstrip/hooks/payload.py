"""A hook's payload as it goes to the panel: its good part, and not more of it than is shown. Standard library only."""

import json
import re
from typing import Any, Final

MAX_STRING_CHARS: Final = 256 * 1024  # a plan call's list may be a string, and is no longer than this
KEPT_CHARS: Final = 15 * 1024  # of a longer one: the log keeps 16 KiB of a text with its mark
MAX_PAYLOAD_BYTES: Final = 1024 * 1024  # beyond, the response is kept as text, and then the input as well
BULKY: Final = ("tool_response", "tool_input")
NOTE: Final = "planstrip"  # our own key in a payload: what was done to it

_SPACE: Final = re.compile(r"\s*")


def good_part(raw: bytes) -> bytes | None:
    """The payload as strict JSON, of bounded size; None when no key of it can be read."""
    text = raw.decode(errors="replace")
    try:
        payload = json.loads(text, strict=False, parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError):
        payload = _salvage(text)
    if not isinstance(payload, dict) or not payload:
        return None
    try:
        return _encode(_bounded(payload))
    except RecursionError:
        return None


def session_of(payload: bytes) -> str:
    """Whose it is: what a panel may take of one session and not of another. A subagent's is a session of its own."""
    told = json.loads(payload)
    properties = _member(told, "properties")
    part, info = _member(properties, "part"), _member(properties, "info")
    named = (_member(told, "agent_id"), _member(told, "session_id"))
    on_the_bus = (*(_member(place, "sessionID") for place in (properties, part, info)), _member(info, "id"))
    return next((found for found in (*named, *on_the_bus) if isinstance(found, str) and found), "")


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _salvage(text: str) -> dict[str, Any]:
    """The whole members at the start of an object that breaks off, with a note of the last one."""
    decoder = json.JSONDecoder(strict=False, parse_constant=lambda _: None, parse_float=_finite)
    payload: dict[str, Any] = {}
    at = _after(text, 0, "{")
    try:
        while at:
            key, at = decoder.raw_decode(text, _SPACE.match(text, at).end())  # type: ignore[union-attr]
            at = _after(text, at, ":")
            if not at or not isinstance(key, str):
                break
            value, at = decoder.raw_decode(text, _SPACE.match(text, at).end())  # type: ignore[union-attr]
            if not _SPACE.sub("", text[at : at + 100]) and not isinstance(value, str | list | dict):
                break  # a number that the end of the text cut short may have had more digits
            payload[key] = value
            at = _after(text, at, ",")
    except (ValueError, RecursionError):
        pass  # here it breaks off
    return payload | {NOTE: {"cut_after": next(reversed(payload))}} if payload else {}


def _finite(text: str) -> float | None:
    """`1e999` is JSON, and no number that may be sent on."""
    number = float(text)
    return number if number - number == 0 else None


def _after(text: str, at: int, mark: str) -> int:
    """The index behind `mark`, which follows at `at`; 0 where it does not."""
    at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
    return at + 1 if text.startswith(mark, at) else 0


def _bounded(payload: dict[str, Any]) -> dict[str, Any]:
    payload = _shortened(payload)
    for key in BULKY:
        if key in payload and len(_encode(payload)) > MAX_PAYLOAD_BYTES:
            payload[key] = _shorten(json.dumps(payload[key], ensure_ascii=False), KEPT_CHARS)
    if len(_encode(payload)) > MAX_PAYLOAD_BYTES:  # none of an agent's: keep what says whose it is
        payload = {key: value for key, value in payload.items() if len(_encode({key: value})) <= 2 * KEPT_CHARS}
    return payload


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return _shorten(value, MAX_STRING_CHARS)
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    return value


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[:KEPT_CHARS]
    return f"{head}… [trimmed {len(text.encode(errors='replace')) - len(head.encode(errors='replace'))} bytes]"


def _encode(payload: dict[str, Any]) -> bytes:
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
