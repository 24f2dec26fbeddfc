"""The bytes of server-sent events (spec.md §8)."""


def heartbeat(position: int, heard_at: int, key: str = "") -> bytes:
    """Named, so that page code sees it: a comment never reaches it. `heard_at`: the last event's time (ms, UTC)."""
    return f"event: heartbeat\ndata: {position} {heard_at}{key and ' '}{key}\n\n".encode()


def behind(position: int) -> bytes:
    """The store cannot be read: what the viewer has, up to `position`, may be old. A heartbeat or a frame ends it."""
    return f"event: behind\ndata: {position}\n\n".encode()


def sse(data: str, *, position: int | None = None, event: str | None = None) -> bytes:
    """One frame. Every line of `data` gets its own `data:`, for CR, LF and CRLF alike."""
    lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    head = (f"event: {event}\n" if event else "") + ("" if position is None else f"id: {position}\n")
    return (head + "".join(f"data: {line}\n" for line in lines) + "\n").encode()
