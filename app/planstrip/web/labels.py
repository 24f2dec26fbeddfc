"""What a reader is told: core values turned into template contexts, in the language of a gettext catalogue. Pure."""

from collections.abc import Callable, Sequence
from gettext import NullTranslations
from hashlib import blake2s
from typing import Final, assert_never

from planstrip.bidi import undirected
from planstrip.events import Status
from planstrip.plan import tools
from planstrip.plan.children import Family
from planstrip.plan.outline import LONG_SILENCE_MS, QUIET_AFTER_MS, State, state_of
from planstrip.plan.rows import Row, RowState, Turn
from planstrip.plan.summary import plan_summary
from planstrip.plan.todos import Counts
from planstrip.plan.view import Standing
from planstrip.web import times
from planstrip.web.clipping import clipped
from planstrip.web.contexts import Head, Link, RowContext, Segment, Silence, TurnContext
from planstrip.web.directions import beside
from planstrip.web.ledger_labels import changes, dropped

BETWEEN_COUNTS: Final = "\u2002\u00b7\u2002"
METER_GAP: Final = 0.5
MAX_NAME_CHARS: Final = 200
NO_FAMILY: Final = Family()
_TAB_MARKS: Final[dict[State, str]] = {"waiting": "?", "interrupted": "!", "quiet": "\u2026", "done": "\u2713"}

iso, clock = times.iso, times.clock

AGENTS: Final = {
    "acp": "ACP",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "deepseek-harness": "DeepSeek Harness",
    "gemini-cli": "Gemini CLI",
    "kimi": "Kimi",
    "langchain": "LangChain",
    "opencode": "opencode",
    "qwen-code": "Qwen Code",
}


def head(
    session_id: str,
    standing: Standing,
    tr: NullTranslations,
    now_ms: int,
    parent: Link | None = None,
    family: Family = NO_FAMILY,
) -> Head:
    """`now_ms` is the clock, at the edge: a turn without a sign for five minutes is told as quiet."""
    outline, heard_at = standing.outline, max(standing.updated_at, family.heard_at)
    state = state_of(standing.condition, heard_at, now_ms)
    waiting = sum(child.state == "waiting" for child in family.present)
    need: State = "waiting" if waiting else state
    return Head(
        key=dom_key(session_id),
        session=session_id,
        title=outline.label or session_id,
        plain=plain(outline.label or session_id),
        tab=_tab(outline.label or session_id, need, standing.counts),
        agent=agent_name(outline.agent),
        cwd=outline.cwd,
        state=state,
        state_label=state_label(state, tr),
        need=need,
        told=told_agents("waiting", waiting, tr) if waiting else None,
        silence=silence(now_ms - heard_at),
        updated=iso(heard_at) if standing.position else "",
        parent=parent,
    )


def silence(silent_ms: int) -> Silence | None:
    """None while the last sign is so new that an open turn counts as working."""
    if silent_ms < QUIET_AFTER_MS:
        return None
    return "long" if silent_ms >= LONG_SILENCE_MS else "new"


def dom_key(session_id: str) -> str:
    """For DOM ids: a session's may have any character."""
    return blake2s(session_id.encode(), digest_size=8).hexdigest()


def _tab(title: str, state: State, counts: Counts) -> str:
    """`? 1/4 Title · planstrip`: what a person must see of a tab among many stands in front."""
    told = [_TAB_MARKS[state]] if state in _TAB_MARKS else []
    if counts.total:
        told.append(f"{counts.completed}/{counts.total}")
    return " ".join([*told, f"{plain(title)} · planstrip"])


def turn(turn: Turn, tr: NullTranslations, render: Callable[[Row], str] | None = None) -> TurnContext:
    """`render` gives rows that are HTML already, out of the renderer's cache; without it they are contexts."""
    number = turn.number
    return TurnContext(
        position=turn.position,
        label=None if turn.position == 0 or number is None else tr.gettext("Turn %(number)d") % {"number": number},
        prompt=turn.prompt,
        time=iso(turn.time),
        clock=clock(turn.time),
        is_interrupted=turn.is_interrupted,
        is_rewound=turn.is_rewound,
        rows=[render(one) for one in turn.rows] if render else [row(one, tr) for one in turn.rows],
    )


def row(row: Row, tr: NullTranslations) -> RowContext:
    """The one row of every tool: a plan call is told by its numbers and its first active to-do (spec.md §5)."""
    todos = tools.plan_of(row.call)
    difference = row.revision.difference if row.revision else ()
    suffix = suffix_name = None
    if todos is not None:
        icon, title = "plan", tr.gettext("Update to-do list")
        lead, name, extra = _plan_line(todos, tr)
        suffix, suffix_name = extra_suffix(extra, tr)
    else:
        icon, title, lead = _tool_line(row, tr)
        name = None
    if row.state == "error":
        lead, name, suffix, suffix_name = _failure(row, tr), None, None, None
    return RowContext(
        position=row.position,
        tool=row.call.name,
        is_plan=todos is not None,
        state=row.state,
        state_label=row_state_label(row.state, tr),
        icon=icon,
        title=title,
        lead=lead,
        name=name,
        suffix=suffix,
        suffix_name=suffix_name,
        time=iso(row.time),
        clock=clock(row.time),
        input=row.call.arguments,
        output=row.result.text if row.result else None,
        is_rewound=row.is_rewound,
        changes=changes(difference, tr, row.revision.returned if row.revision else ()),
        dropped=dropped(difference, tr),
    )


def extra_suffix(extra: int, tr: NullTranslations) -> tuple[str, str] | tuple[None, None]:
    """`+N` and its words, for the `extra` to-dos in progress beside the one that is named."""
    if extra <= 0:
        return None, None
    name = tr.ngettext("%(count)d more in progress", "%(count)d more in progress", extra)
    return f"+{extra}", name % {"count": extra}


def counts_header(counts: Counts, tr: NullTranslations) -> str:
    """`1 completed · 2 in progress · 1 pending`, the zero ones left out; empty when all are."""
    done, active, waiting = counts.completed, counts.in_progress, counts.pending
    segments = [
        (tr.ngettext("%(count)d completed", "%(count)d completed", done), done),
        (tr.ngettext("%(count)d in progress", "%(count)d in progress", active), active),
        (tr.ngettext("%(count)d pending", "%(count)d pending", waiting), waiting),
    ]
    return BETWEEN_COUNTS.join(text % {"count": count} for text, count in segments if count)


def done_of(done: int, total: int, tr: NullTranslations) -> str:
    text = tr.ngettext("%(done)d/%(total)d completed", "%(done)d/%(total)d completed", total)
    return text % {"done": done, "total": total}


def meter(counts: Counts) -> list[Segment]:
    """The shares in a drawing 100 wide, in the header's order, a hair apart."""
    shares: Sequence[tuple[Status, int]] = (
        ("completed", counts.completed),
        ("in_progress", counts.in_progress),
        ("pending", counts.pending),
    )
    present = [(status, count) for status, count in shares if count]
    segments, start = [], 0
    for status, count in present:
        gap = METER_GAP if start + count < counts.total else 0.0
        x, width = 100 * start / counts.total, 100 * count / counts.total
        segments.append(Segment(status, f"{x:.2f}", f"{max(width - gap, 0.1):.2f}"))
        start += count
    return segments


def agent_name(agent: str | None) -> str | None:
    return None if agent is None else AGENTS.get(agent, agent)


def status_label(status: Status, tr: NullTranslations) -> str:
    match status:
        case "completed":
            return tr.gettext("Completed")
        case "in_progress":
            return tr.gettext("In progress")
        case "pending":
            return tr.gettext("Pending")
        case never:
            assert_never(never)


def row_state_label(state: RowState, tr: NullTranslations) -> str:
    match state:
        case "running":
            return tr.gettext("Running")
        case "ok":
            return tr.gettext("Done")
        case "error":
            return tr.gettext("Failed")
        case "stopped":
            return tr.gettext("Stopped")
        case never:
            assert_never(never)


def state_label(state: State, tr: NullTranslations) -> str:
    match state:
        case "waiting":
            return tr.gettext("waiting for you")
        case "working":
            return tr.gettext("working")
        case "quiet":
            return tr.gettext("no sign for 5 min")
        case "interrupted":
            return tr.pgettext("session", "interrupted")
        case "open":
            return tr.gettext("open to-dos")
        case "done":
            return tr.gettext("done")
        case "none":
            return tr.gettext("no plan")
        case never:
            assert_never(never)


def state_word(state: State, tr: NullTranslations) -> str:
    """The state in a word or two, where there is room for no more."""
    return tr.gettext("silent") if state == "quiet" else state_label(state, tr)


def told_agents(state: State, count: int, tr: NullTranslations) -> str:
    """`1 agent waits for you`: how many of a session's agents need a person, or are at work."""
    match state:
        case "waiting":
            text = tr.ngettext("%(num)d agent waits for you", "%(num)d agents wait for you", count)
        case "interrupted":
            text = tr.ngettext("%(num)d agent interrupted", "%(num)d agents interrupted", count)
        case "quiet":
            text = tr.ngettext("%(num)d agent silent", "%(num)d agents silent", count)
        case _:
            text = tr.ngettext("%(num)d agent working", "%(num)d agents working", count)
    return text % {"num": count}


def plain(text: str) -> str:
    """For a browser's tab or a link's preview: a line of sane length, in which nothing turns its direction around."""
    return clipped(undirected(text), MAX_NAME_CHARS)


def _plan_line(todos: Sequence[object], tr: NullTranslations) -> tuple[str, str | None, int]:
    """How far it is, and the first active to-do where it is told apart, and how many more are."""
    summary = plan_summary(todos)
    if summary.total == 0:
        return tr.gettext("Cleared"), None, 0
    counts = done_of(summary.done, summary.total, tr)
    return *beside(counts, summary.active_content, tr), summary.active_extra


def _tool_line(row: Row, tr: NullTranslations) -> tuple[str, str, str]:
    tool = tools.describe(row.call)
    match tool.kind:
        case "run":
            title = tr.gettext("Run")
        case "read":
            title = tr.gettext("Read")
        case "edit":
            title = tr.gettext("Edit")
        case "search":
            title = tr.gettext("Search")
        case "fetch":
            title = tr.gettext("Fetch")
        case "delegate":
            title = tr.gettext("Delegate")
        case "other":
            title = row.call.name
        case never:
            assert_never(never)
    return tool.kind, title, tool.summary


def _failure(row: Row, tr: NullTranslations) -> str:
    result = row.result
    said = tools.head_line(result.text) if result else ""
    named = result.error.name if result and result.error else ""
    return said or named or tr.gettext("Failed")
