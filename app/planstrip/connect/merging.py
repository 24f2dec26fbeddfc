"""An agent's configuration as text, with our part in it: JSON, TOML, YAML, or a file of our own."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from planstrip.connect import jsonc

NAMES: Final = ("plan", "planstrip")  # of our server in an agent's list; the second where somebody has the first

_OUR_ENTRY: Final = re.compile(r"^# planstrip\n- insert:\n(?: {4}.*\n)+", re.MULTILINE)


class Merge(Protocol):
    """Text with our part in it, or without it. `before`: as it was when ours was put in. Both raise Unmergeable."""

    def __call__(self, text: str) -> str: ...

    def without(self, text: str, before: str) -> str: ...


class Unmergeable(Exception):
    """Why nothing can be added to what stands there."""


@dataclass(frozen=True, slots=True)
class JsonMerge:
    """`servers`: where the MCP servers stand; `hooks`: our group of each event, under `hooks`."""

    servers: tuple[str, ...] = ()
    server: Mapping[str, Any] | None = None
    hooks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        try:
            if self.server is not None:
                text = jsonc.put(text, (*self.servers, _name(_held(text, self.servers))), self.server)
            for event, group in self.hooks.items():
                text = _with_hook(text, event, group)
            jsonc.parse(text)
        except jsonc.NotJsonError as error:
            raise Unmergeable(str(error)) from error
        return text

    def without(self, text: str, before: str) -> str:
        try:
            was = jsonc.parse(before if before.strip() else "{}")
            paths = [(*self.servers, name) for name in NAMES if _is_ours(_held(text, self.servers).get(name))]
            for path in [*paths, *_our_hooks(text, {hook["command"] for hook in self._own_hooks()})]:
                text = jsonc.drop(text, path)
                text = _without_empty(text, path[:-1], was)
        except jsonc.NotJsonError as error:
            raise Unmergeable(str(error)) from error
        return text

    def _own_hooks(self) -> Iterator[Mapping[str, Any]]:
        for group in self.hooks.values():
            yield from group["hooks"]


@dataclass(frozen=True, slots=True)
class TomlMerge:
    """A table `[TABLE.plan]`."""

    table: str
    server: Mapping[str, Any]

    def __call__(self, text: str) -> str:
        """As text at the end where that reads as it should; else, as in an inline table, by way of a library."""
        try:
            before = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise Unmergeable(str(error)) from error
        servers = before.get(self.table, {})
        if not isinstance(servers, dict):
            raise Unmergeable(f"{self.table} is no table")
        name = _name(servers)
        if servers.get(name) == self.server:
            return text
        wanted = before | {self.table: servers | {name: dict(self.server)}}
        for make in (self._appended, self._assigned):
            after = make(text, name)
            if _reads_as(after, wanted):
                return after
        raise Unmergeable(f"{self.table} is written in a way that cannot be added to")

    def without(self, text: str, before: str) -> str:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            document = tomlkit.parse(text)
            servers: Any = document.get(self.table, {})
            for name in [name for name in NAMES if name in servers and _is_ours(servers[name])]:
                del servers[name]
            if not servers and self.table in document and self.table not in tomllib.loads(before):
                del document[self.table]
            return tomlkit.dumps(document)
        except (TOMLKitError, TypeError, ValueError) as error:
            raise Unmergeable(str(error)) from error

    def _appended(self, text: str, name: str) -> str:
        newline = "\r\n" if "\r\n" in text else "\n"
        pairs = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in self.server.items()]
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        return text + gap + newline.join([f"[{self.table}.{name}]", *pairs, ""])

    def _assigned(self, text: str, name: str) -> str:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            document = tomlkit.parse(text)
            servers: Any = document[self.table]
            servers[name] = dict(self.server)
            return tomlkit.dumps(document)
        except (TOMLKitError, TypeError) as error:
            raise Unmergeable(str(error)) from error


@dataclass(frozen=True, slots=True)
class YamlMerge:
    """An entry at the end of a list, put there as text: no library writes YAML back as it was."""

    entry: str

    def __call__(self, text: str) -> str:
        import yaml

        try:
            before, ours = yaml.safe_load(text), yaml.safe_load(self.entry)
        except yaml.YAMLError as error:
            raise Unmergeable(" ".join(str(error).split())[:200]) from error
        if before is not None and not isinstance(before, list):
            raise Unmergeable(f"it holds a {type(before).__name__}; expected a list")
        if ours[0] in (before or []):
            return text
        rest = _OUR_ENTRY.sub("", text)  # one with other flags is replaced
        kept = [entry for entry in before or [] if "mcp-plan" not in json.dumps(entry, default=str)]
        joined = rest + ("" if not rest or rest.endswith("\n") else "\n") + self.entry
        try:
            after = yaml.safe_load(joined)
        except yaml.YAMLError:
            after = None
        if after != kept + ours:
            raise Unmergeable("its list is not written in lines that begin with `- `, or has an entry like ours")
        return joined

    def without(self, text: str, before: str) -> str:
        rest = _OUR_ENTRY.sub("", text)
        if rest == text:
            raise Unmergeable("its entry of planstrip's is written in another way")
        return rest


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is ours alone."""

    content: str

    def __call__(self, text: str) -> str:
        return self.content

    def without(self, text: str, before: str) -> str:
        raise Unmergeable("it was ours alone")


def _name(servers: Mapping[str, Any]) -> str:
    """The first name that is free, or holds what is ours already."""
    for name in NAMES:
        if name not in servers or _is_ours(servers[name]):
            return name
    raise Unmergeable(f"it has servers of other programs under both {' and '.join(NAMES)}")


def _is_ours(server: object) -> bool:
    text = json.dumps(server, default=str)
    return "planstrip" in text or ("/mcp" in text and ":8765" in text)


def _held(text: str, path: Sequence[str]) -> Mapping[str, Any]:
    node = jsonc.parse(text).at(path) if text.strip("\ufeff \t\r\n") else None
    return node.value if node is not None and isinstance(node.value, dict) else {}


def _with_hook(text: str, event: str, group: Mapping[str, Any]) -> str:
    """Ours at the end of the event's groups; one of ours that stands there is brought up to date."""
    ours = group["hooks"][0]
    node = jsonc.parse(text).at(("hooks", event)) if text.strip("\ufeff \t\r\n") else None
    for held in node.items if node is not None else []:
        for hook in inner.items if (inner := held.at(("hooks",))) is not None else []:
            if _is_hook(hook.value, ours["command"]):
                if hook.value == ours:
                    return text
                return text[: hook.start] + json.dumps(ours) + text[hook.end :]
    return jsonc.append(text, ("hooks", event), group)


def _our_hooks(text: str, commands: set[str]) -> Iterator[tuple[str | int, ...]]:
    """Where they stand, the last first, so that what goes moves none of the others."""
    events = jsonc.parse(text).at(("hooks",))
    for event, groups in (events.members if events is not None else {}).items():
        for index in reversed(range(len(groups.items))):
            hooks = groups.items[index].at(("hooks",))
            for place in reversed(range(len(hooks.items) if hooks is not None else 0)):
                path = ("hooks", event, index, "hooks", place)
                if any(_is_hook(hooks.items[place].value, command) for command in commands):  # type: ignore[union-attr]
                    yield path


def _without_empty(text: str, path: jsonc.Path, before: jsonc.Node) -> str:
    """What is empty now and was not there before goes as well; a group without hooks is empty."""
    while path:
        node = jsonc.parse(text).at(path)
        is_there = before.at(path) is not None and all(isinstance(key, str) for key in path)
        if node is None or is_there or (node.parts and not (isinstance(path[-1], int) and not _hooks_of(node))):
            return text
        text, path = jsonc.drop(text, path), path[:-1]
    return text


def _hooks_of(group: jsonc.Node) -> list[jsonc.Node]:
    hooks = group.at(("hooks",))
    return hooks.items if hooks is not None else []


def _is_hook(hook: object, command: str) -> bool:
    """Whether it runs our hook for the same agent, from wherever planstrip was installed."""
    held = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(held, str) and "planstrip" in held and held.split()[-2:] == command.split()[-2:]


def _reads_as(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False
