"""One payload to a panel over HTTP, on a bare socket: `http.client` takes longer to import. Standard library only."""

import socket
import time
from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from planstrip.hooks.spool import Outcome, Parcel

DELIVERY_HEADER: Final = "planstrip-delivery"
TIME_HEADER: Final = "planstrip-time"
MAX_ANSWER_BYTES: Final = 256 * 1024
FINAL: Final = (400, 413, 415, 422)  # what a panel will never take, however often it comes
TAKEN: Final = (200, 202)
FULL_HEADER: Final = "planstrip-full"  # of a 503: it holds for this session alone, until somebody makes room
PANELS_OWN: Final = b'"recorded"'  # another server may listen there, and say 200 to anything


class Panel(NamedTuple):
    """Where payloads go; `token` is the bearer's."""

    url: str
    token: str | None = None

    def send(self, parcel: Parcel, timeout_s: float) -> Outcome:
        """Never raises: what went wrong may go right later."""
        try:
            status, head, body = self._exchange(parcel, time.monotonic() + timeout_s)
        except (OSError, ValueError):
            return "later"
        if status in TAKEN and PANELS_OWN in body:
            return "taken"
        named = head.lower()
        if b"application/problem+json" not in named:
            return "later"
        return "refused" if status in FINAL else "full" if f"\n{FULL_HEADER}:".encode() in named else "later"

    def sender(self, timeout_s: Callable[[], float]) -> Callable[[Parcel], Outcome]:
        return lambda parcel: self.send(parcel, timeout_s()) if timeout_s() > 0 else "later"

    def _exchange(self, parcel: Parcel, deadline: float) -> tuple[int, bytes, bytes]:
        parts = urlsplit(self.url)
        is_tls = parts.scheme == "https"
        address = (parts.hostname or "127.0.0.1", parts.port or (443 if is_tls else 80))
        with socket.create_connection(address, _left(deadline)) as plain:
            wire = plain
            if is_tls:
                import ssl

                wire = ssl.create_default_context().wrap_socket(plain, server_hostname=address[0])
            with wire:
                wire.settimeout(_left(deadline))
                wire.sendall(self._request(parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), parcel))
                return _answer(wire, deadline)

    def _request(self, host: str, root: str, parcel: Parcel) -> bytes:
        lines = [
            f"POST {root}/api/hooks/{parcel.agent} HTTP/1.1",
            f"host: {host}",
            "content-type: application/json",
            f"content-length: {len(parcel.payload)}",
            f"{DELIVERY_HEADER}: {parcel.id}",
            f"{TIME_HEADER}: {parcel.time}",
            "connection: close",
        ]
        if self.token:
            lines.append(f"authorization: Bearer {self.token}")
        head = "\r\n".join((*lines, "", ""))
        if head.count("\r\n") != len(lines) + 1:
            raise ValueError("a line break in the token or the address")
        return head.encode("latin-1") + parcel.payload


def _answer(wire: socket.socket, deadline: float) -> tuple[int, bytes, bytes]:
    data = b""
    while len(data) < MAX_ANSWER_BYTES:
        wire.settimeout(_left(deadline))
        part = wire.recv(65536)
        if not part:
            break
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.") else 0, head, body


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
