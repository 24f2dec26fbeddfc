"""Whether pages arrive as the panel sent them: their links below the prefix, their files, their headers."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from planstrip.doctor.findings import Finding, ok, wrong
from planstrip.doctor.wire import Answer, Target, ask

EMBED: Final = "/embed/planstrip-doctor"
FRAMED: Final = "X-Frame-Options"
_FILES: Final = re.compile(r'<(?:link rel="stylesheet" href|script src)="([^"]+)"')
SENT: Final = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def pages(target: Target) -> Iterator[Finding]:
    page, embed = (ask(target, path, headers={"Accept": "text/html"}) for path in ("/", EMBED))
    if page.status != 200 or page.type != "text/html":
        what = "let the proxy hand on the panel's pages"
        yield wrong("page", f"{target.url}/ answers {page.status} ({page.type})", what)
        return
    yield from _files(target, page)
    yield _headers(page)
    yield _framing(embed)


def _files(target: Target, page: Answer) -> Iterator[Finding]:
    links = _FILES.findall(page.body.decode(errors="replace"))
    outside = [link for link in links if not link.startswith(f"{target.root}/static/")]
    if not links:
        yield wrong("prefix", "the page has no style sheet and no script", "let the proxy leave pages as they are")
    elif outside:
        what = f"start the panel with --root-path {target.root or '/'}"
        yield wrong("prefix", f"the page is seen at {target.root}/, but asks for {outside[0]}", what)
    else:
        yield ok("prefix", f"links stand below {target.root}/")
    for link in links:
        answer = ask(Target(target.scheme, target.netloc, "", target.token), urlsplit(link).path)
        if answer.status != 200 or answer.type not in ("text/css", "text/javascript"):
            said = f"{link} answers {answer.status} ({answer.type})"
            yield wrong("files", said, "let the proxy hand on every path below the prefix, /static too")
            return
    yield ok("files", "style sheet and script arrive")


def _headers(page: Answer) -> Finding:
    for name, sent in SENT.items():
        found = page.headers.get_all(name, [])
        if found != [sent]:
            said = f"{name} is {' and '.join(found) or 'gone'}; the panel sent {sent}"
            return wrong("headers", said, f"let the proxy leave {name} as it is")
    policies = page.headers.get_all("Content-Security-Policy", [])
    if len(policies) != 1 or not policies[0].startswith("default-src 'none'; script-src 'self'"):
        said = f"{len(policies)} content security policies arrive, of which the panel sends one"
        return wrong("headers", said, "let the proxy leave Content-Security-Policy as it is")
    return ok("headers", "as the panel sent them")


def _framing(embed: Answer) -> Finding:
    frames = re.search(r"frame-ancestors ([^;]*)", embed.headers.get("Content-Security-Policy", ""))
    by = frames[1] if frames else ""
    if embed.status != 200:
        return wrong("embed", f"{EMBED} answers {embed.status}", "let the proxy hand on every path below the prefix")
    if FRAMED in embed.headers and by != "'self'":
        said = f"{FRAMED}: {embed.headers[FRAMED]} keeps it out of frames that the panel allows ({by})"
        return wrong("embed", said, f"let the proxy add no {FRAMED} below /embed")
    return ok("embed", f"may be framed by {by}")
