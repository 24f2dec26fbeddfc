"""Masks: what they take out of texts and records, what they leave, and which are refused at the start."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.errors import UnusableSettings
from planstrip.events import Entry, Todo, TodoWrite, ToolCall
from planstrip.masks import ADDRESSES, NO_MASKS, SETS, Masks, masks_from, masks_of
from planstrip.plan.rows import Row
from planstrip.plan.view import View
from planstrip.settings import load
from planstrip.status import Status
from planstrip.web.board import Board
from planstrip.web.listing import Listed
from tests.running import run

TOKEN = "ghp_" + "a1B2" * 9
MASKS = masks_of(["tokens", r"pin=PIN (\d{4})"])

SECRETS = {
    "tokens": (
        TOKEN,
        "github_pat_" + "a" * 30,
        "sk-ant-api03-" + "x-Y_" * 10,
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-1234567890-abcdef",
        "AIza" + "b" * 35,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_d",
        "view_0123456789abcdef.AbC-_",
        "sk_live_" + "a" * 24,
    ),
    "private-keys": (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE that is cut off",
    ),
}
LEFT = (
    "sk-1",
    "ghp_",
    "a skill-set",
    "AKIA",
    "eyJ",
    "Mask-ghp",
    "http://me@a.example/b:c",
    "task-0123456789abcdefg",
)


@pytest.mark.parametrize("name", SECRETS)
def test_a_set_knows_the_forms_of_its_secrets(name: str) -> None:
    for secret in SECRETS[name]:
        assert masks_of([name]).text(f"a {secret}") == f"a [masked: {name}]"


def test_the_sets_leave_what_is_none() -> None:
    masks = masks_of(list(SETS))
    assert [text for text in LEFT if masks.text(text) != text] == []


def test_what_comes_after_an_underscore_is_found_and_the_underscore_left() -> None:
    assert masks_of(["tokens"]).text(f"KEY_{TOKEN}") == "KEY_[masked: tokens]"


def test_of_a_pattern_with_a_group_that_alone_is_masked() -> None:
    assert MASKS.text("my PIN 1234.") == "my PIN [masked: pin]."
    assert masks_of(["url-passwords"]).text("postgres://me:s3cret@db/x") == "postgres://me:[masked: url-passwords]@db/x"


def test_all_of_a_match_is_masked_in_which_the_group_took_no_part() -> None:
    masks = masks_of(["a=old|(zzz)", r"b=key (?:(\d+)|none)"])
    assert masks.text("old zzz older") == "[masked: a] [masked: a] [masked: a]er"
    assert masks.text("key 12, key none") == "key [masked: b], [masked: b]"
    assert masks.searched("old zzz") == "[masked: a] [masked: a]"


def test_masks_that_overlap_leave_nothing_of_either() -> None:
    assert masks_of(["b=bcd", "a=abc", "c=de"]).text("xabcdey") == "x[masked: a]y"


def test_arguments_stay_json_and_no_escape_hides_anything() -> None:
    raw = json.dumps({"command": f'echo "{TOKEN}"'}).replace("ghp_", "\\u0067hp_")
    assert json.loads(MASKS.arguments(raw)) == {"command": 'echo "[masked: tokens]"'}
    assert MASKS.arguments(f'{{"command": "{TOKEN}') == '{"command": "[masked: tokens]'
    assert MASKS.arguments('{"a":  [1, true]}') == '{"a":  [1, true]}'


def test_a_record_is_masked_to_the_bottom_and_its_addresses_are_left() -> None:
    row = Row(1, 2, 3, ToolCall(TOKEN, "bash", json.dumps({"command": TOKEN})))
    call = MASKS.of({TOKEN: (row,)})["[masked: tokens]"][0].call
    assert (call.call_id, json.loads(call.arguments)) == (TOKEN, {"command": "[masked: tokens]"})
    assert MASKS.of(MappingProxyType({1: [Todo(TOKEN, "pending")]})) == {1: [Todo("[masked: tokens]", "pending")]}


def test_words_of_ours_are_no_text() -> None:
    masks = masks_of(["all=^(?:a|pending|completed)$"])
    shown = masks.of(TodoWrite((Todo("a", "completed"),), call_id="c"))
    assert shown == TodoWrite((Todo("[masked: all]", "completed"),), call_id="c")
    data = {"call_id": "a", "todos": [{"content": "a", "status": "pending"}], "x": 1}
    assert masks.data(data) == data | {"todos": [{"content": "[masked: all]", "status": "pending"}]}


def test_what_holds_nothing_is_the_very_same() -> None:
    row = Row(1, 2, 3, ToolCall("c", "bash", "{}"))
    assert MASKS.of(row) is row
    assert NO_MASKS.of(TOKEN) == TOKEN


@given(st.text(), st.text())
def test_whatever_stands_around_it_a_secret_is_gone(before: str, after: str) -> None:
    for text in (before + " " + TOKEN + " " + after, f"{before}\ud800 {TOKEN}"):
        shown = MASKS.text(text)
        assert TOKEN not in shown
        assert "[masked: tokens]" in shown
        assert TOKEN.casefold() not in MASKS.searched(text.casefold())


def test_a_pattern_that_would_hang_others_takes_time_in_proportion() -> None:
    masks = masks_of(["x=(?:a+)+$"])
    assert masks.text("a" * 200_000 + "b") == "a" * 200_000 + "b"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("nope", "'nope' is no mask: expected tokens"),
        ("x=(", "x: '(' is no pattern"),
        ("x=(?<=a)b", "x: '(?<=a)b' is no pattern that RE2 knows"),
        ("x=a*", "x: the pattern 'a*' matches where there is nothing"),
        (r"x=\b", r"x: the pattern '\\b' matches where there is nothing"),
        (r"x=\w|\b", "matches where there is nothing"),
        (r"x=\B", "matches where there is nothing"),
        (r"x=(?m:^-?)", "matches where there is nothing"),
        (r"x=secret|\b\b", "matches where there is nothing"),
        ("x=(a)(b)", "x: the pattern has 2 groups"),
        ("X Y=a", "'X Y=a' is no mask"),
    ],
)
def test_a_bad_mask_is_refused_and_named(entry: str, said: str) -> None:
    with pytest.raises(UnusableSettings) as refused:
        load(allow_parallel_in_progress=True, mask=f"tokens\n{entry}")
    assert said in refused.value.detail
    with pytest.raises(UnusableSettings, match="mask: "):
        masks_from({"PLANSTRIP_MASK": entry})


def test_the_program_does_not_start_with_a_bad_mask() -> None:
    code, _, said = run("serve", "--allow-parallel-in-progress", env={"PLANSTRIP_MASK": "tokens\nx=("})
    assert (code, "x: '('" in said, len(said.splitlines())) == (2, True, 1)


def test_an_entry_a_line() -> None:
    settings = load(allow_parallel_in_progress=True, mask="tokens\n\n  card=\\b\\d{4} \\d{4}\\b \n")
    assert settings.mask == ("tokens", r"card=\b\d{4} \d{4}\b")
    assert not Masks()


# Words of ours

ALL = masks_of(["all=(?s:.+)"])
MASKED = "[masked: all]"


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Odd:
    """What a record may be declared to hold, one way or another."""

    word: Literal["open", "shut"]
    words: tuple[Literal["open", "shut"], ...]
    pairs: tuple[tuple[Literal["open"], int], ...]
    mixed: tuple[tuple[Literal["open"], str], ...]
    named: Mapping[Literal["open"], str]
    either: Literal["open"] | str
    maybe: tuple[Literal["open"], ...] | None
    colour: Colour
    lists: list[Literal["open"] | None]
    number: int | Literal["open"]


def alternatives(hint: Any) -> tuple[Any, ...]:
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(kind for kind in kinds if kind is not NoneType)


def made(hint: Any) -> Iterator[Any]:
    """A value of each kind that a place may hold, as deep as it goes."""
    for kind in alternatives(hint):
        parts = get_args(kind)
        if get_origin(kind) is Literal:
            yield from parts
        elif isinstance(kind, type) and issubclass(kind, StrEnum):
            yield from kind
        elif kind in (str, int, bool, float):
            yield kind("7")
        elif is_dataclass(kind) and isinstance(kind, type):
            hints = get_type_hints(kind)
            values = {one.name: list(made(hints[one.name])) for one in fields(kind) if one.init}
            for number in range(max(map(len, values.values()), default=1)):
                yield kind(**{name: each[number % len(each)] for name, each in values.items()})
        elif get_origin(kind) is tuple and parts[-1] is not Ellipsis:
            yield tuple(next(made(part)) for part in parts)
        elif get_origin(kind) in (tuple, list):
            yield get_origin(kind)(made(parts[0]))
        else:
            yield {name: next(made(parts[1])) for name in made(parts[0])}


def check(hint: Any, old: Any, new: Any, path: str, *, is_address: bool = False) -> int:
    """How many words of ours were seen, each as it was; all else that is text is masked."""
    words = {word for kind in alternatives(hint) if get_origin(kind) is Literal for word in get_args(kind)}
    if isinstance(old, StrEnum) or (isinstance(old, str) and old in words):
        assert new is old, path
        return 1
    if isinstance(old, str):
        assert is_address or path.endswith(".arguments") or new == MASKED, path
    if is_dataclass(old):
        hints = get_type_hints(type(old))
        return sum(
            check(
                hints[one.name],
                getattr(old, one.name),
                getattr(new, one.name),
                f"{path}.{one.name}",
                is_address=one.name in ADDRESSES,
            )
            for one in fields(old)
        )
    if isinstance(old, Mapping):
        kinds = next(get_args(kind) for kind in alternatives(hint) if len(get_args(kind)) == 2)
        pairs = zip([*old.keys(), *old.values()], [*new.keys(), *new.values()], strict=True)
        return sum(check(kinds[number >= len(old)], *pair, path) for number, pair in enumerate(pairs))
    if isinstance(old, tuple | list):
        parts = next(get_args(kind) for kind in alternatives(hint) if get_origin(kind) in (tuple, list))
        kinds = (parts[0],) * len(old) if len(parts) == 1 or parts[-1] is Ellipsis else parts
        return sum(check(*each, path, is_address=is_address) for each in zip(kinds, old, new, strict=True))
    return 0


@pytest.mark.parametrize("kind", [Odd, Board, Listed, Status, View, Entry])
def test_of_no_record_that_is_shown_a_word_of_ours_is_masked_and_all_text_is(kind: type) -> None:
    seen = sum(check(kind, old, ALL.of(old), kind.__name__) for old in made(kind))
    assert seen > 0 or kind is Status


def test_a_list_of_records_is_masked_as_each_is() -> None:
    listed = list(made(Listed))
    assert [one.state for one in ALL.of(listed)] == [one.state for one in listed]
    assert {one.title for one in ALL.of(listed)} == {MASKED}
