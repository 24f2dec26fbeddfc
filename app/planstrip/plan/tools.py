"""What a tool call says on its row: its kind by the recorded name, and one line from its raw arguments (spec.md §5)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from planstrip.events import ToolCall
from planstrip.plan.summary import todos_of

Kind: TypeAlias = Literal["run", "read", "edit", "search", "fetch", "delegate", "other"]

MAX_LINE_CHARS: Final = 1_000

_PATH: Final = ("file_path", "path", "absolute_path", "filePath", "notebook_path", "target_file")
_QUERY: Final = ("pattern", "query", "path", "glob_pattern")
TASK_WORDS: Final = ("description", "prompt", "task", "message")

# Recorded name, folded by `_fold` -> its kind and the arguments that say what it is about, the first usable one.
_TOOLS: Final[Mapping[str, tuple[Kind, Sequence[str]]]] = {
    **dict.fromkeys(
        (
            *("bash", "shell", "shellcommand", "exec", "execcommand", "runshellcommand", "localshell", "terminal"),
            *("runcommand", "execute"),
        ),
        ("run", ("command", "cmd", "script")),
    ),
    **dict.fromkeys(("read", "view", "readfile", "viewimage", "readmanyfiles", "cat"), ("read", _PATH)),
    **dict.fromkeys(
        ("edit", "write", "multiedit", "applypatch", "writefile", "replace", "strreplace", "editfile", "notebookedit"),
        ("edit", _PATH),
    ),
    **dict.fromkeys(
        ("grep", "glob", "search", "find", "ls", "list", "listdirectory", "searchfilecontent", "codebasesearch"),
        ("search", _QUERY),
    ),
    "toolsearch": ("search", _QUERY),
    **dict.fromkeys(("fetch", "webfetch", "websearch", "googlewebsearch"), ("fetch", ("url", "query", "prompt"))),
    **dict.fromkeys(
        ("task", "subagent", "agent", "spawnagent", "runsubagent", "delegate", "newtask"), ("delegate", TASK_WORDS)
    ),
    "taskcreate": ("other", ("subject", "title")),
    "skill": ("other", ("skill", "command")),
    "exitplanmode": ("other", ("plan",)),
}

# Plan calls of other agents, folded name -> the keys of their list and of an item's content.
_PLAN_CALLS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "writetodos": ("todos", ("content", "description")),
    "todolist": ("todos", ("content", "title")),
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
    if name == "taskupdate":
        return Tool("other", _task_change(_parse(call.arguments)) or head_line(call.arguments))
    kind, keys = _TOOLS.get(name, ("other", ()))
    arguments = _parse(call.arguments) if keys else None
    if isinstance(arguments, dict):
        for key in keys:
            if line := head_line(_text(arguments.get(key))):
                return Tool(kind, line)
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
    what = head_line(_text(said.get("status"))) or head_line(_text(said.get("subject")))
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
    return value if isinstance(value, str) else ""
