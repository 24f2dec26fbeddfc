"""The busiest route without the framework around it: nothing stands between the guard and `todo_write`."""

import re
from dataclasses import dataclass
from typing import Final

from fastapi import FastAPI
from starlette.datastructures import State
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from planstrip.intake.rest import post_todo_write
from planstrip.web.failures import response_to

PATH: Final = re.compile(r"/api/sessions/([^/]+)/todo_write")


@dataclass(frozen=True, slots=True)
class Shortcut:
    """Seven layers of middleware and routing cost a write a quarter of its time (tests/bench, ingest)."""

    app: FastAPI

    @property
    def state(self) -> State:
        return self.app.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http" and scope["method"] == "POST":
            found = PATH.fullmatch(scope["path"], len(scope.get("root_path", "")))
        if found is None:
            await self.app(scope, receive, send)
            return
        request = Request({**scope, "app": self.app, "path_params": {"session": found[1]}}, receive, send)
        try:
            response = await post_todo_write(request)
        except Exception as error:  # noqa: BLE001 - the one handler says what each is
            response = response_to(request, error)
        await response(scope, receive, send)
