"""View tokens for tests: made as the command line makes them, so that no door stands between."""

from typing import Any

from planstrip import view_tokens
from planstrip.db import for_writing
from planstrip.view_tokens import ViewToken, Wish
from tests.running import Panel

BOARD: dict[str, str] = {}


def view(panel: Panel, shown: str | dict[str, str], **more: Any) -> str:
    """A token for a session, or for the board held to a filter."""
    return view_of(panel, shown, **more)[1]


def view_of(panel: Panel, shown: str | dict[str, str], *, ago_ms: int = 0, **more: Any) -> tuple[ViewToken, str]:
    """The same with its record; made `ago_ms` before now."""
    wish = Wish(shown, **more) if isinstance(shown, str) else Wish(board=shown, **more)
    token = view_tokens.make(wish, panel.parts.clock() - ago_ms)
    with for_writing(panel.parts.engine).begin() as connection:
        view_tokens.store(connection, token)
        return token, view_tokens.signed(view_tokens.signer(connection), token)


def revoke(panel: Panel, token: ViewToken) -> None:
    with for_writing(panel.parts.engine).begin() as connection:
        view_tokens.revoke(connection, token.id, panel.parts.clock())


def expired(panel: Panel, shown: str | dict[str, str]) -> str:
    return view_of(panel, shown, ago_ms=120_000, life_s=60)[1]


def revoked(panel: Panel, shown: str | dict[str, str]) -> str:
    token, text = view_of(panel, shown)
    revoke(panel, token)
    return text


def forged(panel: Panel, shown: str | dict[str, str]) -> str:
    """A live token's id with another signature."""
    body, _, signature = view(panel, shown).rpartition(".")
    middle = len(signature) // 2
    other = "A" if signature[middle] != "A" else "B"
    return f"{body}.{signature[:middle]}{other}{signature[middle + 1 :]}"
