"""The MCP server: `todo_write`, and the plan that stands as a resource (spec.md §3, §10)."""

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from planstrip import __version__
from planstrip.errors import PlanstripError
from planstrip.intake import tool
from planstrip.intake.mcp_caller import Caller
from planstrip.intake.mcp_log import Plans

Context: TypeAlias = ServerRequestContext[Any, Any]
Identify: TypeAlias = Callable[[Context], Caller]

TEMPLATE: Final = "planstrip://sessions/{id}/plan"
RESOURCE_NOT_FOUND: Final = -32002  # until 2026-07-28, which has INVALID_PARAMS for it
MAX_CONNECTIONS: Final = 10_000
INSTRUCTIONS: Final = (
    "todo_write records your plan for the person who watches. The plan that stands can be read back as this server's"
    " resource, also after your context was compacted."
)

log = logging.getLogger(__name__)


def make_server(plans: Plans, identify: Identify, *, is_one_client: bool = False) -> Server[Any]:
    """`is_one_client`: the server lives as long as its client, so that the first request is the client's arrival."""
    handlers = _Handlers(plans, identify, is_one_client)
    # The low-level server hands over the arguments as they came: what is refused, and how, is for `tool.check` to say.
    server: Server[Any] = Server(
        "planstrip",
        version=__version__,
        title="planstrip",
        instructions=INSTRUCTIONS,
        get_tool_input_schema={tool.NAME: tool.INPUT_SCHEMA}.get,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )
    server.middleware[:] = [handlers.notice_arrival]
    return server


@dataclass(slots=True)
class _Handlers:
    plans: Plans
    identify: Identify
    is_one_client: bool
    _has_arrived: bool = False
    _arrivals: asyncio.Lock = field(default_factory=asyncio.Lock)
    _sessions: "OrderedDict[str, str]" = field(default_factory=OrderedDict)  # by connection, as its last call said

    async def notice_arrival(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """A middleware: the client connects, for the first time or anew, and no call overtakes that."""
        greets = ctx.method in ("notifications/initialized", "server/discover")
        async with self._arrivals:
            if ctx.method != "initialize" and (greets or self.is_one_client) and not self._has_arrived:
                self._has_arrived = self.is_one_client
                try:
                    await self.plans.arrive(self.identify(ctx))
                except PlanstripError as error:
                    log.warning(
                        "a client that connects was not noted: %s", error.title
                    )  # the call itself will say so to the model
        return await call_next(ctx)

    async def list_tools(self, _context: Context, _params: object) -> types.ListToolsResult:
        policy = await self.plans.policy()
        listed = types.Tool(
            name=tool.NAME,
            title="Update to-do list",
            description=tool.description(allow_parallel_in_progress=policy),
            input_schema=tool.INPUT_SCHEMA,
            annotations=types.ToolAnnotations(
                read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
        )
        return types.ListToolsResult(tools=[listed])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """A refusal is a result that is an error: only so its text reaches the model."""
        if params.name != tool.NAME:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r:.100}; only {tool.NAME}")
        try:
            caller = self.identify(context)
        except PlanstripError as error:
            return _result(error.detail, is_error=True)
        self._remember(caller)
        reply = await self.plans.write(caller, params.arguments or {})
        return _result(reply.text, is_error=reply.is_error)

    async def list_resources(self, context: Context, _params: object) -> types.ListResourcesResult:
        session = self._session(context)
        listed = types.Resource(
            name="plan",
            title="The standing plan",
            uri=TEMPLATE.replace("{id}", quote(session, safe="")),
            description="This session's plan as it stands now, in the form that todo_write takes.",
            mime_type="application/json",
        )
        return types.ListResourcesResult(resources=[listed])

    async def list_templates(self, _context: Context, _params: object) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="session-plan",
            title="A session's standing plan",
            uri_template=TEMPLATE,
            description="The plan of the session with this id as it stands now; todos is null where none stands.",
            mime_type="application/json",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        found = re.fullmatch(re.escape(TEMPLATE).replace(r"\{id\}", "([^/]+)"), params.uri)
        session = unquote(found[1]) if found else None
        try:
            text = None if session is None else await self.plans.read(session)
        except PlanstripError as error:
            raise MCPError(types.INTERNAL_ERROR, error.detail) from None
        if text is None and session == self._session(context):
            text = '{"todos": null}'  # it has not written yet
        if text is None:
            is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = types.INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND
            raise MCPError(code, f"there is no {params.uri!r:.200}; expected {TEMPLATE} of a session that exists")
        content = types.TextResourceContents(uri=params.uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[content])

    def _session(self, context: Context) -> str:
        """The caller's own session: the one that its calls named, where this request does not say."""
        try:
            caller = self.identify(context)
        except PlanstripError as error:
            raise MCPError(types.INVALID_PARAMS, error.detail) from None
        return self._sessions.get(caller.connection or "", caller.session)

    def _remember(self, caller: Caller) -> None:
        if caller.connection is not None:
            self._sessions[caller.connection] = caller.session
            self._sessions.move_to_end(caller.connection)
            if len(self._sessions) > MAX_CONNECTIONS:
                self._sessions.popitem(last=False)


def client_name(context: Context) -> str | None:
    params = context.session.client_params
    return params.client_info.name if params is not None else None


def meta_of(context: Context) -> Mapping[str, Any]:
    """The request's `_meta` as it came."""
    meta = (context.params or {}).get("_meta")
    return meta if isinstance(meta, dict) else {}


def _result(text: str, *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)
