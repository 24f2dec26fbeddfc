"""Cutting a text leaves whole what a reader sees as one character."""

import pytest

from planstrip.web.clipping import clipped

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
WAVE, FRANCE, JAPAN = "\U0001f44b\U0001f3fd", "\U0001f1eb\U0001f1f7", "\U0001f1ef\U0001f1f5"


@pytest.mark.parametrize(
    ("text", "size", "shown"),
    [
        ("a short one", 20, "a short one"),
        ("two\n lines", 20, "two lines"),
        ("exactly", 7, "exactly"),
        ("more than that", 8, "more th\u2026"),
        ("more than that", 6, "more\u2026"),
        ("修复登录流程并更新测试", 5, "修复登录\u2026"),
        (f"修复{FAMILY}并更新", 3, "修复\u2026"),
        (f"修复{FAMILY}并更新", 9, "修复\u2026"),
        (f"修复{FAMILY}并更新", 10, f"修复{FAMILY}\u2026"),
        (f"hi {WAVE} you", 5, "hi\u2026"),
        (f"{FRANCE}{JAPAN}{FRANCE}", 4, f"{FRANCE}\u2026"),
        (f"{FRANCE}{JAPAN}{FRANCE}", 5, f"{FRANCE}{JAPAN}\u2026"),
        ("cafe\u0301 noir", 5, "caf\u2026"),
        ("हिन्दी में", 3, "हि\u2026"),
        (FAMILY, 3, "\U0001f468\u200d\u2026"),  # one character alone that has no room is not shown as none
    ],
)
def test_a_cut_falls_between_characters(text: str, size: int, shown: str) -> None:
    """R111."""
    assert clipped(text, size) == shown
    assert len(shown) <= size
