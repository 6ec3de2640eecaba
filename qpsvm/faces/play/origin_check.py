"""Refuse requests that do not come from the page that the server itself served (`guard_app`).

A page of another site may send requests to 127.0.0.1, or have its own name resolve to it (DNS rebinding). The first has
another Origin, the second another Host. Both are refused before anything is read. The headers of each response forbid
the page to load anything from other sites.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
#: The names of this computer in the address of the page.
HOST_NAMES = ("127.0.0.1", "localhost")
#: Status code of a WebSocket that is closed because it breaks the rules: RFC 6455, 7.4.1.
POLICY_VIOLATION = 1008


def guard_app(app: App, port: int) -> App:
    """Wrap an ASGI application: refuse foreign requests, and add the headers to responses."""
    from starlette.datastructures import Headers
    from starlette.responses import PlainTextResponse
    from starlette.websockets import WebSocketClose

    added_headers = [(name.lower().encode(), value.encode()) for name, value in build_headers(port).items()]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *added_headers]}
            await send(message)

        kind = scope["type"]
        responder = app
        refusal = ""
        if kind in ("http", "websocket"):
            headers = Headers(scope=scope)
            refusal = explain_refusal(kind, {name: headers.getlist(name) for name in headers}, port)
        if refusal:
            is_page = kind == "http"
            if is_page:
                responder = PlainTextResponse(f"{refusal}\n", 403)
            else:
                responder = WebSocketClose(POLICY_VIOLATION, refusal)
        await responder(scope, receive, send_with_headers)

    return answer


def build_headers(port: int) -> dict[str, str]:
    """Build the headers of every response: no content from other sites, no `eval`, no caching, no foreign frame."""
    sockets = " ".join(f"ws://{name}:{port}" for name in HOST_NAMES)
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
    """Explain why a request may not be answered; "" if it may.

    kind: "http" or "websocket".
    headers: All values of each header, by its name in lower case.
    """
    hosts = [f"{name}:{port}" for name in HOST_NAMES] + (list(HOST_NAMES) if port == 80 else [])
    host, origin = headers.get("host", []), headers.get("origin", [])
    if len(host) != 1 or host[0].lower() not in hosts:
        return f"this server answers to the host {hosts[0]} only"
    origins = [f"http://{name}" for name in hosts]
    if (origin or kind == "websocket") and (len(origin) != 1 or origin[0].lower() not in origins):
        return "this server answers its own page only"
    return ""
