"""What goes to a terminal: whatever agents, files and servers are called, nothing but text reaches it."""

from typing import TextIO


def plain(text: str) -> str:
    """The text with control and formatting characters shown, not sent."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def say(stream: TextIO, text: str) -> None:
    """A line, in whatever the stream can take."""
    stream.write(sayable(stream, text) + "\n")
    stream.flush()


def sayable(stream: TextIO, text: str) -> str:
    encoding = stream.encoding or "utf-8"
    return plain(text).encode(encoding, "backslashreplace").decode(encoding)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
