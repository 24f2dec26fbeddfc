"""Figures for Prometheus, counted where things happen; nothing is counted until a server switches it on.

With PROMETHEUS_MULTIPROC_DIR set before the first figure all processes that share it are told as one.
"""

import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from planstrip.errors import UnusableSettings

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
    from prometheus_client.registry import Collector

SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
APPENDS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

AppendOutcome: TypeAlias = Literal["added", "known", "conflict", "refused", "unavailable", "failed"]
CheckpointOutcome: TypeAlias = Literal["hit", "absent", "outdated", "corrupt"]
Reason: TypeAlias = Literal["burst", "slow_viewer"]


@dataclass(frozen=True, slots=True)
class Figures:
    registry: "CollectorRegistry"
    appends: "Counter"
    append_seconds: "Histogram"
    commit_appends: "Histogram"
    streams: "Gauge"
    frame_lag_seconds: "Histogram"
    frames_coalesced: "Counter"
    checkpoint_reads: "Counter"
    refolds: "Counter"
    import_errors: "Counter"


@dataclass(slots=True)
class _Switch:
    """Loads the library with the first figure: it takes a server's start no time."""

    is_on: bool = False
    _figures: Figures | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def figures(self) -> Figures:
        if self._figures is None:
            with self._lock:
                self._figures = self._figures or _made()
        return self._figures


_SWITCH: Final = _Switch()


def switch_on() -> None:
    _SWITCH.is_on = True


@contextmanager
def shared() -> Iterator[None]:
    """Counts with all processes that are started meanwhile. Raises UnusableSettings where no file can be written."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="planstrip-metrics-", ignore_cleanup_errors=True)
    except OSError as error:
        raise UnusableSettings(f"the workers' figures need a temporary folder: {error}; set TMPDIR") from None
    with folder as path:
        os.environ[SHARED] = path
        switch_on()
        try:
            yield
        finally:
            del os.environ[SHARED]


def load() -> None:
    """So that the first append does not wait for it."""
    _SWITCH.figures()


def appended(outcomes: Iterable[tuple[AppendOutcome, float]]) -> None:
    """How appends ended, and how long after they were handed in, in seconds."""
    if _SWITCH.is_on:
        figures, counts = _SWITCH.figures(), dict[AppendOutcome, int]()
        for outcome, took_s in outcomes:
            counts[outcome] = counts.get(outcome, 0) + 1
            figures.append_seconds.observe(took_s)
        for outcome, count in counts.items():
            figures.appends.labels(outcome).inc(count)


def committed(appends: int) -> None:
    if _SWITCH.is_on:
        _SWITCH.figures().commit_appends.observe(appends)


def streams_changed(by: int) -> None:
    if _SWITCH.is_on:
        _SWITCH.figures().streams.inc(by)


def frame_handed_out(lag_s: float) -> None:
    """`lag_s` since the commit that the frame shows, or the first of those that it shows together."""
    if _SWITCH.is_on:
        _SWITCH.figures().frame_lag_seconds.observe(lag_s)


def frames_coalesced(reason: Reason, frames: int) -> None:
    if _SWITCH.is_on and frames > 0:
        _SWITCH.figures().frames_coalesced.labels(reason).inc(frames)


def checkpoint_read(outcome: CheckpointOutcome) -> None:
    if _SWITCH.is_on:
        _SWITCH.figures().checkpoint_reads.labels(outcome).inc()


def refolded() -> None:
    if _SWITCH.is_on:
        _SWITCH.figures().refolds.inc()


def import_failed(reader: str, times: int) -> None:
    """`reader`: whose transcript it is; `unknown` where it does not say so."""
    if _SWITCH.is_on and times > 0:
        _SWITCH.figures().import_errors.labels(reader).inc(times)


def process_ended(pid: int) -> None:
    """What only a living process has, such as open streams, is that one's no longer."""
    if SHARED in os.environ:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid)  # type: ignore[no-untyped-call]


def exposition(accept: str, beside: "Collector") -> tuple[bytes, str]:
    """The text, of the format that `accept` asks for, and its content type; `beside`: what is read as it is asked."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.multiprocess import MultiProcessCollector

    figures, registry = _SWITCH.figures(), CollectorRegistry()
    if SHARED in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(figures.registry)
    registry.register(beside)
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def _made() -> Figures:
    from prometheus_client import (
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        ProcessCollector,
        disable_created_metrics,
    )

    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)

    def counter(name: str, text: str, label: str | None = None, values: Iterable[str] = ()) -> Counter:
        made = Counter(f"planstrip_{name}", text, [label] if label else [], registry=registry)
        for value in values:  # a figure that is 0 is there from the start
            made.labels(value)
        return made

    def histogram(name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"planstrip_{name}", text, buckets=buckets, registry=registry)

    return Figures(
        registry,
        appends=counter("appends", "Appends, by how they ended.", "outcome", get_args(AppendOutcome)),
        append_seconds=histogram("append_seconds", "From an append being handed in to its answer.", SECONDS),
        commit_appends=histogram("commit_appends", "Appends that shared a commit.", APPENDS),
        streams=Gauge("planstrip_streams", "Open streams.", registry=registry, multiprocess_mode="livesum"),
        frame_lag_seconds=histogram("frame_lag_seconds", "From a commit to a viewer's frame that shows it.", SECONDS),
        frames_coalesced=counter(
            "frames_coalesced", "Frames that went into a later one, by reason.", "reason", get_args(Reason)
        ),
        checkpoint_reads=counter(
            "checkpoint_reads", "Checkpoints looked for, by what was found.", "outcome", get_args(CheckpointOutcome)
        ),
        refolds=counter("refolds", "Sessions whose whole log was folded again."),
        import_errors=counter("import_errors", "What could not be taken in, by whose transcript it is.", "reader"),
    )
