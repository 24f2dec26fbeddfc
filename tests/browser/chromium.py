"""Finds a Chromium and fonts for Chinese, and installs what is missing, so that the README's one command tests all."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

SHELL: Final = "chromium-headless-shell"  # without a browser's own windows: half the work for the same pages
SYSTEM_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS: Final = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking")
INSTALL_TIMEOUT_S: Final = 600
NOTHING: Final[Sequence[str]] = ()
UPDATE: Final = ("apt-get", "update", "-q")
INSTALL: Final = ("apt-get", "install", "-y", "-q", "--no-install-recommends")
INSTALL_SHELL: Final = (*INSTALL, SHELL)
INSTALL_CHROMIUM: Final = (
    (sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"),
    UPDATE,
    (*INSTALL, "chromium", "fonts-noto-cjk"),
)


@contextmanager
def alone() -> Iterator[None]:
    """One process at a time: a package manager refuses the second."""
    with Path(tempfile.gettempdir(), f"planstrip-tests-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find_or_install() -> str:
    """The path of a Chromium: the shell if it can be had, else a system one, Playwright's own, one installed now."""
    known = next(_known(), None)
    for command in (NOTHING, INSTALL_SHELL, *(() if known else (UPDATE, INSTALL_SHELL))):
        _run(command)
        if path := shutil.which(SHELL):
            return path
    for command in (NOTHING, *INSTALL_CHROMIUM):
        _run(command)
        if path := next(_known(), None):
            return path
    raise RuntimeError("no Chromium was found and none could be installed: install one, or put it on PATH")


def ensure_chinese_fonts() -> None:
    """Without them every Chinese character is a box of the same width, and layout tests test nothing."""
    if _has_chinese_font():
        return
    _run(UPDATE)
    _run((*INSTALL, "fonts-noto-cjk"))
    if not _has_chinese_font():
        raise RuntimeError("no font for Chinese was found and none could be installed: install fonts-noto-cjk")


def _known() -> Iterator[str]:
    yield from (path for name in SYSTEM_BROWSERS if (path := shutil.which(name)))
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    if Path(own).exists():
        yield own


def _has_chinese_font() -> bool:
    if shutil.which("fc-list") is None:
        return sys.platform == "darwin"  # which ships them
    return bool(subprocess.run(("fc-list", ":lang=zh"), check=False, capture_output=True).stdout.strip())


def _run(command: Sequence[str]) -> None:
    """Try; what counts is whether the thing is there afterwards."""
    if command and shutil.which(command[0]):
        subprocess.run(command, check=False, capture_output=True, timeout=INSTALL_TIMEOUT_S)
