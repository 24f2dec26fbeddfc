"""What may be sent to a terminal."""


def plain(text: str) -> str:
    """The text with control and formatting characters shown, not sent: file names and ids come from agents."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
