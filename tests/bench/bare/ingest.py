"""A bare FastAPI route that validates the body of `todo_write` and stores nothing."""

from typing import Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict

app = FastAPI()


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    content: str
    status: Literal["pending", "in_progress", "completed"]


class TodoWrite(BaseModel):
    model_config = ConfigDict(extra="forbid")
    todos: list[Item]


class Answer(BaseModel):
    total: int


@app.post("/api/sessions/{session}/todo_write")
async def todo_write(session: str, body: TodoWrite) -> Answer:
    return Answer(total=len(body.todos))


@app.get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "ok"}
