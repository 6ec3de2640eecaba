"""Who may speak with the server: the page that it served itself, and nobody else's.

A page of a foreign site may send requests to 127.0.0.1, and a foreign name may be made to point there (DNS rebinding).
The first has another Origin, the second another Host. Both are refused before anything is looked at. What is served may
load nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: The names of this computer under which the page may be open.
NAMES = ("127.0.0.1", "localhost")
#: How a WebSocket is closed that breaks the rules: RFC 6455, 7.4.1.
POLICY_VIOLATION = 1008


def headers(port: int) -> dict[str, str]:
    """The headers of every page: nothing from elsewhere, no text that is evaluated, nothing kept, no foreign frame."""
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


def refuse(kind: str, headers: Mapping[str, list[str]], port: int) -> str:
    """Why a request may not be answered, in words; "" where it may."""
    hosts = [f"{name}:{port}" for name in NAMES] + (list(NAMES) if port == 80 else [])
    host, origin = headers.get("host", []), headers.get("origin", [])
    if len(host) != 1 or host[0].lower() not in hosts:
        return f"this server answers to the host {hosts[0]} only"
    own = [f"http://{name}" for name in hosts]
    if (origin or kind == "websocket") and (len(origin) != 1 or origin[0].lower() not in own):
        return "this server answers its own page only"
    return ""


class Guard:
    """An ASGI application in front of another one: it lets in what may come, and adds the headers to what goes out."""

    def __init__(self, app: App, port: int) -> None:
        self.app = app
        self.port = port
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers(port).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or hand on."""
        kind = scope["type"]
        if kind not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        found: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        why = refuse(kind, found, self.port)

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *self._headers]}
            await send(message)

        if not why:
            await self.app(scope, receive, send_with_headers)
        elif kind == "websocket":
            await receive()  # the handshake, which is then refused
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": why})
        else:
            kind_of_text = [(b"content-type", b"text/plain; charset=utf-8")]
            await send_with_headers({"type": "http.response.start", "status": 403, "headers": kind_of_text})
            await send({"type": "http.response.body", "body": f"{why}\n".encode()})
