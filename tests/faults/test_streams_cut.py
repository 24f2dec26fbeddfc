"""Streams that are cut at random while an agent writes, and workers that are killed below them (spec.md §8)."""

import os
import random
import re
import signal
from pathlib import Path

import httpx

from tests.databases import SUFFIX, release
from tests.faults.load import RUNS, check, loaded, some
from tests.faults.viewers import Viewer, shown, standing, viewing
from tests.faults.waiting import wait_until
from tests.running import TIMEOUT_S, Panel, serving
from tests.test_workers import wait_until_it_answers, workers_of

VIEWERS = 10
CUTS = 15 * RUNS
WITHIN_S = 5.0


def test_one_in_ten_streams_cut_at_random_leaves_no_viewer_with_another_plan(panel: Panel) -> None:
    """Each viewer, of the page or of the JSON, comes back with the position of its last frame, sees no frame of before
    it, and ends with the plan that a fresh page shows."""
    with loaded(panel.url, 0.01) as load, viewing(panel.url, "s0", VIEWERS) as viewers:
        for _ in range(CUTS):
            load.wait(some(5, 30))
            for viewer in random.sample(viewers, VIEWERS // 10):
                viewer.cut()
        load.stop()
        converge(panel.url, viewers)
    assert sum(viewer.connections for viewer in viewers) > VIEWERS
    assert sum(len(viewer.positions) for viewer in viewers) > 2 * VIEWERS


def converge(url: str, viewers: list[Viewer]) -> None:
    plan = standing(url, "s0") or []
    page = httpx.get(f"{url}/sessions/s0", trust_env=False, timeout=TIMEOUT_S).text
    assert shown(page) == plan
    for viewer in viewers:
        viewer.until(plan, WITHIN_S)
        assert viewer.positions == sorted(viewer.positions)


def test_a_killed_workers_viewers_go_on_with_another(tmp_path: Path) -> None:
    """Nothing acknowledged is lost; another process takes its place; every viewer converges."""
    path = tmp_path / f"log{SUFFIX}"
    with serving(path, "--workers", "2") as program:
        wait_until_it_answers(program)
        for _ in range(RUNS):
            with loaded(program.url, 0.01) as load, viewing(program.url, "s0", VIEWERS) as viewers:
                load.wait(some(5, 50))
                before = set(workers_of(program))
                killed = random.choice(sorted(before))
                os.kill(killed, signal.SIGKILL)
                load.recover()
                wait_until(lambda killed=killed: killed not in workers_of(program), TIMEOUT_S)  # type: ignore[misc]
                wait_until(lambda: len(workers_of(program)) == 2, TIMEOUT_S)
                assert re.search(rf"worker {killed} ended", "".join(program.said))
                load.wait(10)
                writes = load.stop()
                converge(program.url, viewers)
                assert any(viewer.connections > 1 for viewer in viewers)
            with httpx.Client(base_url=program.url, trust_env=False) as client:
                check(client, writes)
    release(path)
