"""The files that opencode and DeepSeek Harness load: `planstrip connect` writes them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

OPENCODE_PLUGIN: Final = "opencode.js"  # for ~/.config/opencode/plugin/
DSH_PLUGIN: Final = "dsh.mjs"  # anywhere: the patch names it
DSH_PATCH: Final = "dsh.yml"


def opencode_plugin(command: Sequence[str]) -> str:
    """`command` starts planstrip, such as `["planstrip"]` or `["/usr/bin/python3", "-m", "planstrip"]`."""
    return _text(OPENCODE_PLUGIN, '["planstrip", "hook", "opencode"]', [*command, "hook", "opencode"])


def dsh_plugin(command: Sequence[str]) -> str:
    return _text(DSH_PLUGIN, '["planstrip", "hook", "deepseek-harness"]', [*command, "hook", "deepseek-harness"])


def dsh_patch(plugin: Path) -> str:
    """The config fragment that loads the plugin written to `plugin`, an absolute path."""
    return _text(DSH_PATCH, '"/path/to/planstrip.mjs"', str(plugin))


def _text(name: str, placeholder: str, value: object) -> str:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    assert text.count(placeholder) == 1, name
    return text.replace(placeholder, json.dumps(value))
