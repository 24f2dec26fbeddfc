"""Request bodies: read within a limit, and parsed as strict JSON (spec.md §2, §10)."""

import json
import re
from typing import Any, Final, NoReturn

from starlette.requests import ClientDisconnect, Request

from planstrip.errors import BadRequest, TooLarge, UnsupportedType
from planstrip.intake.check import MAX_BATCH_BYTES

MAX_BODY_BYTES: Final = 3 * MAX_BATCH_BYTES + 1024 * 1024  # a full batch, each character as `\uXXXX`, and its envelope
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"


def content_type(request: Request, *allowed: str) -> str:
    """The request's media type, one of `allowed`; a form that another site can send is never one."""
    given = request.headers.get("content-type", "")
    media_type = given.partition(";")[0].strip().lower()
    if media_type not in allowed:
        raise UnsupportedType(f"content-type is {given[:80]!r}; expected {' or '.join(allowed)} (curl: -H)")
    return media_type


async def read_body(request: Request, limit: int = MAX_BODY_BYTES) -> bytes:
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise TooLarge(f"the body has {declared[:20]} bytes; at most {limit} are taken")
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise TooLarge(f"the body has over {limit} bytes, which is the most that is taken")
            parts.append(part)
    except ClientDisconnect:
        raise BadRequest("the body broke off before its end") from None
    return b"".join(parts)


def text_of(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not UTF-8: byte {error.start} is {body[error.start]:#04x}") from None


def parse(text: str, what: str = "the body") -> Any:
    try:
        value = _DECODER.decode(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise BadRequest(f"{what} has half of a surrogate pair, which is no character") from None
    except RecursionError:
        raise BadRequest(f"{what} is nested too deep") from None
    except json.JSONDecodeError as error:
        near = text[max(error.pos - 20, 0) : error.pos + 20]
        raise BadRequest(f"{what} is not JSON: {error.msg} at character {error.pos}, near {near!a}") from None
    except ValueError as error:
        raise BadRequest(f"{what} is not JSON: {error!s:.100}") from None


def parse_object(text: str, what: str = "the body") -> dict[str, Any]:
    value = parse(text, what)
    if not isinstance(value, dict):
        raise BadRequest(f"{what} must be a JSON object, got a {type(value).__name__}")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)
