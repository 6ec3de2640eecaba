"""Serve the page on this computer only: three files and a WebSocket (`serve`).

Solves run in threads, so that messages are read meanwhile. Of the solves that wait on a connection, only the newest is
answered.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from qpsvm.base.errors import MissingExtraError, ParameterError, describe_install
from qpsvm.faces.play.answers import reply
from qpsvm.faces.play.checks import RequestError
from qpsvm.faces.play.kernel_catalogue import KERNELS
from qpsvm.faces.play.machine_catalogue import MACHINES
from qpsvm.faces.play.origin_check import App, guard_app
from qpsvm.faces.play.protocol import MAX_CHARACTERS, MessageQueue, answer_message, build_refusal, parse_message
from qpsvm.faces.play.start import Start, choose_default_start

if TYPE_CHECKING:
    import uvicorn
    from starlette.websockets import WebSocket


HOST = "127.0.0.1"
PORT = 8765
#: The files of the page and their types, by address.
PAGE_FILES = {
    "/": ("index.html", "text/html"),
    "/index.html": ("index.html", "text/html"),
    "/play.mjs": ("play.mjs", "text/javascript"),
    "/play.css": ("play.css", "text/css"),
}
#: Number of concurrent solves, over all connections.
WORKERS = 4
#: Bytes of a message above which the connection is closed without an answer; a character has at most four.
MAX_FRAME_BYTES = 4 * MAX_CHARACTERS
#: Seconds that open connections get to close when the server ends.
SHUTDOWN_SECONDS = 1


def build_application(start: Start, port: int) -> App:
    """Build the ASGI application: the page at "/", its files beside it, messages at "/ws". Raises MissingExtraError."""
    try:
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Route, WebSocketRoute
    except ImportError as error:
        raise _build_missing_error("starlette") from error
    workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="qpsvm-play")

    async def answer_connection(connection: WebSocket) -> None:
        await answer_messages(connection, start, workers)

    page = files("qpsvm.faces.play").joinpath("page")
    responses = {
        path: Response(page.joinpath(name).read_bytes(), media_type=kind) for path, (name, kind) in PAGE_FILES.items()
    }
    responses["/favicon.ico"] = Response(status_code=204)  # browsers request it, but there is none
    routes = [Route(path, response, methods=["GET"]) for path, response in responses.items()]
    app = Starlette(routes=[*routes, WebSocketRoute("/ws", answer_connection)])
    app.router.redirect_slashes = False  # a wrong address is an error 404
    return guard_app(app, port)


async def answer_messages(connection: WebSocket, start: Start, workers: ThreadPoolExecutor) -> None:
    """Receive and answer the messages of one page until it disconnects."""
    await connection.accept()
    waiting = MessageQueue()
    arrived = asyncio.Event()
    answering = asyncio.create_task(_answer_queue(connection, start, workers, waiting, arrived))
    try:
        while True:
            frame = await connection.receive()
            if frame["type"] == "websocket.disconnect":
                break
            refusal = _enqueue(waiting, frame.get("text"))
            arrived.set()
            if refusal and not await _send(connection, refusal):
                break
    finally:
        answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering


def _enqueue(waiting: MessageQueue, text: str | None) -> str:
    """Queue a message; return the answer if it is refused, else ""."""
    try:
        message = parse_message(text)
    except RequestError as error:
        return build_refusal(error)
    if waiting.add(message):
        return ""
    return build_refusal(RequestError("too many requests wait: ask again when some are answered"), message)


async def _answer_queue(
    connection: WebSocket, start: Start, workers: ThreadPoolExecutor, waiting: MessageQueue, arrived: asyncio.Event
) -> None:
    """Answer the queued messages one after the other, in a thread."""
    loop = asyncio.get_running_loop()
    while True:
        while waiting:
            text = await loop.run_in_executor(workers, answer_message, waiting.pop_oldest(), start)
            if not await _send(connection, text):
                return
        arrived.clear()
        await arrived.wait()


async def _send(connection: WebSocket, text: str) -> bool:
    """Send a message; return False if the page has disconnected."""
    from starlette.websockets import WebSocketDisconnect

    try:
        await connection.send_text(text)
    except (WebSocketDisconnect, RuntimeError):  # RuntimeError if the connection is closed already
        return False
    return True


def open_socket(port: int) -> socket.socket:
    """Open a listening socket on this computer only. Raises ParameterError."""
    if not 0 <= port <= 65535:
        raise ParameterError(f"--port must be a number from 0 to 65535, got {port}")
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # reuse the port of a server that has ended; elsewhere this would share a used port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((HOST, port))
        bound.listen()
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            why = "is in use"
        else:
            why = f"cannot be used: {error.strerror or error}"
        raise ParameterError(f"port {port} {why}; choose another with --port, or a free one with --port 0") from None
    return bound


def warm_up(start: Start) -> None:
    """Answer typical requests of a page in advance, so that everything is imported."""
    state = start.state.to_json()
    reply({"id": 0, "ask": "catalogue"}, start)
    reply({"id": 0, "ask": "steps", "state": state})
    small = {"points": [[0, 0], [1, 1], [0, 1], [1, 2]], "labels": [-1, 1, -1, 1]}
    for machine in MACHINES:
        for kernel in KERNELS:
            reply({"id": 0, "ask": "solve", "state": {**small, "machine": machine, "kernel": {"name": kernel}}})


def build_server(start: Start, bound: socket.socket) -> uvicorn.Server:
    """Build the server of a page; `run(sockets=[bound])` serves on a listening socket. Raises MissingExtraError."""
    try:
        import uvicorn
        import websockets  # noqa: F401  (the WebSocket implementation of uvicorn)
    except ImportError as error:
        raise _build_missing_error(error.name or "uvicorn") from error
    app: Any = build_application(start, bound.getsockname()[1])
    config = uvicorn.Config(
        app, log_level="warning", ws_max_size=MAX_FRAME_BYTES, ws_per_message_deflate=False, server_header=False,
        proxy_headers=False, lifespan="off", timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )  # fmt: skip
    return uvicorn.Server(config)


def open_browser(address: str) -> None:
    """Open the page in a browser, or print that there is none."""
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
        with suppress(KeyboardInterrupt):  # the usual way to end a server
            server.run(sockets=[bound])
    print("qpsvm play: ended", flush=True)


def _build_missing_error(package: str) -> MissingExtraError:
    return MissingExtraError(
        f"the page needs the package {package!r}, which is not installed; run: {describe_install('play')}"
    )
