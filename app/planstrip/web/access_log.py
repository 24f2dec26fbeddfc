"""The access log, in which no token stands: whoever may read a log may not read what a token opens."""

import logging
import re
from typing import Final
from urllib.parse import unquote_plus

LOGGER: Final = "uvicorn.access"
HIDDEN: Final = "[hidden]"
VIEW: Final = re.compile(r"view_[0-9a-f]{16}[\w.%-]*", re.IGNORECASE)  # a view token, wherever it was put by mistake
TARGET: Final = 2  # of uvicorn's arguments: client, method, target, HTTP version, status


def set_up_access_log(*, is_on: bool) -> None:
    """Also where it is off: somebody else's logging may switch it on."""
    logger = logging.getLogger(LOGGER)
    logger.addFilter(_hide_tokens)
    logger.setLevel(logging.INFO if is_on else logging.NOTSET)
    logger.propagate = is_on


def without_tokens(target: str) -> str:
    """A request's target with the value of each parameter named `token` hidden, and of each that tells one inside."""
    path, mark, query = target.partition("?")
    return VIEW.sub(HIDDEN, path + mark + "&".join(map(_hidden, query.split("&"))))


def _hidden(pair: str) -> str:
    name, equals, value = pair.partition("=")
    said = unquote_plus(name).rpartition("?")[2].strip().lower()
    is_secret = said == "token" or "token=" in unquote_plus(unquote_plus(value)).lower()
    return name + equals + HIDDEN if equals and is_secret else pair


def _hide_tokens(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple) and len(record.args) > TARGET:
        told = list(record.args)
        told[TARGET] = without_tokens(str(told[TARGET]))
        record.args = tuple(told)
    return True
