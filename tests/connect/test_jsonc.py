"""JSON with comments, changed as text: what is added is there, what was there is untouched."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.connect import jsonc

COMMENTED = """\
// my settings
{
    "theme": "dark", // best
    /* servers */
    "mcp": {
        "other": {"url": "https://x/*no comment*/"}, // keep
    },
}
"""


def test_a_comment_and_a_trailing_comma_stay() -> None:
    after = jsonc.put(COMMENTED, ("mcp", "plan"), {"enabled": True})
    assert after == COMMENTED.replace(
        "// keep\n", '// keep\n        "plan": {\n            "enabled": true\n        }\n'
    )
    assert jsonc.put(after, ("mcp", "plan"), {"enabled": True}) == after


def test_a_missing_path_is_made() -> None:
    assert jsonc.put("", ("a", "b"), 1) == '{\n  "a": {\n    "b": 1\n  }\n}\n'
    assert jsonc.put("{}", ("a",), []) == '{\n  "a": []\n}'
    assert jsonc.put('{"x": 1}', ("a",), 2) == '{"x": 1, "a": 2}'
    assert jsonc.append('{"a": [1,\n 2 // two\n]}', ("a",), 3) == '{"a": [1,\n 2, // two\n 3\n]}'


def test_tabs_and_carriage_returns_are_kept() -> None:
    assert jsonc.put('{\r\n\t"a": 1\r\n}\r\n', ("b",), {"c": 1}) == (
        '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 1\r\n\t}\r\n}\r\n'
    )


def test_a_value_is_replaced_in_its_place() -> None:
    assert jsonc.put('{"a": {"b": 1} /* x */}', ("a",), 2) == '{"a": 2 /* x */}'


@pytest.mark.parametrize("text", ["{", "[1 2]", '{"a" 1}', "{a: 1}", "nul", '{"a": 1} x', "[" * 5000, '{"a": 1.2.3}'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(jsonc.NotJsonError):
        jsonc.put(text, ("a",), 1)


@pytest.mark.parametrize(("text", "path"), [("[]", ("a",)), ('{"a": 1}', ("a", "b")), ('{"a": []}', ("a", "b"))])
def test_what_is_no_object_is_refused(text: str, path: tuple[str, ...]) -> None:
    with pytest.raises(jsonc.NotJsonError):
        jsonc.put(text, path, 1)


PLAIN = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(st.dictionaries(st.text(), VALUES), st.text(), VALUES, st.sampled_from([None, 2, "\t"]))
def test_any_document_gains_the_value_and_nothing_else(
    document: dict[str, Any], key: str, value: Any, indent: int | str | None
) -> None:
    text = json.dumps(document, indent=indent)
    after = jsonc.put(text, (key,), value)
    assert json.loads(after) == document | {key: value}
    if key not in document:
        assert re.sub(r"\s", "", after).startswith(re.sub(r"\s", "", text)[:-1])


@given(st.dictionaries(st.text(), VALUES, min_size=1), st.data(), st.sampled_from([None, 2, "\t"]))
def test_what_is_dropped_is_gone_and_nothing_else(
    document: dict[str, Any], data: st.DataObject, indent: int | str | None
) -> None:
    key = data.draw(st.sampled_from(sorted(document)))
    after = jsonc.drop(json.dumps(document, indent=indent), (key,))
    assert json.loads(after) == {name: value for name, value in document.items() if name != key}


def test_what_is_dropped_leaves_comments_and_the_style() -> None:
    assert jsonc.drop(COMMENTED, ("theme",)) == COMMENTED.replace('\n    "theme": "dark",', "")
    assert jsonc.drop('{"a": [1, 2, 3]}', ("a", 1)) == '{"a": [1, 3]}'
    assert jsonc.drop('{"a": [1, 2]}', ("a", -1)) == '{"a": [1]}'
    assert jsonc.drop("{}", ("a",)) == "{}"
