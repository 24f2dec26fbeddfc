"""Catalogues are complete and compiled; a reader gets a language that there is, written as that language writes."""

import io
import re
from collections.abc import Iterator
from typing import Final

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import write_mo
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po

from planstrip.paths import CHECKOUT, locale_dir
from planstrip.plan.todos import Counts
from planstrip.web.durations import about, duration
from planstrip.web.labels import counts_header, extra_suffix, state_label
from planstrip.web.languages import (
    HTML_TAGS,
    NAMES,
    RIGHT_TO_LEFT,
    choices,
    code_of,
    direction,
    negotiate,
    translations,
)
from planstrip.web.numbers import count, tenths
from planstrip.web.past_labels import outcome_label
from planstrip.web.timeline_labels import kind_label

CODES: Final = [code for code in NAMES if code != "en"]
OTHER_LETTERS: Final = ("zh", "ja", "ru", "ar")
PLACE: Final = re.compile(r"%\(\w+\)[sd]|\{\w+\}|`[^`]+`")
WORD: Final = re.compile(r"[A-Za-z][\w.-]*\w")
# What a person types or finds in a file or an address, in every language.
TECHNICAL: Final = {
    "at",
    "after",
    "config.toml",
    "content-type",
    "curl",
    "embed",
    "id",
    "rows",
    "session",
    "settings.json",
    "state",
} | {
    "todo_write",
    "todowrite",
    "token",
    "update_plan",
    "write_todos",
}
MINUTE: Final = 60_000


def catalog(code: str) -> Catalog:
    with (locale_dir() / code / "LC_MESSAGES" / "planstrip.po").open("rb") as file:
        return read_po(file, locale=code)


def template() -> Catalog:
    with (locale_dir() / "planstrip.pot").open("rb") as file:
        return read_po(file)


def messages(found: Catalog) -> Iterator[Message]:
    return (message for message in found if message.id)


def forms(text: object) -> list[str]:
    return [text] if isinstance(text, str) else list(text)  # type: ignore[call-overload]


def test_the_template_is_what_the_sources_say() -> None:
    with (CHECKOUT / "babel.cfg").open() as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    found = {(context, message) for _, _, message, _, context in extract_from_dir(CHECKOUT, methods, options)}
    assert {(message.context, message.id) for message in messages(template())} == found


def test_each_language_has_a_catalogue_and_each_catalogue_is_a_language() -> None:
    assert {path.name for path in locale_dir().iterdir() if path.is_dir()} == set(CODES)
    assert {code: code_of(translations(code)) for code in NAMES} == {code: code for code in NAMES}


@pytest.mark.parametrize("code", CODES)
def test_the_compiled_catalogue_is_the_written_one(code: str) -> None:
    compiled = io.BytesIO()
    write_mo(compiled, catalog(code))
    assert (locale_dir() / code / "LC_MESSAGES" / "planstrip.mo").read_bytes() == compiled.getvalue()


@pytest.mark.parametrize("code", CODES)
def test_every_text_is_translated_in_every_form(code: str) -> None:
    found = catalog(code)
    assert found.num_plurals == get_plural(code).num_plurals
    done = {
        (message.context, message.id)
        for message in messages(found)
        if not message.fuzzy
        and all(forms(message.string))
        and len(forms(message.string)) == (found.num_plurals if message.pluralizable else 1)
    }
    assert done == {(message.context, message.id) for message in messages(template())}
    assert not [error for message in messages(found) for error in message.check(found)]


@pytest.mark.parametrize("code", CODES)
def test_a_translation_keeps_every_place_and_every_piece_of_code(code: str) -> None:
    for message in messages(catalog(code)):
        wanted = set(PLACE.findall(forms(message.id)[-1]))
        for form in forms(message.string):
            assert set(PLACE.findall(form)) == wanted, message.id
            assert form[:1].isspace() == (form[:1] == "\u202f"), message.id


@pytest.mark.parametrize("code", OTHER_LETTERS)
def test_no_english_word_is_left_in_other_letters_but_names(code: str) -> None:
    for message in messages(catalog(code)):
        said = set(WORD.findall(PLACE.sub("", " ".join(forms(message.string)))))
        known = {word.lower() for word in WORD.findall(" ".join(forms(message.id)))}
        assert {word.lower() for word in said} <= known, message.id
        assert {word for word in said if word.islower()} <= TECHNICAL, message.id


@pytest.mark.parametrize(
    ("english", "chinese"),
    [("To-dos", "任务"), ("Update to-do list", "更新任务清单"), ("Cleared", "已清空")],
)
def test_fixed_wordings_are_the_contracts(english: str, chinese: str) -> None:
    assert translations("en").gettext(english) == english
    assert translations("zh").gettext(english) == chinese


HEADERS: Final = {
    "en": "1 completed · 2 in progress · 5 pending",
    "zh": "1 已完成 · 2 进行中 · 5 待处理",
    "ja": "1 件完了 · 2 件進行中 · 5 件未着手",
    "de": "1 erledigt · 2 in Arbeit · 5 ausstehend",
    "fr": "1 terminée · 2 en cours · 5 en attente",
    "es": "1 hecha · 2 en curso · 5 pendientes",
    "ru": "1 выполнена · 2 в работе · 5 ожидают",
    "ar": "1 مكتملة · 2 قيد التنفيذ · 5 قيد الانتظار",
}


@pytest.mark.parametrize("code", NAMES)
def test_a_header_is_joined_alike_and_counted_as_the_language_counts(code: str) -> None:
    header = counts_header(Counts(pending=5, in_progress=2, completed=1), translations(code))
    assert header.replace("\u2002", " ") == HEADERS[code]
    assert re.findall(r"\d+", header) == ["1", "2", "5"]
    assert extra_suffix(3, translations(code))[0] == "+3"


@pytest.mark.parametrize(
    ("code", "counted"),
    [
        ("ru", {1: "1 задача", 2: "2 задачи", 5: "5 задач", 11: "11 задач", 21: "21 задача", 22: "22 задачи"}),
        ("ar", {1: "مهمة واحدة (1)", 2: "مهمتان (2)", 3: "3 مهام", 11: "11 مهمة", 100: "100 مهمة", 103: "103 مهام"}),
        ("fr", {0: "0 tâche", 1: "1 tâche", 2: "2 tâches", 1_000_000: "1000000 tâches"}),
        ("es", {0: "0 tareas", 1: "1 tarea", 2: "2 tareas"}),
        ("de", {0: "0 Aufgaben", 1: "1 Aufgabe"}),
        ("ja", {1: "1 件のタスク", 2: "2 件のタスク"}),
    ],
)
def test_plurals_are_those_of_the_language(code: str, counted: dict[int, str]) -> None:
    tr = translations(code)
    assert {n: tr.ngettext("%(count)d task", "%(count)d tasks", n) % {"count": n} for n in counted} == counted


def test_a_word_takes_the_form_of_what_it_is_said_of() -> None:
    tr = translations("es")
    assert (state_label("interrupted", tr), outcome_label("interrupted", tr)) == ("interrumpida", "interrumpido")
    assert (kind_label("finished", tr), outcome_label("finished", tr)) == ("hecha", "terminado")


def test_numbers_are_written_as_the_language_writes_them() -> None:
    written = {code: (tenths(2.34, translations(code)), count(12_345, translations(code))) for code in NAMES}
    assert written == {
        "en": ("2.3", "12,345"),
        "zh": ("2.3", "12,345"),
        "ja": ("2.3", "12,345"),
        "de": ("2,3", "12.345"),
        "fr": ("2,3", "12\u202f345"),
        "es": ("2,3", "12.345"),
        "ru": ("2,3", "12\u00a0345"),
        "ar": ("2.3", "12,345"),  # as CLDR has it, and the browser beside it
    }
    assert {(tenths(3.04, translations(code)), count(1_000, translations(code))) for code in NAMES} == {("3", "1000")}


def test_a_duration_is_written_in_the_language_s_own_units() -> None:
    took = {code: duration(6 * MINUTE + 41_000, translations(code)).replace("\u00a0", " ") for code in NAMES}
    assert took == {
        "en": "6 min 41 s",
        "zh": "6 分钟 41 秒",
        "ja": "6 分 41 秒",
        "de": "6 Min. 41 Sek.",
        "fr": "6 min 41 s",
        "es": "6 min 41 s",
        "ru": "6 мин 41 с",
        "ar": "6 د و41 ث",
    }
    assert about(49 * 60 * MINUTE, translations("fr")) == "2\u00a0j"


@pytest.mark.parametrize(
    ("query", "header", "lang"),
    [
        (None, None, "en"),
        ("zh", "en", "zh"),
        ("zh-CN", None, "zh"),
        ("zh_Hans", None, "zh"),
        ("zh-Hans-CN", "de", "zh"),
        ("EN-us", "zh", "en"),
        ("ar-EG", None, "ar"),
        ("pt-BR", "es-MX, en;q=0.8", "es"),
        ("tlh", "zh", "zh"),
        ("../ru", "fr", "fr"),
        ("", "tlh, zh;q=0.5, en;q=0.9", "en"),
        (None, "zh;q=0, en;q=0.1", "en"),
        (None, "fr-CA, zh-TW;q=0.2", "fr"),
        (None, "tlh-Latn, zh-TW;q=0.2", "zh"),
        (None, "zh;q=nan, ;;, =, zh;q=x", "en"),
        (None, "*", "en"),
    ],
)
def test_an_unknown_language_falls_through(query: str | None, header: str | None, lang: str) -> None:
    assert negotiate(query, header) == lang


def test_a_language_link_keeps_the_rest_of_the_query() -> None:
    found = choices("en", "/sessions/a?at=3&lang=zh")
    assert [(one.name, one.lang) for one in found] == [(name, HTML_TAGS[code]) for code, name in NAMES.items()]
    assert [one.lang for one in found if one.is_current] == ["en"]
    assert [one.url for one in found] == [f"?at=3&lang={code}" for code in NAMES]
    assert [one.lang for one in found][:2] == ["en", "zh-Hans"]


def test_arabic_alone_runs_from_right_to_left() -> None:
    assert [code for code in NAMES if direction(code) == "rtl"] == ["ar"] == list(RIGHT_TO_LEFT)
