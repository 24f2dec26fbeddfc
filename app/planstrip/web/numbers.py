"""Numbers as a language writes them, by CLDR; every language here counts in Latin digits, Arabic by its own default."""

from gettext import NullTranslations
from typing import Final

from planstrip.web.languages import DEFAULT, HTML_TAGS, code_of

GROUPED_FROM: Final = 10_000  # smaller ones, which some languages group and others do not, stay as they are


def count(number: int, tr: NullTranslations) -> str:
    """`7`, `1000`, `12,345`."""
    return str(number) if abs(number) < GROUPED_FROM else _decimal(number, tr)


def tenths(number: float, tr: NullTranslations) -> str:
    """`2.3`, `2,3`; `2` where nothing is left behind the sign."""
    rounded = round(number, 1)
    whole = int(rounded)
    return count(whole, tr) if rounded == whole else _decimal(rounded, tr)


def _decimal(number: float, tr: NullTranslations) -> str:
    lang = code_of(tr)
    if lang == DEFAULT:
        return f"{number:,}"
    from babel.numbers import format_decimal  # 60 ms and 10 MB that no start waits for, and English never

    return format_decimal(number, locale=HTML_TAGS[lang].replace("-", "_"))
