"""Whether a panel answers at an address, lets us in and nobody else, and takes what its own pages write."""

import re
from collections.abc import Iterator
from http.client import HTTPException
from http.cookies import SimpleCookie
from typing import Final
from urllib.parse import urlencode

from planstrip.doctor.findings import FORWARDED, Finding, note, ok, wrong
from planstrip.doctor.wire import Answer, Target, ask
from planstrip.settings import bare_host, is_loopback
from planstrip.web.guard import COOKIE

JSON: Final = ("application/json", "application/problem+json")
BASIC: Final = "basic"
KEEP_HOST: Final = "let the proxy hand on Host as the browser sent it"
_SEEN_HOST: Final = re.compile("Host is '([^']+)'")


def address(target: Target) -> Finding:
    """Whether a panel answers there; what is wrong ends all further questions."""
    try:
        answer = ask(target, "/healthz")
    except (OSError, HTTPException) as error:
        said = f"nothing answers at {target.url}: {error}"
        return wrong("address", said, "start `planstrip serve`, or correct the address or its certificate")
    store = answer.json().get("store")
    if answer.coding != "identity" and answer.type in JSON:
        said = f"{target.url}/healthz comes compressed ({answer.coding}), which was not asked for"
        return wrong("compression", said, "let the proxy compress only for who accepts it, and no text/event-stream")
    if answer.status == 200 and store == "ok":
        return ok("address", f"planstrip {answer.json().get('version')} answers in {_ms(answer.took_s)}")
    return _not_the_panel(target, answer, store)


def _not_the_panel(target: Target, answer: Answer, store: object) -> Finding:
    said, what = f"{target.url}/healthz answers {answer.status}", ""
    if store is not None:
        said, what = f"{said}: the panel cannot use its store: {store}", "run `planstrip doctor` on its machine"
    elif answer.status == 400 and "Host" in answer.detail:
        said, what = f"{said}: {answer.detail}", _host(target, answer)
    elif answer.detail:
        said = f"{said}: {answer.detail}"
        what = f"start the panel with --root-path {target.root or '/'}, or let the proxy take {target.root} off"
    elif 300 <= answer.status < 400:
        said = f"{said}: it leads to {answer.headers.get('location')}"
        what = "use the address that it leads to"
    elif answer.status == 401 or BASIC in answer.headers.get("www-authenticate", "").lower():
        said = f"{said}: something in front of the panel wants a password"
        what = "let the panel's own token guard it: no frame on another site can ask for a password"
    elif answer.status in (502, 503, 504):
        said, what = f"{said}: a proxy is there, the panel behind it is not", "start the panel, or mend the upstream"
    else:
        said, what = f"{said} ({answer.type}), which is no panel's", "correct the address or the proxy's route"
    return wrong("address", said, what)


def _host(target: Target, answer: Answer) -> str:
    """What to change where the panel refuses the name under which it is asked, which the proxy may have put there."""
    seen = _SEEN_HOST.search(answer.detail)
    if seen is None or seen[1].lower() == target.sent_host:
        return f"start the panel with --allowed-hosts {target.host} (and a token)"
    return f"{KEEP_HOST}, or start the panel with --allowed-hosts {bare_host(seen[1])} (and a token)"


def token(target: Target) -> Finding:
    """What is wrong ends all further questions."""
    given = ask(target, "/api/sessions?limit=1")
    without = ask(Target(target.scheme, target.netloc, target.root), "/api/sessions?limit=1")
    if given.status == 401:
        if target.token is None:
            return wrong("token", "the panel needs its token", "set PLANSTRIP_TOKEN to it")
        what = "set PLANSTRIP_TOKEN to the panel's own, or let the proxy hand on Authorization"
        return wrong("token", "the token does not reach the panel, or is not its own", what)
    if given.status != 200:
        said = f"/api/sessions answers {given.status} {given.detail}".rstrip()
        return wrong("token", said, "let the proxy hand on every path below the prefix")
    if without.status == 200 and not is_loopback(target.host):
        said = "who reaches this address reads and writes your plans: no token is needed"
        return wrong("token", said, "start the panel with --token (or PLANSTRIP_TOKEN)")
    if without.status == 200:
        return ok("token", "none is needed")
    if target.scheme == "http" and not is_loopback(target.host):
        return note("token", "it is needed, and travels unencrypted", "let the proxy speak TLS")
    return ok("token", "it is needed, and taken")


def writes(target: Target) -> Iterator[Finding]:
    """What a page's own form meets: the sign-in form, which changes nothing, with a browser's Origin."""
    headers = {"Origin": f"{target.scheme}://{target.netloc}", "Content-Type": "application/x-www-form-urlencoded"}
    form = urlencode({"token": target.token or "", "next": f"{target.root}/"})
    answer = ask(target, "/sign-in", body=form, headers=headers)
    if answer.status == 403:
        yield wrong("writes", answer.detail or "refused", KEEP_HOST)
    elif answer.status not in (303, 401):
        what = "let the proxy hand on POST with its body"
        yield wrong("writes", f"/sign-in answers {answer.status} {answer.detail}".rstrip(), what)
    else:
        yield ok("writes", "a page's own writes arrive")
    if answer.status == 303:
        yield _cookie(target, answer)


def _cookie(target: Target, answer: Answer) -> Finding:
    morsel = SimpleCookie("\n".join(answer.headers.get_all("set-cookie", []))).get(COOKIE)
    if morsel is None:
        return wrong("cookie", "signing in sets none", "let the proxy hand on Set-Cookie")
    if morsel["path"].rstrip("/") != target.root:
        what = f"start the panel with --root-path {target.root or '/'}, or leave the cookie's path alone"
        return wrong("cookie", f"its path is {morsel['path']}, but pages are seen at {target.root}/", what)
    if not morsel["httponly"] or morsel["samesite"].lower() != "strict":
        return wrong("cookie", "it is no longer HttpOnly and SameSite=Strict", "leave Set-Cookie as it is")
    if target.scheme == "https" and not morsel["secure"]:
        return wrong("cookie", "it is not Secure, though the page came over TLS", FORWARDED)
    return ok("cookie", f"HttpOnly, SameSite=Strict, for {morsel['path']}" + ", Secure" * bool(morsel["secure"]))


def _ms(seconds: float) -> str:
    return f"{round(seconds * 1000)} ms"
