"""What a page says where a plan would stand: how this agent's own plan tool is switched on. Pure."""

from gettext import NullTranslations

from planstrip.connect.notes import OWN_TOOL
from planstrip.plan.view import View
from planstrip.web.kin_contexts import Hint, HintPart


def hint(view: View, tr: NullTranslations) -> Hint | None:
    """None before the first row, once there was a plan, and for a subagent, of which none is expected."""
    outline = view.standing.outline
    if view.standing.plan_changed or not view.window.turns or outline.parent:
        return None
    note = OWN_TOOL.get(outline.agent or "")
    said = (
        tr.gettext(note)
        if note
        else tr.gettext("Any agent that speaks MCP can show one: with the tool `todo_write` of this panel, at `/mcp`.")
    )
    text = tr.gettext("No plan so far.") + " " + said
    return Hint([HintPart(part, index % 2 == 1) for index, part in enumerate(text.split("`")) if part])


def changed(view: View) -> int:
    """The last event on which the hint depends; 0 for none."""
    first = view.window.turns[0] if view.window.turns else None
    appeared = (first.position or first.changed) if first and not view.standing.plan_changed else 0
    return max(appeared, view.standing.plan_changed, view.standing.head_changed)
