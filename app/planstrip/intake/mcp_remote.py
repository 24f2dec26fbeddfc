"""`planstrip mcp` beside a panel: calls go through the running server while there is one, else into the database."""

import asyncio
import json
import logging
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from planstrip import __version__
from planstrip.errors import PlanstripError, UnusableSettings
from planstrip.intake import tool
from planstrip.intake.mcp_caller import CALLER_META, Caller
from planstrip.intake.mcp_log import LoggedPlans, Reply

PROTOCOL: Final = "2026-07-28"
HEALTH_TIMEOUT_S: Final = 2.0
CALL_TIMEOUT_S: Final = 10.0
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024

log = logging.getLogger(__name__)


class Gone(Exception):
    """No answer that a panel would give: it may or may not have taken the call."""


class Refused(PlanstripError):
    """The panel is there and does not let us in."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel's server by its address, spoken to in MCP's stateless protocol."""

    url: str
    token: str | None = None

    def policy(self) -> bool | None:
        """Its policy; None when no panel answers there."""
        try:
            status, body, _ = self._send("GET", "/healthz", {}, None, HEALTH_TIMEOUT_S)
        except Gone:
            return None
        policy = body.get("allow_parallel_in_progress") if status == 200 else None
        return policy if isinstance(policy, bool) else None

    def check_token(self) -> None:
        """Raises UnusableSettings when the panel wants another token than ours."""
        try:
            status, _, _ = self._send("GET", "/api/sessions?limit=1", self._authorization(), None, HEALTH_TIMEOUT_S)
        except Gone:
            return
        if status == 401:
            raise UnusableSettings(f"the server at {self.url} wants another token: set PLANSTRIP_TOKEN to its own")

    def ask(self, caller: Caller, method: str, params: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
        """The result of a request, `{}` for one that it refuses as such. Raises Gone or Refused."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": PROTOCOL,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "planstrip", "version": __version__},
            CALLER_META: caller.as_json(),
        }
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": PROTOCOL,
            "mcp-method": method,
        }
        if name is not None:
            headers["mcp-name"] = name
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        encoded = json.dumps(body).encode()
        status, answer, wait = self._send("POST", "/mcp", headers | self._authorization(), encoded, CALL_TIMEOUT_S)
        if status in (400, 401, 403, 413, 429) and "error" not in answer:
            reason = answer.get("detail", "no reason given")
            later = f"; it says to come back in {wait} s" if wait.isdecimal() else ""
            raise Refused(f"the server at {self.url} refused ({status}): {reason}{later}")
        if "result" not in answer and "error" not in answer:
            raise Gone(f"status {status}")
        result = answer.get("result", {})
        return result if isinstance(result, dict) else {}

    def _authorization(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"} if self.token else {}

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float
    ) -> tuple[int, dict[str, Any], str]:
        """Status, JSON object and `Retry-After` of an answer; what is not in it is empty."""
        request = urllib.request.Request(  # noqa: S310 - the address is the user's own setting
            self.url + path, body, dict(headers), method=method
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy sees what runs on loopback
        try:
            with direct.open(request, timeout=timeout_s) as answer:
                return answer.status, _object(answer.read(MAX_ANSWER_BYTES)), ""
        except urllib.error.HTTPError as error:
            with error:
                wait = error.headers.get("Retry-After") or ""
                return error.code, _object(error.read(MAX_ANSWER_BYTES)), wait[:10]
        except (OSError, ValueError) as error:  # URLError, timeouts and broken answers among them
            raise Gone(str(error)) from error


@dataclass(slots=True)
class NearestPlans:
    """The policy is the server's, the last that was seen; `told`, which the user set, until one is."""

    panel: Panel
    open_log: Callable[[bool], LoggedPlans]
    told: bool | None
    seen: bool | None = None
    _log: LoggedPlans | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def policy(self) -> bool:
        await self._is_there()
        return self._known_policy()

    async def arrive(self, caller: Caller) -> None:
        if await self._is_there():
            try:
                await asyncio.to_thread(self.panel.ask, caller, "server/discover", {})
                return
            except Gone:
                pass
        await (await self._database()).arrive(caller)

    async def write(self, caller: Caller, arguments: Mapping[str, Any]) -> Reply:
        """Every call has an id by now: one that the server took without being able to say so is not taken twice."""
        try:
            if await self._is_there():
                try:
                    return await self._ask(caller, arguments)
                except Gone as error:
                    log.warning("the server at %s went away (%s): into the database", self.panel.url, error)
            return await (await self._database()).write(caller, arguments)
        except PlanstripError as error:
            return Reply(error.detail, is_error=True)

    async def read(self, session: str) -> str | None:
        if await self._is_there():
            uri = f"planstrip://sessions/{urllib.parse.quote(session, safe='')}/plan"
            try:
                result = await asyncio.to_thread(
                    self.panel.ask, Caller(session, "mcp"), "resources/read", {"uri": uri}, uri
                )
                return next((content["text"] for content in result.get("contents", [])), None)
            except Gone:
                pass
        return await (await self._database()).read(session)

    async def _ask(self, caller: Caller, arguments: Mapping[str, Any]) -> Reply:
        params = {"name": tool.NAME, "arguments": arguments}
        result = await asyncio.to_thread(self.panel.ask, caller, "tools/call", params, tool.NAME)
        try:
            return Reply(result["content"][0]["text"], is_error=bool(result.get("isError")))
        except (KeyError, IndexError, TypeError):
            return Reply(f"the server at {self.panel.url} gave no answer to {tool.NAME}", is_error=True)

    async def _is_there(self) -> bool:
        """Whether a panel answers. A model that was told another policy than the panel's hears it with its refusal."""
        policy = await asyncio.to_thread(self.panel.policy)
        if policy is None:
            return False
        if policy != self._known_policy():
            log.warning("the server at %s has another policy than was told, and its own holds", self.panel.url)
        self.seen = policy
        return True

    async def _database(self) -> LoggedPlans:
        async with self._lock:
            policy = self._known_policy()
            if self._log is None or self._log.allow_parallel_in_progress != policy:
                self._log = await asyncio.to_thread(self.open_log, policy)
            return self._log

    def _known_policy(self) -> bool:
        policy = self.told if self.seen is None else self.seen
        assert policy is not None, "run_mcp refuses to start without one"
        return policy


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
