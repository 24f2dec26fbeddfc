"""A bare FastAPI app, for the time that a start takes and the memory that idling needs."""

from fastapi import FastAPI

app = FastAPI()


@app.get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "ok"}
