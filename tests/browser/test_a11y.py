"""WCAG 2.2 AA on every page in every state: what axe-core can judge, and what it can't (reports.md, kind a11y)."""

from importlib.resources import files
from typing import Any, Final

import pytest
from playwright.sync_api import Page, ViewportSize

from tests.browser.states import STATES
from tests.running import Panel

AXE: Final = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUN: Final = """() => axe.run(document, {
  resultTypes: ["violations"],
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
})"""
MAIN: Final = ("board", "session, all open", "session, to-dos dropped", "past", "embed, open")
WIDE: Final = ViewportSize(width=1180, height=800)
NARROW: Final = ViewportSize(width=360, height=640)


def faults(page: Page) -> list[str]:
    """What axe-core finds, a line an element."""
    page.evaluate("() => window.scrollTo(0, 0)")  # what is docked covers nothing there
    found: dict[str, Any] = page.evaluate(RUN)
    return [f"{fault['id']}: {node['html'][:200]}" for fault in found["violations"] for node in fault["nodes"]]


@pytest.mark.parametrize("name", STATES)
def test_axe_finds_nothing_in_light_and_in_dark(page: Page, shared_panel: Panel, name: str) -> None:
    page.set_viewport_size(WIDE)
    STATES[name].show(page, shared_panel)
    page.evaluate(AXE)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert faults(page) == [], theme


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", MAIN)
def test_axe_finds_nothing_on_a_phone_in_either_language(page: Page, shared_panel: Panel, name: str, lang: str) -> None:
    page.set_viewport_size(NARROW)
    STATES[name].show(page, shared_panel, f"lang={lang}")
    page.evaluate(AXE)
    assert faults(page) == []


def test_axe_finds_nothing_on_a_board_without_sessions(page: Page, panel: Panel) -> None:
    page.goto(panel.url)
    page.evaluate(AXE)
    assert faults(page) == []
