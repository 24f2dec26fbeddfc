"""What a tool call says on its row: its kind by the recorded name, and one line from its raw arguments (spec.md §5)."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from planstrip.events import ToolCall
from planstrip.plan.summary import todos_of

Kind: TypeAlias = Literal["run", "read", "edit", "search", "fetch", "delegate", "other"]

MAX_LINE_CHARS: Final = 1_000

_PATH: Final = ("file_path", "path", "absolute_path", "filePath", "notebook_path", "target_file", "paths", "include")
_QUERY: Final = ("pattern", "query", "path", "dir_path", "glob_pattern")
TASK_WORDS: Final = ("description", "prompt", "task", "message")
_JOB: Final = ("pid", "task_id", "bash_id", "shell_id", "session_id")  # what runs in the background

# Recorded name, folded by `_fold` -> its kind and the arguments that say what it is about, the first usable one.
_TOOLS: Final[Mapping[str, tuple[Kind, Sequence[str]]]] = {
    **dict.fromkeys(
        (
            *("bash", "shell", "shellcommand", "exec", "execcommand", "runshellcommand", "localshell", "terminal"),
            *("runcommand", "execute", "runcode"),
        ),
        ("run", ("command", "cmd", "script", "code")),
    ),
    "writestdin": ("run", ("chars", "session_id")),
    **dict.fromkeys(("bashoutput", "readbackgroundoutput", "taskoutput", "killshell", "taskstop"), ("run", _JOB)),
    **dict.fromkeys(
        ("read", "view", "readfile", "readmediafile", "viewimage", "readmanyfiles", "cat"), ("read", _PATH)
    ),
    "readmcpresource": ("read", ("uri",)),
    **dict.fromkeys(
        (
            *("edit", "write", "multiedit", "applypatch", "writefile", "replace", "strreplace", "strreplacefile"),
            *("editfile", "notebookedit"),
        ),
        ("edit", _PATH),
    ),
    **dict.fromkeys(
        (
            *("grep", "glob", "search", "find", "ls", "list", "listdirectory", "searchfilecontent", "codebasesearch"),
            *("grepsearch", "toolsearch"),
        ),
        ("search", _QUERY),
    ),
    **dict.fromkeys(
        ("fetch", "webfetch", "fetchurl", "websearch", "searchweb", "googlewebsearch"),
        ("fetch", ("url", "query", "prompt")),
    ),
    **dict.fromkeys(
        (
            *("task", "subagent", "agent", "agentswarm", "spawnagent", "invokeagent", "runsubagent", "delegate"),
            "newtask",
        ),
        ("delegate", (*TASK_WORDS, "items", "agent_name")),
    ),
    **dict.fromkeys(  # of one that was begun before
        ("sendinput", "waitagent", "resumeagent", "closeagent"),
        ("other", ("message", "items", "target", "targets", "id")),
    ),
    **dict.fromkeys(("taskcreate", "trackercreatetask"), ("other", ("subject", "title"))),
    **dict.fromkeys(("skill", "activateskill"), ("other", ("skill", "command", "name"))),
    **dict.fromkeys(("askuserquestion", "requestuserinput"), ("other", ("questions",))),
    **dict.fromkeys(("enterplanmode", "exitplanmode", "schedulewakeup"), ("other", ("plan", "reason"))),
    **dict.fromkeys(("creategoal", "updategoal"), ("other", ("objective", "status"))),
    **dict.fromkeys(("updatetopic", "workflow", "toolcall"), ("other", ("title", "name"))),
}
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_TASK_CHANGES: Final = frozenset({"taskupdate", "trackerupdatetask"})

# Plan calls of other agents, folded name -> the keys of their list and of an item's content.
_PLAN_CALLS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "writetodos": ("todos", ("content", "description")),
    **dict.fromkeys(("todolist", "settodolist"), ("todos", ("content", "title"))),
    "updateplan": ("plan", ("content", "step")),
    **dict.fromkeys(("plan", "planupdate"), ("entries", ("content",))),  # ACP's updates
}
_STATUSES: Final = {"done": "completed"}


@dataclass(frozen=True, slots=True)
class Tool:
    """`summary` is one line, empty when the call carries nothing that can be said."""

    kind: Kind
    summary: str


def describe(call: ToolCall) -> Tool:
    """Never raises: the arguments are what a model sent."""
    name = _fold(call.name)
    if name in _TASK_CHANGES:
        return Tool("other", _task_change(_parse(call.arguments)) or head_line(call.arguments))
    kind, keys = _TOOLS.get(name, ("other", ()))
    arguments = _parse(call.arguments)
    if arguments == {} and not name.endswith("todowrite"):
        return Tool(kind, "")
    if isinstance(arguments, dict):
        for key in keys:
            value = arguments.get(key)
            said = str(value) if key in _JOB and isinstance(value, int) else _text(value)
            if line := head_line(said):
                return Tool(kind, line)
    if patched := _PATCHED.search(call.arguments) if kind == "edit" else None:
        return Tool(kind, head_line(patched[1]))
    return Tool(kind, head_line(call.arguments))


def is_delegating(call: ToolCall) -> bool:
    """Whether the call asks another agent to work: `describe` says so too, and takes longer."""
    return _TOOLS.get(_fold(call.name), ("other", ()))[0] == "delegate"


def plan_of(call: ToolCall) -> list[object] | None:
    """The todos that a plan call carries, unvalidated; None for any other call and for arguments without a list."""
    name = _fold(call.name)
    if name.endswith("todowrite"):
        return todos_of(call.arguments)
    if name not in _PLAN_CALLS:
        return None
    key, contents = _PLAN_CALLS[name]
    arguments = _parse(call.arguments)
    found = arguments.get(key) if isinstance(arguments, dict) else None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        return None
    return [_todo(item, contents) for item in found]


@lru_cache(maxsize=4_096)
def is_plan_call(name: str) -> bool:
    """Whether a tool of this recorded name writes a plan."""
    folded = _fold(name)
    return folded.endswith("todowrite") or folded in _PLAN_CALLS


def head_line(text: str) -> str:
    """The first line that says something; the style sheet shortens it, the cut only bounds the page."""
    for line in text.split("\n"):
        if stripped := line.strip():
            return stripped[:MAX_LINE_CHARS]
    return ""


def _todo(item: Mapping[str, object], contents: Sequence[str]) -> object:
    status = item.get("status")
    return {
        "content": next((item[key] for key in contents if key in item), None),
        "status": _STATUSES.get(status, status) if isinstance(status, str) else status,
    }


def _task_change(arguments: object) -> str:
    """`#3 completed`, `#3 Run all the tests`; empty when the call does not say which task."""
    said = arguments if isinstance(arguments, dict) else {}
    which = next((str(said[key]) for key in ("taskId", "task_id", "id") if isinstance(said.get(key), str | int)), "")
    what = next((line for key in ("status", "subject", "title") if (line := head_line(_text(said.get(key))))), "")
    return head_line(f"#{which} {what}") if which else ""


def _fold(name: str) -> str:
    """`mcp__plan__todo_write`, `TodoWrite` and `todo-write` are one tool."""
    last = name.rsplit("__", 1)[-1].rsplit(".", 1)[-1].rsplit("/", 1)[-1]
    return last.replace("_", "").replace("-", "").lower()


def _parse(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


def _text(value: object) -> str:
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return " ".join(value)  # a command as an argument vector
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return next((text for key in ("question", "text") if isinstance(text := value[0].get(key), str)), "")
    return value if isinstance(value, str) else ""
