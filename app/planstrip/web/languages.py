"""Which language a reader gets, and its gettext catalogue. Babel makes the catalogues; they are read without it."""

from collections.abc import Iterator
from functools import cache
from gettext import GNUTranslations, NullTranslations
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from planstrip.paths import locale_dir

if TYPE_CHECKING:
    from planstrip.web.contexts import Language

DEFAULT: Final = "en"
NAMES: Final = {
    "en": "English",
    "zh": "中文",
    "ja": "日本語",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "ru": "Русский",
    "ar": "العربية",
}
HTML_TAGS: Final = {code: code for code in NAMES} | {"zh": "zh-Hans"}
RIGHT_TO_LEFT: Final = frozenset({"ar"})


def negotiate(query: str | None, accept_language: str | None) -> str:
    """The language of `?lang=`, else of the Accept-Language header, else English; what is not known falls through."""
    if query and (found := _known(query)):
        return found
    for tag in _preferred(accept_language or ""):
        if found := _known(tag):
            return found
    return DEFAULT


@cache
def translations(lang: str) -> NullTranslations:
    """The catalogue of one of `NAMES`; English msgids need none."""
    if lang == DEFAULT:
        return NullTranslations()
    with (locale_dir() / lang / "LC_MESSAGES" / "planstrip.mo").open("rb") as file:
        return GNUTranslations(file)


def code_of(tr: NullTranslations) -> str:
    """Whose catalogue it is."""
    return str(tr.info().get("language", DEFAULT))


def direction(lang: str) -> str:
    return "rtl" if lang in RIGHT_TO_LEFT else "ltr"


def choices(lang: str, path_with_query: str) -> "list[Language]":
    """The languages with the address of the same page in each: relative, so that it holds below any prefix."""
    from planstrip.web.contexts import Language

    pairs = [pair for pair in parse_qsl(urlsplit(path_with_query).query, keep_blank_values=True) if pair[0] != "lang"]
    return [
        Language(HTML_TAGS[code], name, "?" + urlencode([*pairs, ("lang", code)]), code == lang)
        for code, name in NAMES.items()
    ]


def _known(tag: str) -> str | None:
    primary = tag.strip().replace("_", "-").partition("-")[0].lower()
    return primary if primary in NAMES else None


def _preferred(header: str) -> Iterator[str]:
    weighted = [_weighted(part) for part in header.split(",")]
    for weight, tag in sorted(weighted, key=lambda pair: -pair[0]):
        if weight > 0:
            yield tag


def _weighted(part: str) -> tuple[float, str]:
    tag, _, parameter = part.partition(";")
    name, _, value = parameter.strip().partition("=")
    if not parameter:
        return 1.0, tag
    try:
        weight = float(value) if name.strip() == "q" else 0.0
    except ValueError:
        weight = 0.0
    return (weight if 0 <= weight <= 1 else 0.0), tag
