"""The server of the page: three files and a WebSocket, on this computer only.

The work is done in threads, so that messages are read while a solve runs: of the solves that wait on a connection, the
newest is answered and the others are dropped.

Who may speak with the server: the page that it served itself, and nobody else's.

A page of a foreign site may send requests to 127.0.0.1, and a foreign name may be made to point there (DNS rebinding).
The first has another Origin, the second another Host. Both are refused before anything is looked at. What is served may
load nothing from elsewhere.

Messages as text: one JSON object comes in, one goes out; and of several that wait, the newest is answered.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import threading
import webbrowser
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from qpsvm.base.errors import MissingExtraError, ParameterError, describe_install
from qpsvm.faces.play.answers import build_failure, build_internal_error, reply
from qpsvm.faces.play.catalogue import KERNELS, MACHINES
from qpsvm.faces.play.checks import RequestError
from qpsvm.faces.play.request import read_id
from qpsvm.faces.play.start import Start, choose_default_start

if TYPE_CHECKING:
    import uvicorn
    from starlette.websockets import WebSocket

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: The names of this computer under which the page may be open.
NAMES = ("127.0.0.1", "localhost")
#: How a WebSocket is closed that breaks the rules: RFC 6455, 7.4.1.
POLICY_VIOLATION = 1008


def build_headers(port: int) -> dict[str, str]:
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
    """An ASGI application in front of another one: it lets in what may come, and adds the headers to what goes out."""
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


#: Characters that a message may have: the largest state with an α takes less than half.
MAX_MESSAGE_BYTES = 1_000_000
#: Messages that may wait besides the newest "solve".
MOST_WAITING = 32


def parse_message(text: str | None) -> Any:
    """The value that a message holds. Raises RequestError."""
    if text is None:
        raise RequestError("a message must be text, and this one is binary")
    if len(text) > MAX_MESSAGE_BYTES:
        raise RequestError(f"a message may have {MAX_MESSAGE_BYTES} characters, got {len(text)}: take fewer points")
    try:
        return json.loads(text)
    except RecursionError:
        raise RequestError("the message is nested too deep") from None
    except json.JSONDecodeError as error:
        raise RequestError(f"the message is no JSON: {error}") from None
    except ValueError:  # what is left of JSON's grammar is a number that Python does not read
        raise RequestError("the message has a number of too many digits") from None


def build_refusal(error: RequestError, message: Any = None) -> str:
    """The answer to a message that is not looked at, or could not be read."""
    return json.dumps(build_failure(read_id(message), error))


def answer_message(message: Any, start: Start | None = None) -> str:
    """The answer to a message, as text."""
    try:
        return json.dumps(reply(message, start), allow_nan=False)
    except ValueError:  # a number that is not finite, which JSON does not have
        return json.dumps(build_internal_error(read_id(message)))


@dataclass
class MessageQueue:
    """What one connection has asked and not yet been answered: of "solve", only the newest."""

    messages: deque[Any] = field(default_factory=deque)

    def add(self, message: Any) -> bool:
        """Add a message; False where too many wait."""
        if _is_solve(message):
            kept = [other for other in self.messages if not _is_solve(other)]
            self.messages = deque([*kept, message])
            return True
        if len(self.messages) >= MOST_WAITING:
            return False
        self.messages.append(message)
        return True

    def pop_oldest(self) -> Any:
        """The message that has waited longest."""
        return self.messages.popleft()

    def __len__(self) -> int:
        return len(self.messages)


def _is_solve(message: Any) -> bool:
    return isinstance(message, dict) and message.get("ask") == "solve"


HOST = "127.0.0.1"
PORT = 8765
#: The files of the page by their addresses, and their types.
PAGE_FILES = {
    "/": ("index.html", "text/html"), "/index.html": ("index.html", "text/html"),
    "/play.mjs": ("play.mjs", "text/javascript"), "/play.css": ("play.css", "text/css"),
}  # fmt: skip
#: Solves that run at a time, over all connections.
WORKERS = 4
#: Bytes of a message at which the connection is closed without an answer; a letter has four at the most.
LARGEST_FRAME = 4 * MAX_MESSAGE_BYTES
#: Seconds that open pages get to say goodbye when the server ends.
GOODBYE = 1


def build_application(start: Start, port: int) -> App:
    """The ASGI application: the page at "/", its files beside it, messages at "/ws". Raises MissingExtraError."""
    try:
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Route, WebSocketRoute
    except ImportError as error:
        raise _build_missing_error("starlette") from error
    workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="qpsvm-play")

    async def messages(connection: WebSocket) -> None:
        await converse(connection, start, workers)

    page = files("qpsvm.faces.play").joinpath("page")
    answers = {
        path: Response(page.joinpath(name).read_bytes(), media_type=kind) for path, (name, kind) in PAGE_FILES.items()
    }
    answers["/favicon.ico"] = Response(status_code=204)  # there is none, and browsers ask for it all the same
    routes = [Route(path, answer, methods=["GET"]) for path, answer in answers.items()]
    app = Starlette(routes=[*routes, WebSocketRoute("/ws", messages)])
    app.router.redirect_slashes = False  # what is not there is not there
    return guard_app(app, port)


async def converse(connection: WebSocket, start: Start, workers: ThreadPoolExecutor) -> None:
    """Answer the messages of one page until it leaves."""
    await connection.accept()
    waiting, arrived = MessageQueue(), asyncio.Event()
    answering = asyncio.create_task(_answer_all(connection, start, workers, waiting, arrived))
    try:
        while True:
            frame = await connection.receive()
            if frame["type"] == "websocket.disconnect":
                break
            refused = _enqueue(waiting, frame.get("text"))
            arrived.set()
            if refused and not await _send(connection, refused):
                break
    finally:
        answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering


def _enqueue(waiting: MessageQueue, text: str | None) -> str:
    """Let a message wait for its answer; what to answer at once where it may not, else ""."""
    try:
        message = parse_message(text)
    except RequestError as error:
        return build_refusal(error)
    if waiting.add(message):
        return ""
    return build_refusal(RequestError("too many requests wait: ask again when some are answered"), message)


async def _answer_all(
    connection: WebSocket, start: Start, workers: ThreadPoolExecutor, waiting: MessageQueue, arrived: asyncio.Event
) -> None:
    """Answer what waits, one message after the other, in a thread."""
    loop = asyncio.get_running_loop()
    while True:
        while waiting:
            text = await loop.run_in_executor(workers, answer_message, waiting.pop_oldest(), start)
            if not await _send(connection, text):
                return
        arrived.clear()
        await arrived.wait()


async def _send(connection: WebSocket, text: str) -> bool:
    """Send a message; False where the page has left meanwhile."""
    from starlette.websockets import WebSocketDisconnect

    try:
        await connection.send_text(text)
    except (WebSocketDisconnect, RuntimeError):  # the second one where the connection is closed already
        return False
    return True


def open_socket(port: int) -> socket.socket:
    """A socket on this computer only, which takes connections already. Raises ParameterError."""
    if not 0 <= port <= 65535:
        raise ParameterError(f"--port must be a number from 0 to 65535, got {port}")
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # so that a port is free as soon as its server has ended; elsewhere it would be shared
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((HOST, port))
        bound.listen()
    except OSError as error:
        bound.close()
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror or error}"
        raise ParameterError(f"port {port} {why}; choose another with --port, or a free one with --port 0") from None
    return bound


def warm_up(start: Start) -> None:
    """Answer once what a page will ask first, so that everything is imported when it does."""
    state = start.state.to_json()
    reply({"id": 0, "ask": "catalogue"}, start)
    reply({"id": 0, "ask": "steps", "state": state})
    small = {"points": [[0, 0], [1, 1], [0, 1], [1, 2]], "labels": [-1, 1, -1, 1]}
    for machine in MACHINES:
        for kernel in KERNELS:
            reply({"id": 0, "ask": "solve", "state": {**small, "machine": machine, "kernel": {"name": kernel}}})


def build_server(start: Start, bound: socket.socket) -> uvicorn.Server:
    """The server of a page, over a socket that takes connections already: `run(sockets=[bound])` serves."""
    try:
        import uvicorn
        import websockets  # noqa: F401  (what uvicorn speaks WebSocket with)
    except ImportError as error:
        raise _build_missing_error(error.name or "uvicorn") from error
    app: Any = build_application(start, bound.getsockname()[1])
    config = uvicorn.Config(
        app, log_level="warning", ws_max_size=LARGEST_FRAME, ws_per_message_deflate=False, server_header=False,
        proxy_headers=False, lifespan="off", timeout_graceful_shutdown=GOODBYE,
    )  # fmt: skip
    return uvicorn.Server(config)


def open_browser(address: str) -> None:
    """Show the page, or say that nothing here can."""
    with suppress(webbrowser.Error):
        if webbrowser.open(address):
            return
    print(f"qpsvm play: no browser could be opened; open {address} in one", flush=True)


def serve(start: Start | None = None, port: int = PORT, browser: bool = True) -> None:
    """Serve the page until Ctrl-C. Raises MissingExtraError, ParameterError."""
    start = start or choose_default_start()
    with open_socket(port) as bound:
        server = build_server(start, bound)
        warm_up(start)
        address = f"http://{HOST}:{bound.getsockname()[1]}/"
        print(f"qpsvm play: {address}   (Ctrl-C ends it)", flush=True)
        if browser:
            threading.Thread(target=open_browser, args=(address,), daemon=True).start()
        with suppress(KeyboardInterrupt):  # how a server ends
            server.run(sockets=[bound])
    print("qpsvm play: ended", flush=True)


def _build_missing_error(package: str) -> MissingExtraError:
    return MissingExtraError(
        f"the page needs the package {package!r}, which is not installed; run: {describe_install('play')}"
    )
