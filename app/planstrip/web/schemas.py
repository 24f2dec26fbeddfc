"""The bodies and answers of the REST API, as OpenAPI describes them; `intake` checks what really comes."""

from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from planstrip.events import MAX_TIME_MS, Status
from planstrip.plan.outline import State
from planstrip.view_tokens import DEFAULT_LIFE_S, MAX_FILTER_CHARS, MAX_LABEL_CHARS, MAX_LIFE_S, MIN_LIFE_S

NO_CONTROL: Final = "^[^\\x00-\\x1f\\x7f]*$"


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TodoItem(Body):
    content: str = Field(description="Non-empty, unique in the list, without white space around it.")
    status: Status


class SessionBody(Body):
    id: str | None = Field(
        default=None, min_length=1, max_length=200, description="The agent's own id; made when absent."
    )
    agent: str
    title: str | None = None
    cwd: str | None = None
    parent: str | None = None
    parent_call: str | None = Field(default=None, description="The id of the parent's tool call that began it.")


class EventBody(Body):
    type: str = Field(examples=["todo/write"])
    data: dict[str, Any]
    time: int | None = Field(
        default=None, ge=0, le=MAX_TIME_MS, description="ms since the epoch, UTC; the clock's if absent."
    )
    key: str | None = Field(default=None, description="The same key with the same content is appended once.")


class EventsBody(Body):
    events: list[EventBody] = Field(min_length=1, max_length=1_000)
    expected_position: int | None = Field(default=None, ge=0, description="409 when the log has moved on.")


class TodoWriteBody(Body):
    todos: list[TodoItem] = Field(max_length=1_000, description="The complete list; it replaces the one before.")


class ViewerBody(Body):
    by: str | None = Field(default=None, description="Who does it.")


class DismissBody(ViewerBody):
    content: str = Field(description="The dropped to-do's content, as it was listed.")


Filter: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_FILTER_CHARS, pattern=NO_CONTROL)]


class BoardFilter(Body):
    """Which sessions, as in the board's own address; all of them when empty."""

    q: Filter | None = None
    agent: Filter | None = None
    state: State | None = None
    cwd: Filter | None = None


class ViewTokenBody(Body):
    """Either `session` or `board`."""

    session: str | None = Field(default=None, description="The one session that it opens.")
    board: BoardFilter | None = Field(default=None, description="The board, held to this filter.")
    expires_in_s: int = Field(default=DEFAULT_LIFE_S, ge=MIN_LIFE_S, le=MAX_LIFE_S)
    label: str | None = Field(
        default=None, max_length=MAX_LABEL_CHARS, pattern=NO_CONTROL, description="Whom it is for."
    )


class HookBody(BaseModel):
    """What the agent's own hook gives, unchanged; every other key is kept too. opencode and dsh send their events."""

    model_config = ConfigDict(extra="allow")

    session_id: str | None = Field(default=None, description="The agent's own id of the session; opencode's is inside.")
    hook_event_name: str | None = Field(default=None, examples=["PostToolUse"])
    transcript_path: str | None = Field(default=None, description="Where it can be read here, it is read instead.")
    cwd: str | None = None
    agent_id: str | None = Field(default=None, description="The subagent's; its calls go to a session of its own.")
    prompt: str | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None
    tool_input: Any = None
    tool_response: Any = None
    type: str | None = Field(default=None, description="opencode: the bus event, with its properties.")
    properties: dict[str, Any] | None = None
    event: dict[str, Any] | None = Field(
        default=None, description="dsh: the session's event, as its transcript has it."
    )


class HookAnswer(BaseModel):
    session: str
    recorded: int = Field(description="How many events were new.")
    woken: bool = Field(description="Whether its transcript is read here instead; the status is then 202.")


class CountsAnswer(BaseModel):
    completed: int
    in_progress: int
    pending: int


class SessionAnswer(BaseModel):
    id: str
    position: int


class ListedSession(BaseModel):
    id: str
    agent: str | None
    title: str | None
    cwd: str | None
    parent: str | None
    position: int
    updated_at: int = Field(description="Time of the last event, ms since the epoch, UTC.")
    counts: CountsAnswer
    state: State


class SessionsAnswer(BaseModel):
    sessions: list[ListedSession]
    next: str | None


class EventAnswer(BaseModel):
    position: int
    type: str
    time: int
    data: Any
    problem: str | None = Field(default=None, description="Why `data` is null: what is stored does not read.")


class EventsAnswer(BaseModel):
    events: list[EventAnswer]
    next: int | None


class AppendedAnswer(BaseModel):
    first_position: int
    last_position: int


class ToolAnswer(BaseModel):
    todos: list[TodoItem]
    counts: CountsAnswer
    text: str
    position: int


class ViewTokenAnswer(BaseModel):
    """Times in ms since the epoch, UTC."""

    id: str
    session: str | None
    board: dict[str, str] | None
    label: str | None
    created_at: int
    expires_at: int
    revoked_at: int | None


class MadeViewTokenAnswer(ViewTokenAnswer):
    token: str = Field(description="Told this once: it is not stored.")
    url: str = Field(description="The link to send.")


class ViewTokensAnswer(BaseModel):
    tokens: list[ViewTokenAnswer]


class Since(BaseModel):
    position: int
    time: int


class OmittedAnswer(BaseModel):
    content: str
    status: str


class PlanAnswer(BaseModel):
    session: str
    position: int
    todos: list[TodoItem] | None
    omitted: list[OmittedAnswer]
    counts: CountsAnswer
    since: Since | None


class ProblemItem(BaseModel):
    path: str
    message: str


class ProblemAnswer(BaseModel):
    """application/problem+json"""

    title: str
    status: int
    detail: str
    errors: list[ProblemItem] | None = None
