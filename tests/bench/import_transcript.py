"""import: a large Claude transcript into an empty database, against `json.loads` of each of its lines."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.lines import Line, Pair, Scale
from tests.bench.servers import ROOT
from tests.bench.transcripts import MIXED, PLANS, make

TARGET = 0.5
ALLOWED_MIB = 150.0
MIB = 1024 * 1024


def measure(scale: Scale) -> Iterator[Line]:
    size = scale.pick(200 * MIB, MIB)
    speeds, memory = _rounds(scale, MIXED, size)
    plans, more = _rounds(scale, PLANS, size // 4)
    yield Line(
        "import", speeds, "MiB/s", TARGET, is_least=True, note=f"{size // MIB} MiB of {MIXED}, process by process"
    )
    yield Line("import, plans", plans, "MiB/s", None, is_least=True, note=f"{size // MIB // 4} MiB of {PLANS}")
    yield Line("import, memory", memory + more, "MiB", 1.0, note="the process's peak, against what it is allowed")


def _rounds(scale: Scale, sample: str, size: int) -> tuple[list[Pair], list[Pair]]:
    speeds, memory = [], []
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder:
        path = Path(folder) / "session.jsonl"
        make(path, sample, size)
        for number in range(scale.rounds):
            ours_s, peak_mib = _once(str(path), f"sqlite:///{folder}/{number}.sqlite3")
            bare_s, _ = _once(str(path))
            speeds.append(Pair(size / MIB / ours_s, size / MIB / bare_s))
            memory.append(Pair(peak_mib, ALLOWED_MIB))
            Path(folder, f"{number}.sqlite3").unlink()
    return speeds, memory


def _once(*arguments: str) -> tuple[float, float]:
    command = [sys.executable, "-m", "tests.bench.import_load", *arguments]
    done = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    took_s, peak_mib = map(float, done.stdout.split())
    return took_s, peak_mib
