"""Request bodies: read within a limit, and parsed as strict JSON (spec.md §2, §10)."""

import json
import re
from typing import Any, Final, NoReturn

from starlette.requests import ClientDisconnect, Request

from planstrip.errors import BadRequest, Said, TooLarge, UnsupportedType
from planstrip.errors import msgid as _
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
        said = _("content-type is %(given)s; expected %(allowed)s (curl: -H)")
        raise UnsupportedType(Said(said, given=repr(given[:80]), allowed=" / ".join(allowed)))
    return media_type


async def read_body(request: Request, limit: int = MAX_BODY_BYTES) -> bytes:
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared[:20]) > limit:
        said = _("the body has %(size)s bytes; at most %(limit)d are taken")
        raise TooLarge(Said(said, size=declared[:20], limit=limit))
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise TooLarge(
                    Said(_("the body has over %(limit)d bytes, which is the most that is taken"), limit=limit)
                )
            parts.append(part)
    except ClientDisconnect:
        raise BadRequest(Said(_("the body broke off before its end"))) from None
    return b"".join(parts)


def text_of(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        said = _("the body is not UTF-8: byte %(place)d is %(byte)s")
        raise BadRequest(Said(said, place=error.start, byte=f"{body[error.start]:#04x}")) from None


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
