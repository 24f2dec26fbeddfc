"""What becomes of a stream on its way: when frames arrive, whether as they were sent, and how long silence lasts."""

import json
import statistics
from collections.abc import Iterator
from typing import Final

from planstrip.doctor.findings import FORWARDED, Finding, note, ok, wrong
from planstrip.doctor.wire import Frame, Stream, Target, listening, offers_h2
from planstrip.web.channels import HEARTBEAT_S
from planstrip.web.probe import TICK_S, TICKS

PROBE: Final = "/probe/stream"
SEEN: Final = {"path", "host", "scheme", "http_version"}
SESSION: Final = "/api/sessions/planstrip-doctor/stream"  # one that need not be there: its stream waits for it
FIRST_S: Final = 5.0
LATE_S: Final = TICK_S  # half of the frames so late came together, not as they were sent
WAIT_S: Final = FIRST_S + TICKS * TICK_S  # a proxy that holds the probe back lets it go at its end
BEAT_S: Final = HEARTBEAT_S + 2
UNBUFFERED: Final = "buffer no event stream: nginx `proxy_buffering off`, Apache `flushpackets=on`; no gzip, no cache"
UNCOMPRESSED: Final = "leave text/event-stream out of the types that the proxy compresses"


def streams(target: Target, idle_s: float) -> Iterator[Finding]:
    try:
        yield from _coding(target)
        yield from _as_sent(target)
        yield from _kept_open(target, idle_s)
    except TimeoutError:
        yield wrong("first frame", f"none within {FIRST_S:.0f} s", UNBUFFERED)


def _coding(target: Target) -> Iterator[Finding]:
    """A browser takes any coding; this is how it gets the stream."""
    with listening(target, PROBE, WAIT_S, encodings="gzip, deflate, br, zstd") as stream:
        coding = stream.headers.get("Content-Encoding", "identity")
    if coding == "identity":
        yield ok("compression", "none")
    else:
        yield wrong("compression", f"the stream is compressed ({coding}), and so held back", UNCOMPRESSED)


def _as_sent(target: Target) -> Iterator[Finding]:
    """The probe's ticks, each of which says when it was sent."""
    with listening(target, PROBE, WAIT_S) as stream:
        if stream.response.status != 200:
            yield note("buffering", f"{PROBE} answers {stream.response.status}: an older panel?", "upgrade the panel")
            return
        frames = list(iter(lambda: stream.frame(WAIT_S), None))
    ticks = [frame for frame in frames if frame.event == "tick" and frame.data.isdecimal()]
    if len(ticks) < TICKS:
        yield wrong("buffering", f"{len(ticks)} of {TICKS} frames arrived", UNBUFFERED)
    else:
        yield _pace(frames[0], ticks)
    yield from _arrival(target, _seen(frames))


def _pace(first: Frame, ticks: list[Frame]) -> Finding:
    late = [first.at_s, *(tick.at_s - int(tick.data) / 1000 for tick in ticks)]
    typical = statistics.median(late) - min(late)
    if typical >= LATE_S:
        said = f"frames arrive in a heap, {round(typical * 1000)} ms late and later"
        return wrong("buffering", said, UNBUFFERED)
    return ok("buffering", f"none: {TICKS} frames came as they were sent, within {round(typical * 1000)} ms")


def _seen(frames: list[Frame]) -> dict[str, str]:
    """What the panel saw of the request."""
    found = next((frame.data for frame in frames if frame.event == "request"), "{}")
    try:
        seen = json.loads(found)
    except ValueError:
        return {}
    is_whole = isinstance(seen, dict) and seen.keys() >= SEEN
    return {name: str(seen[name]) for name in SEEN} if is_whole else {}


def _arrival(target: Target, seen: dict[str, str]) -> Iterator[Finding]:
    if not seen:
        return
    if seen["host"].lower() != target.sent_host:
        said = f"the panel saw Host {seen['host']}, not {target.sent_host}"
        yield wrong(
            "host", said, "let the proxy hand on Host as the browser sent it (`proxy_set_header Host $http_host`)"
        )
    if seen["scheme"] != target.scheme:
        yield note("scheme", f"the panel takes this for {seen['scheme']}: its cookie would not be Secure", FORWARDED)
    if seen["http_version"] == "1.0":
        said = "the proxy asks the panel over HTTP/1.0"
        yield wrong("upstream", said, 'speak HTTP/1.1: nginx `proxy_http_version 1.1; proxy_set_header Connection ""`')
    else:
        stripped = f", having taken {target.root} off" if target.root and seen["path"] == PROBE else ""
        yield ok("upstream", f"the panel was asked over HTTP/{seen['http_version']}{stripped}")


def _kept_open(target: Target, idle_s: float) -> Iterator[Finding]:
    """The first frame of a real stream, its headers, and its silence afterwards."""
    with listening(target, SESSION, FIRST_S) as stream:
        yield _untouched(stream)
        first = stream.frame(FIRST_S)
        if first is None:
            raise TimeoutError
        yield ok("first frame", f"after {round(first.at_s * 1000)} ms")
        yield _silence(stream, first.at_s, idle_s)
    yield _version(target, stream)


def _untouched(stream: Stream) -> Finding:
    kind, cache = stream.headers.get_content_type(), stream.headers.get("Cache-Control", "")
    if kind != "text/event-stream":
        return wrong("stream", f"its type is {kind}", "let the proxy leave Content-Type as it is")
    if "no-transform" not in cache or "no-cache" not in cache:
        return wrong("stream", f"its Cache-Control is {cache!r}", "let the proxy leave Cache-Control as it is")
    return ok("stream", "its headers are as the panel sent them")


def _silence(stream: Stream, since_s: float, idle_s: float) -> Finding:
    beats = 0
    while (frame := stream.frame(since_s + idle_s)) is not None:
        beats += frame.event == "heartbeat"
    if stream.ended_s is not None:
        said = f"the stream was cut after {stream.ended_s:.1f} s"
        what = f"raise the proxy's read timeout well above the {HEARTBEAT_S:.0f} s between heartbeats (nginx: 1h)"
        return wrong("idle", said, what)
    if not beats and idle_s >= BEAT_S:
        return wrong("idle", f"no heartbeat in {idle_s:.0f} s", UNBUFFERED)
    heard = f"{beats} heartbeat{'s' * (beats != 1)}" if idle_s >= BEAT_S else "no heartbeat is due so soon"
    return ok("idle", f"open after {idle_s:g} s: {heard}")


def _version(target: Target, stream: Stream) -> Finding:
    if stream.response.version == 10:
        return wrong("HTTP", "answers come over HTTP/1.0", "let the proxy speak HTTP/1.1 or newer")
    if offers_h2(target):
        return ok("HTTP", "HTTP/2: a browser keeps as many streams as it likes")
    return note(
        "HTTP", "HTTP/1.1: a browser keeps six streams of one host open", "TLS and HTTP/2 in the proxy lift that"
    )
