"""What the tables keep of a session for lists and searches: made again whenever it changes."""

from typing import Any, Final

from planstrip.plan.view import Standing

MAX_SEARCHED_CHARS: Final = 20_000


def session_row(session: str, standing: Standing, version: int) -> dict[str, Any]:
    counts, outline = standing.counts, standing.outline
    active = (todo.content for todo in (standing.plan.todos if standing.plan else ()) if todo.status == "in_progress")
    return {
        "id": session,
        "agent": outline.agent,
        "title": outline.label,
        "cwd": outline.cwd,
        "parent": outline.parent,
        "position": standing.position,
        "updated_at": standing.updated_at,
        "completed": counts.completed,
        "in_progress": counts.in_progress,
        "pending": counts.pending,
        "active": next(active, None),
        "condition": standing.condition,
        "condition_since": standing.condition_since,
        "turn_since": standing.turn_since,
        "fold_version": version,
    }


def search_row(session: str, standing: Standing) -> dict[str, Any]:
    outline = standing.outline
    contents = (todo.content for todo in (standing.plan.todos if standing.plan else ()))
    parts = (session, outline.title, outline.prompt, outline.cwd, *contents)
    text = "\n".join(part for part in parts if part).casefold()
    return {"session": session, "text": text[:MAX_SEARCHED_CHARS]}
