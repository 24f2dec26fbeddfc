"""JSON with comments, changed as text: what is not touched stays byte for byte."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

_TRIVIA: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|\ufeff)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM: Final = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
MAX_DEPTH: Final = 200

Path = Sequence[str | int]


class NotJsonError(ValueError):
    """What stands at which line."""


@dataclass(slots=True)
class Node:
    """A value and where it stands in the text, `head` with its key. `members`: of an object; `items`: of an array."""

    start: int
    end: int = 0
    value: object = None
    members: dict[str, "Node"] = field(default_factory=dict)
    items: list["Node"] = field(default_factory=list)
    head: int = 0

    @property
    def parts(self) -> list["Node"]:
        return list(self.members.values()) or self.items

    def at(self, path: Path) -> "Node | None":
        node: Node | None = self
        for key in path:
            if node is None:
                return None
            if isinstance(key, str):
                node = node.members.get(key)
            else:
                node = node.items[key] if -len(node.items) <= key < len(node.items) else None
        return node


def parse(text: str) -> Node:
    """Raises NotJsonError. A trailing comma is none; of a key that is repeated the last counts, as in JSON."""
    parser = _Parser(text)
    node = parser.value(parser.after(0), 0)
    if (end := parser.after(node.end)) != len(text):
        raise parser.fault(end, "the end")
    return node


def put(text: str, path: Path, value: object) -> str:
    """The text with `value` under `path`; what lies above is made where it is missing. Raises NotJsonError."""
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    root = parse(text)
    found = root.at(path)
    if found is not None:
        return text if found.value == value else text[: found.start] + _shown(text, found, value) + text[found.end :]
    depth = next(depth for depth in range(len(path) - 1, -1, -1) if root.at(path[:depth]) is not None)
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _insert(text, _opened(text, root.at(path[:depth]), "{"), json.dumps(path[depth]) + ": ", value)


def append(text: str, path: Path, value: object) -> str:
    """The text with `value` at the end of the array under `path`, which is made where it is missing."""
    found = parse(text).at(path) if text.strip("\ufeff \t\r\n") else None
    if found is None:
        return put(text, path, [value])
    return _insert(text, _opened(text, found, "["), "", value)


def drop(text: str, path: Path) -> str:
    """The text without what stands under `path`, its comma and the space before it. Raises NotJsonError."""
    root = parse(text)
    node, outer = root.at(path), root.at(path[:-1])
    if node is None or outer is None:
        return text
    start, end = len(text[: node.head].rstrip()), node.end
    following = _Parser(text).after(end)
    if text[following : following + 1] == ",":
        end = following + 1
    elif text[start - 1] == ",":
        start -= 1
    after = text[end:]
    if len(outer.parts) == 1:
        after = after.lstrip() if after.lstrip()[:1] in ("}", "]") else after
    return text[:start] + after


def _opened(text: str, node: Node | None, bracket: str) -> Node:
    assert node is not None
    if text[node.start] != bracket:
        line = text.count("\n", 0, node.start) + 1
        raise NotJsonError(f"line {line} holds {text[node.start : node.end]!r:.60}; expected {bracket} there")
    return node


def _insert(text: str, node: Node, head: str, value: object) -> str:
    """One more part at the end of an object or an array, in the style of its neighbours."""
    close = node.end - 1
    parts = node.parts
    after = max((part.end for part in parts), default=node.start + 1)
    has_comma = bool(parts) and _TRIVIA.sub("", text[after:close]).strip().startswith(",")
    comma = "," if parts and not has_comma else ""
    if parts and "\n" not in text[node.start : node.end]:
        return text[:after] + comma + text[after:close].rstrip() + f" {head}{json.dumps(value)}" + text[close:]
    unit, newline = _unit(text), "\r\n" if "\r\n" in text else "\n"
    outer = _indent_at(text, node.start)
    inner = _indent_at(text, parts[-1].start) if parts else outer + unit
    kept = text[after:close].rstrip()
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    shown = (newline + inner).join(lines)
    return text[:after] + comma + kept + f"{newline}{inner}{head}{shown}{newline}{outer}" + text[close:]


def _shown(text: str, node: Node, value: object) -> str:
    unit, newline = _unit(text), "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (newline + _indent_at(text, node.start)).join(lines)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _indent_at(text: str, index: int) -> str:
    line = text[text.rfind("\n", 0, index) + 1 : index]
    return line[: len(line) - len(line.lstrip(" \t"))]


@dataclass(slots=True)
class _Parser:
    text: str

    def after(self, index: int) -> int:
        found = _TRIVIA.match(self.text, index)
        assert found is not None
        return found.end()

    def fault(self, index: int, expected: str) -> NotJsonError:
        line = self.text.count("\n", 0, index) + 1
        return NotJsonError(f"line {line} has {self.text[index : index + 20]!r}; expected {expected}")

    def value(self, index: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.fault(index, f"at most {MAX_DEPTH} levels")
        char = self.text[index : index + 1]
        if char == "{":
            return self._object(index, depth)
        if char == "[":
            return self._array(index, depth)
        found = _STRING.match(self.text, index) or _ATOM.match(self.text, index)
        try:
            if found is not None:
                return Node(index, found.end(), json.loads(found[0]))
        except ValueError:
            pass  # such as a number with two points
        raise self.fault(index, "a value")

    def _object(self, start: int, depth: int) -> Node:
        node, index = Node(start), self.after(start + 1)
        while self.text[index : index + 1] != "}":
            key = self.value(index, depth + 1)
            colon = self.after(key.end)
            if not isinstance(key.value, str) or self.text[colon : colon + 1] != ":":
                raise self.fault(index, "a key and a colon")
            member = self.value(self.after(colon + 1), depth + 1)
            member.head = key.start
            node.members.pop(key.value, None)
            node.members[key.value] = member
            index = self._next(member.end, "}")
        node.end, node.value = index + 1, {key: member.value for key, member in node.members.items()}
        return node

    def _array(self, start: int, depth: int) -> Node:
        node, index = Node(start), self.after(start + 1)
        while self.text[index : index + 1] != "]":
            node.items.append(self.value(index, depth + 1))
            node.items[-1].head = index
            index = self._next(node.items[-1].end, "]")
        node.end, node.value = index + 1, [item.value for item in node.items]
        return node

    def _next(self, end: int, close: str) -> int:
        index = self.after(end)
        if self.text[index : index + 1] == ",":
            return self.after(index + 1)
        if self.text[index : index + 1] != close:
            raise self.fault(index, f"a comma or {close}")
        return index
