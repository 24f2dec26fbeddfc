"""LangChain streams: what expected.json says, whatever is done to the file; whose it is, turns, lists, both modes."""

from pathlib import Path
from typing import Final

import pytest

from planstrip.transcripts.langchain import FORMAT
from tests.transcripts.walking import Told, Walk


class TestItsSamples(Walk):
    agent = "langchain"
    plan_tool = "write_todos"


FIRST: Final[dict[str, object]] = {"mode": "values", "chunk": {"messages": []}}
FILE: Final = Told(FORMAT, FIRST, Path("/runs/tuesday.jsonl"))
adapted, types = FILE.adapted, FILE.types


def message(id_: str, type_: str, **more: object) -> dict[str, object]:
    return {"id": id_, "type": type_, "content": "", **more}


def answer(id_: str, *calls: str) -> dict[str, object]:
    args = {"todos": [{"content": "Read", "status": "pending"}]}
    return message(id_, "ai", tool_calls=[{"id": call, "name": "write_todos", "args": args} for call in calls])


def result(id_: str, call: str, status: str = "success") -> dict[str, object]:
    return message(id_, "tool", tool_call_id=call, status=status)


def update(*messages: object, node: str = "tools", **state: object) -> dict[str, object]:
    return {"mode": "updates", "chunk": {node: {"messages": list(messages), **state}}}


def values(*messages: object, **state: object) -> dict[str, object]:
    return {"mode": "values", "chunk": {"messages": list(messages), **state}}


LIST: Final = [{"content": "Read", "status": "in_progress"}]


def test_the_files_name_and_first_line_say_whose_it_is() -> None:
    def session(path: str, first: dict[str, object]) -> str:
        header = FORMAT.adapter(first, Path(path)).header
        assert header is not None
        return header.session

    assert session("/runs/tuesday.jsonl", FIRST) == session("/elsewhere/tuesday.jsonl", FIRST)
    assert session("/runs/tuesday.jsonl", FIRST).startswith("tuesday-")
    assert session("/runs/tuesday.jsonl", FIRST) != session("/runs/tuesday.jsonl", values(message("h", "human")))
    assert "\n" not in session("/runs/a\nb.jsonl", FIRST)


@pytest.mark.parametrize("record", [{"mode": "values"}, {"mode": "else", "chunk": {}}, {"chunk": {}}, {"mode": [1]}])
def test_a_strangers_line_is_not_claimed(record: dict[str, object]) -> None:
    assert FORMAT.claims(FIRST)
    assert not FORMAT.claims(record)


def test_a_turn_is_from_a_human_message_to_an_answer_without_calls() -> None:
    events = adapted(values(message("h", "human", content="Fix\nit")), update(answer("a", "c")), update(answer("b")))
    assert [event.type for event in events] == ["turn/start", "tool/call", "turn/end"]
    assert events[0].data == {"turn": 1, "prompt": "Fix"}


def test_the_state_repeats_nothing() -> None:
    told = (answer("a", "c"), result("r", "c"))
    once = types(update(told[0]), update(told[1], todos=LIST))
    assert once == ["tool/call", "todo/write", "tool/result"]
    assert types(update(told[0]), update(told[1], todos=LIST), values(*told, todos=LIST)) == once


def test_a_stream_of_states_alone_has_its_lists() -> None:
    told = (answer("a", "c"), result("r", "c"))
    events = adapted(values(told[0]), values(*told, todos=LIST), values(*told, todos=LIST))
    assert [event.data.get("call_id") for event in events if event.type == "todo/write"] == ["c"]


def test_a_refused_call_writes_nothing_though_the_state_still_has_a_list() -> None:
    assert types(values(answer("a", "c"), result("r", "c", "error"), todos=LIST)) == ["tool/call", "tool/result"]


def test_a_call_that_is_still_being_written_is_none() -> None:
    """R120: `messages` mode tells each piece of its arguments."""
    pieces = ['{"todos": [{"content": "A", "st', 'atus": "pending"}]}']
    chunks = [
        {"mode": "messages", "chunk": [message("a", "AIMessageChunk", tool_call_chunks=[{"args": piece}]), {}]}
        for piece in pieces
    ]
    assert types(*chunks) == []
    assert types(*chunks, update(answer("a", "c"))) == ["tool/call"]


def test_a_node_may_set_the_list_without_a_call() -> None:
    (write,) = adapted(update(todos=LIST, node="planner"))
    assert (write.type, write.data) == ("todo/write", {"todos": LIST})
