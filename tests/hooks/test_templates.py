"""The files for opencode and DeepSeek Harness: whole, and with the command that was asked for."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from planstrip.hooks.templates import dsh_patch, dsh_plugin, opencode_plugin

COMMAND = ["/opt/it's here/python", "-m", "planstrip"]


def test_the_command_stands_in_the_plugins() -> None:
    assert json.dumps([*COMMAND, "hook", "opencode"]) in opencode_plugin(COMMAND)
    assert json.dumps([*COMMAND, "hook", "deepseek-harness"]) in dsh_plugin(COMMAND)


def test_the_patch_names_the_plugin() -> None:
    assert '      name: "/home/a b/planstrip.mjs"\n' in dsh_patch(Path("/home/a b/planstrip.mjs"))


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@pytest.mark.parametrize("agent", ["opencode", "deepseek-harness"])
def test_a_plugin_hands_its_events_to_the_hook_in_order(tmp_path: Path, agent: str) -> None:
    hook, got = tmp_path / "hook.sh", tmp_path / "got"
    hook.write_text(f"#!/bin/sh\ncat >> {got}\necho >> {got}\n")
    hook.chmod(0o755)
    make, drive = (opencode_plugin, DRIVE_OPENCODE) if agent == "opencode" else (dsh_plugin, DRIVE_DSH)
    (tmp_path / "plugin.mjs").write_text(make([str(hook)]))
    (tmp_path / "drive.mjs").write_text(drive)
    subprocess.run(["node", tmp_path / "drive.mjs"], check=True, timeout=60)
    told = [json.loads(line) for line in got.read_text().splitlines()]
    assert [payload.get("type") or payload["event"]["type"] for payload in told] == EXPECTED[agent]
    if agent == "deepseek-harness":
        assert told[0]["prompt"] == "Fix it"
        assert (told[0]["session_id"], told[0]["cwd"], told[0]["parent"]) == ("s1", "/project", "s0")


EXPECTED = {
    "opencode": ["chat.message", "message.part.updated", "session.idle"],
    "deepseek-harness": ["turn/start", "todo/write", "turn/end", "turn/start"],
}
DRIVE_OPENCODE = """
import { Planstrip } from "./plugin.mjs"
const hooks = await Planstrip({})
const part = (status) => ({ type: "tool", callID: "c", tool: "bash", state: { status } })
await hooks["chat.message"]({}, { message: { id: "m", sessionID: "s" }, parts: [{ type: "text", text: "Hi" }] })
for (const status of ["pending", "running", "running"])
  await hooks.event({ event: { type: "message.part.updated", properties: { sessionID: "s", part: part(status) } } })
await hooks.event({ event: { type: "session.status", properties: { sessionID: "s" } } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
process.exit(0)
"""
DRIVE_DSH = """
import { apply } from "./plugin.mjs"
let told
apply({ on: (_name, listener) => { told = listener } })
const session = { id: "s1", header: { cwd: "/project", parentSession: "s0" } }
const user = { source: { kind: "user" }, content: [{ type: "text", text: "Fix it" }] }
for (const event of [
  { type: "turn/start", seq: 1, data: { turn: 1 } }, { type: "step/start", seq: 2 },
  { type: "user/message", seq: 3, data: user }, { type: "assistant/chunk", seq: 4 },
  { type: "todo/write", seq: 5, data: { todos: [] } }, { type: "turn/end", seq: 6 },
  { type: "turn/start", seq: 7 }, { type: "assistant/message", seq: 8 },
]) told(session, event)
process.exit(0)
"""
