"""Serves our styles as one file and our scripts as one, under names that change with their content."""

import gzip
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

from planstrip.paths import static_dir

CSS_TYPE: Final = "text/css; charset=utf-8"
JS_TYPE: Final = "text/javascript; charset=utf-8"
SVG_TYPE: Final = "image/svg+xml"
VENDOR_ORDER: Final = ("htmx-", "hx-sse-")


class Assets:
    """Reads `static/` once, when the first url is asked for. `root` is the prefix that the app is mounted below."""

    def __init__(self, root: str = "", static: Path | None = None) -> None:
        self._root = root
        self._static = static or static_dir()
        self._compressed: dict[str, bytes] = {}

    @cached_property
    def css_url(self) -> str:
        return f"{self._root}/static/{self._css_name}"

    @cached_property
    def js_url(self) -> str:
        return f"{self._root}/static/{self._js_name}"

    @property
    def favicon_url(self) -> str:
        return f"{self._root}/static/favicon.svg"

    def get(self, name: str) -> tuple[bytes, str] | None:
        """The content of `/static/<name>` and its type; None for what is not ours."""
        return self._files.get(name)

    def gzipped(self, name: str) -> bytes:
        """The same content compressed, made on the first call. Raises KeyError for what is not ours."""
        if name not in self._compressed:
            self._compressed[name] = gzip.compress(self._files[name][0], 9, mtime=0)
        return self._compressed[name]

    def is_hashed(self, name: str) -> bool:
        """Whether the name changes with the content, so that a browser may keep it for ever."""
        return name in (self._css_name, self._js_name)

    @cached_property
    def _files(self) -> dict[str, tuple[bytes, str]]:
        return {
            self._css_name: (self._css, CSS_TYPE),
            self._js_name: (self._js, JS_TYPE),
            "favicon.svg": ((self._static / "favicon.svg").read_bytes(), SVG_TYPE),
        }

    @cached_property
    def _css_name(self) -> str:
        return f"app.{_digest(self._css)}.css"

    @cached_property
    def _js_name(self) -> str:
        return f"app.{_digest(self._js)}.js"

    @cached_property
    def _css(self) -> bytes:
        files = sorted(self._static.glob("css/*.css"), key=lambda path: (path.name != "tokens.css", path.name))
        return b"\n".join(path.read_bytes() for path in files)

    @cached_property
    def _js(self) -> bytes:
        vendor = sorted(self._static.glob("vendor/*.js"), key=_vendor_rank)
        ours = sorted(self._static.glob("js/*.js"))
        # Each of ours gets its own scope, as a module would; the line break ends a last line comment.
        parts = [path.read_bytes() + b"\n;" for path in vendor]
        parts += [b'(() => {\n"use strict";\n' + path.read_bytes() + b"\n})();" for path in ours]
        return b"\n".join(parts)


def _vendor_rank(path: Path) -> tuple[int, str]:
    ranks = [rank for rank, prefix in enumerate(VENDOR_ORDER) if path.name.startswith(prefix)]
    return (ranks[0] if ranks else len(VENDOR_ORDER), path.name)


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:12]
