"""Refuse requests that do not come from the page that the server itself served (`guard_app`).

A page of another site may send requests to 127.0.0.1, or have its own name resolve to it (DNS rebinding). The first has
another Origin, the second another Host. Both are refused before anything is read. The page may load nothing from other
sites.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
#: The names of this computer under which the page may be open.
NAMES = ("127.0.0.1", "localhost")
#: How a WebSocket is closed that breaks the rules: RFC 6455, 7.4.1.
POLICY_VIOLATION = 1008


def build_headers(port: int) -> dict[str, str]:
    """Build the headers of every page: no content from other sites, no evaluated text, no caching, no foreign frame."""
    sockets = " ".join(f"ws://{name}:{port}" for name in NAMES)
    policy = {
        "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:",
        "font-src": "'self'", "connect-src": f"'self' {sockets}", "base-uri": "'none'", "form-action": "'none'",
        "frame-ancestors": "'none'",
    }  # fmt: skip
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    }  # fmt: skip


def explain_refusal(kind: str, headers: Mapping[str, list[str]], port: int) -> str:
    """Explain why a request may not be answered; "" if it may."""
    hosts = [f"{name}:{port}" for name in NAMES] + (list(NAMES) if port == 80 else [])
    host, origin = headers.get("host", []), headers.get("origin", [])
    if len(host) != 1 or host[0].lower() not in hosts:
        return f"this server answers to the host {hosts[0]} only"
    own = [f"http://{name}" for name in hosts]
    if (origin or kind == "websocket") and (len(origin) != 1 or origin[0].lower() not in own):
        return "this server answers its own page only"
    return ""


def guard_app(app: App, port: int) -> App:
    """Wrap an ASGI application: refuse foreign requests, and add the headers to responses."""
    from starlette.datastructures import Headers
    from starlette.responses import PlainTextResponse
    from starlette.websockets import WebSocketClose

    own = [(name.lower().encode(), value.encode()) for name, value in build_headers(port).items()]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        kind, chosen, why = scope["type"], app, ""
        if kind in ("http", "websocket"):
            given = Headers(scope=scope)
            why = explain_refusal(kind, {name: given.getlist(name) for name in given}, port)
        if why:
            chosen = (
                WebSocketClose(POLICY_VIOLATION, why) if kind == "websocket" else PlainTextResponse(f"{why}\n", 403)
            )
        await chosen(scope, receive, send_with_headers)

    return answer
