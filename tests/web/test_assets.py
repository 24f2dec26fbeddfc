"""All styles are one file and all scripts are one, under names that change with their content."""

import gzip
import shutil
from pathlib import Path

import pytest

from planstrip.paths import static_dir
from planstrip.web.assets import Assets


@pytest.fixture
def assets() -> Assets:
    return Assets()


def content(assets: Assets, url: str) -> str:
    found = assets.get(url.removeprefix("/static/"))
    assert found is not None
    return found[0].decode()


def test_the_tokens_come_first_and_every_component_follows(assets: Assets) -> None:
    css = content(assets, assets.css_url)
    assert css.index("@layer base, layout, component, state;") < css.index(".tool-row")
    assert all(path.read_text() in css for path in static_dir().glob("css/*.css"))


def test_htmx_comes_before_its_extension_and_ours_each_in_a_scope(assets: Assets) -> None:
    js = content(assets, assets.js_url)
    htmx, sse, ours = (
        next(static_dir().glob(pattern)).read_text()
        for pattern in ("vendor/htmx-*.js", "vendor/hx-sse-*.js", "js/live.js")
    )
    assert js.index(htmx) < js.index(sse) < js.index(f'(() => {{\n"use strict";\n{ours}\n}})();')


def test_a_name_changes_with_its_content(tmp_path: Path, assets: Assets) -> None:
    shutil.copytree(static_dir(), tmp_path / "static")
    assert Assets(static=tmp_path / "static").css_url == assets.css_url
    (tmp_path / "static" / "css" / "z.css").write_text("@layer state { p { color: red; } }")
    changed = Assets(static=tmp_path / "static")
    assert (changed.css_url != assets.css_url, changed.js_url == assets.js_url) == (True, True)


def test_what_is_not_ours_is_not_served(assets: Assets) -> None:
    assert [assets.get(name) for name in ("../pyproject.toml", "app.css", "", "css/tokens.css")] == [None] * 4
    with pytest.raises(KeyError):
        assets.gzipped("nothing")


def test_types_and_the_compressed_variant(assets: Assets) -> None:
    name = assets.css_url.removeprefix("/static/")
    found = assets.get(name)
    compressed = assets.gzipped(name)
    assert found is not None
    assert found[1] == "text/css; charset=utf-8"
    assert gzip.decompress(compressed) == found[0]
    assert assets.gzipped(name) is compressed
    favicon = assets.get("favicon.svg")
    assert favicon is not None
    assert favicon[1] == "image/svg+xml"
    assert [assets.is_hashed(name), assets.is_hashed("favicon.svg")] == [True, False]


def test_urls_stand_below_the_apps_prefix() -> None:
    assert Assets("/plans").js_url == "/plans" + Assets().js_url
