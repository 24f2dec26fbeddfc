"""View tokens over the REST API: made, listed and revoked by whom the panel belongs to (spec.md §10)."""

from dataclasses import asdict
from functools import partial
from typing import Annotated

from fastapi import Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from planstrip import view_tokens
from planstrip.errors import NotFound
from planstrip.intake import payload
from planstrip.parts import Parts, parts_of
from planstrip.view_tokens import ViewToken, Wish
from planstrip.web.links import view_path

TokenId = Annotated[str, Path(description="The token's id, as it is listed.")]


async def post_token(request: Request) -> Response:
    """Make a view token: a link that shows one session, or the board held to a filter, and lets nobody do anything."""
    payload.content_type(request, payload.JSON)
    body = payload.parse_object(payload.text_of(await payload.read_body(request)))
    from planstrip.web.wishes import wish_of  # with the shapes that OpenAPI describes: asked for by few

    parts, wish = parts_of(request), wish_of(body)
    token, text = await run_in_threadpool(_make, parts, wish)
    base = f"{request.url.scheme}://{request.url.netloc}{parts.settings.root_path}"
    made = {**_shown(token), "token": text, "url": base + view_path(token.session, text)}
    return JSONResponse(made, 201, {"Cache-Control": "no-store"})


def get_tokens(request: Request) -> Response:
    """The view tokens, the newest first; those that ended a month ago are listed no longer."""
    with parts_of(request).engine.connect() as connection:
        return JSONResponse({"tokens": [_shown(token) for token in view_tokens.all_tokens(connection)]})


def delete_token(request: Request, token_id: TokenId) -> Response:
    """Revoke a view token: what it opened shuts at once, open streams within seconds."""
    parts = parts_of(request)
    with parts.engine.connect() as connection:
        if view_tokens.find(connection, token_id) is None:
            raise NotFound(f"there is no view token {token_id!r:.60}")
    parts.writer.run_blocking(partial(view_tokens.revoke, token_id=token_id, now=parts.clock()))
    return Response(status_code=204)


def _make(parts: Parts, wish: Wish) -> tuple[ViewToken, str]:
    token = view_tokens.make(wish, parts.clock())
    with parts.engine.connect() as connection:
        text = view_tokens.signed(view_tokens.signer(connection), token)
    parts.writer.run_blocking(partial(view_tokens.store, token=token))
    return token, text


def _shown(token: ViewToken) -> dict[str, object]:
    return asdict(token) | {"board": dict(token.board) if token.session is None else None}
