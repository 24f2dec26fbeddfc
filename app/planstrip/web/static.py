"""The joined style sheet and script, under names that change with their content."""

from starlette.requests import Request
from starlette.responses import Response

from planstrip.errors import NotFound
from planstrip.parts import parts_of
from planstrip.web.compression import takes_gzip


async def static_file(request: Request) -> Response:
    return _file(request, request.path_params["name"])


async def favicon(request: Request) -> Response:
    return _file(request, "favicon.svg")


def _file(request: Request, name: str) -> Response:
    assets = parts_of(request).renderer.assets
    found = assets.get(name)
    if found is None:
        raise NotFound(f"there is no static file {name[:80]!r}")
    body, media_type = found
    lasting = "public, max-age=31536000, immutable" if assets.is_hashed(name) else "public, max-age=86400"
    headers = {"Cache-Control": lasting, "Vary": "Accept-Encoding"}
    if takes_gzip(request):
        headers["Content-Encoding"] = "gzip"
        body = assets.gzipped(name)
    return Response(body, headers=headers, media_type=media_type)
