"""Catalogues are complete and compiled; a reader gets a language that there is."""

import io

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from planstrip.paths import CHECKOUT, locale_dir
from planstrip.web.languages import NAMES, choices, negotiate, translations

ZH = locale_dir() / "zh" / "LC_MESSAGES"


@pytest.fixture(scope="module")
def zh() -> Catalog:
    with (ZH / "planstrip.po").open("rb") as file:
        return read_po(file, locale="zh")


def test_the_template_is_what_the_sources_say() -> None:
    with (CHECKOUT / "babel.cfg").open() as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    found = {message for _, _, message, _, _ in extract_from_dir(CHECKOUT, methods, options)}
    with (locale_dir() / "planstrip.pot").open("rb") as file:
        template = {message.id for message in read_po(file) if message.id}
    assert template == found


def test_the_compiled_catalogue_is_the_written_one(zh: Catalog) -> None:
    compiled = io.BytesIO()
    write_mo(compiled, zh)
    assert (ZH / "planstrip.mo").read_bytes() == compiled.getvalue()


def test_every_text_is_translated(zh: Catalog) -> None:
    with (locale_dir() / "planstrip.pot").open("rb") as file:
        wanted = {message.id for message in read_po(file) if message.id}
    assert {message.id for message in zh if message.id and message.string and not message.fuzzy} == wanted
    assert not [error for message in zh if message.id for error in message.check(zh)]


@pytest.mark.parametrize(
    ("english", "chinese"),
    [("To-dos", "任务"), ("Update to-do list", "更新任务清单"), ("Cleared", "已清空")],
)
def test_fixed_wordings_are_the_contracts(english: str, chinese: str) -> None:
    assert translations("en").gettext(english) == english
    assert translations("zh").gettext(english) == chinese


@pytest.mark.parametrize(
    ("query", "header", "lang"),
    [
        (None, None, "en"),
        ("zh", "en", "zh"),
        ("zh-CN", None, "zh"),
        ("zh_Hans", None, "zh"),
        ("EN-us", "zh", "en"),
        ("tlh", "zh", "zh"),
        ("", "fr, zh;q=0.5, en;q=0.9", "en"),
        (None, "zh;q=0, en;q=0.1", "en"),
        (None, "fr-FR, zh-TW;q=0.2", "zh"),
        (None, "zh;q=nan, ;;, =, zh;q=x", "en"),
        (None, "*", "en"),
    ],
)
def test_an_unknown_language_falls_through(query: str | None, header: str | None, lang: str) -> None:
    assert negotiate(query, header) == lang


def test_a_language_link_keeps_the_rest_of_the_query() -> None:
    en, zh = choices("en", "/sessions/a?at=3&lang=zh")
    assert (en.url, en.is_current, en.lang) == ("?at=3&lang=en", True, "en")
    assert (zh.url, zh.is_current, zh.lang, zh.name) == ("?at=3&lang=zh", False, "zh-Hans", NAMES["zh"])
