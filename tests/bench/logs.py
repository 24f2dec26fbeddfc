"""Makes logs of a realistic mix: turns, tool calls with their results, and two plan writes in every hundred events."""

import json
import random
from collections.abc import Mapping
from pathlib import Path

from planstrip.db import open_engine, prepare
from planstrip.eventlog import Draft
from planstrip.events import TYPES
from planstrip.intake.check import check_data
from planstrip.intake.record import take_in
from planstrip.projection import StandingProjector
from planstrip.writer import Writer
from planstrip.writing import now_ms

EVENTS_PER_TURN = 100  # a start, an end, two plan writes of three events each, 46 calls with their results
CALLS_PER_TURN = 46
TAIL = 100  # the last events come alone, so that a checkpoint never stands at the head itself
WORDS = ("read", "the", "module", "and", "move", "its", "tests", "梳理需求", "build", "error:", "0x7f", "ok", "->")
TOOLS = (("bash", "command"), ("read", "file_path"), ("edit", "file_path"), ("grep", "pattern"), ("fetch", "url"))


def todos(step: int, count: int = 4) -> list[dict[str, str]]:
    """A list whose header differs from that of the step before."""
    done = step % count
    statuses = ["completed"] * done + ["in_progress"] * min(2, count - done)
    statuses += ["pending"] * (count - len(statuses))
    return [{"content": f"Step {index + 1}: 实现 fixture 样本", "status": s} for index, s in enumerate(statuses)]


def seed(database: Path, sizes: dict[str, int]) -> None:
    """A database with a session of each name and size; sizes are whole turns."""
    engine = open_engine(f"sqlite:///{database}")
    prepare(engine)
    writer = Writer(engine, StandingProjector(), now_ms)
    writer.start()
    try:
        for session, size in sizes.items():
            drafts = make(size)
            take_in(writer, session, drafts[:-TAIL])
            take_in(writer, session, drafts[-TAIL:])
    finally:
        writer.stop()
        engine.dispose()


def make(size: int) -> list[Draft]:
    """`size` events. The same for the same size, but for the place of its end."""
    chance = random.Random(2)
    drafts: list[Draft] = []
    for turn in range(1, size // EVENTS_PER_TURN + 1):
        drafts.append(_draft("turn/start", {"turn": turn, "prompt": f"Turn {turn}: {_text(chance, 60)}"}))
        for call in range(CALLS_PER_TURN):
            if call in (0, CALLS_PER_TURN // 2):
                drafts += _plan_write(turn, call)
            drafts += _tool_call(chance, f"call_{turn}_{call}")
        drafts.append(_draft("turn/end", {"turn": turn, "reason": {"kind": "completed"}}))
    return drafts


def _plan_write(turn: int, call: int) -> list[Draft]:
    call_id, listed = f"plan_{turn}_{call}", todos(turn + call)
    arguments = json.dumps({"todos": listed}, ensure_ascii=False)
    return [
        _draft("tool/call", {"call_id": call_id, "name": "todo_write", "arguments": arguments}),
        _draft("todo/write", {"todos": listed, "call_id": call_id}),
        _draft("tool/result", {"call_id": call_id, "is_error": False, "text": "Updated todo list."}),
    ]


def _tool_call(chance: random.Random, call_id: str) -> list[Draft]:
    name, key = chance.choice(TOOLS)
    arguments = json.dumps({key: _text(chance, 120)}, ensure_ascii=False)
    result = {"call_id": call_id, "is_error": chance.random() < 0.05, "text": _text(chance, chance.randint(40, 600))}
    call = {"call_id": call_id, "name": name, "arguments": arguments}
    return [_draft("tool/call", call), _draft("tool/result", result)]


def _text(chance: random.Random, chars: int) -> str:
    text = ""
    while len(text) < chars:
        text += chance.choice(WORDS) + " "
    return text[:chars].rstrip()


def _draft(type_: str, data: Mapping[str, object]) -> Draft:
    assert type_ in TYPES
    return check_data(type_, data)
