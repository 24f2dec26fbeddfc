"""One side of `import`, in a process of its own: prints how many seconds it took, and its peak of memory in MiB."""

import json
import sys
import time
from pathlib import Path

from planstrip.intake.imports import import_paths
from planstrip.writing import writing


def main() -> None:
    """Arguments: the transcript, and the database to import it into; without one its lines are parsed, no more."""
    path = Path(sys.argv[1])
    took_s = _import(path, sys.argv[2]) if len(sys.argv) > 2 else _parse(path)
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    print(took_s, int(line.split()[1]) / 1024)


def _import(path: Path, database_url: str) -> float:
    with writing(database_url) as writer:
        began = time.perf_counter()
        report = import_paths(writer, [path])
        took_s = time.perf_counter() - began
    if report.failed or report.known or report.files[0].problems:
        raise RuntimeError(f"not imported whole: {report}")
    return took_s


def _parse(path: Path) -> float:
    began = time.perf_counter()
    with path.open("rb") as source:
        for line in source:
            json.loads(line)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
