"""The server: its page and messages over real sockets, and whom it refuses."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from typing import Any

import pytest
import websockets
import websockets.exceptions
from asking import check_answer, make_samples, make_state
from each import for_each

import qpsvm
from qpsvm.base.errors import MissingExtraError, ParameterError
from qpsvm.faces.play import server
from qpsvm.faces.play.origin_check import explain_refusal
from qpsvm.faces.play.protocol import MAX_CHARACTERS, MAX_WAITING, MessageQueue, answer_message
from qpsvm.faces.play.start import build_start, choose_default_start

#: Seconds after which a test gives up.
PATIENCE = 60


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server in a thread, which begins with a problem of its own."""
    held = make_samples(20)
    start = build_start(qpsvm.CSVM(held["points"], held["labels"], C=2.0))
    with server.open_socket(0) as bound:
        running = server.build_server(start, bound)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        yield bound.getsockname()[1]
        running.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def get(port: int, path: str = "/", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    found = response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    connection.close()
    return found


def converse(port: int, *messages: Any, count: int | None = None, **how: Any) -> list[dict[str, Any]]:
    """Send messages at once, and read so many answers, by default one each."""

    async def talk() -> list[dict[str, Any]]:
        how.setdefault("origin", f"http://127.0.0.1:{port}")
        async with websockets.connect(f"ws://127.0.0.1:{port}/ws", **how) as connection:
            for message in messages:
                await connection.send(message if isinstance(message, (str, bytes)) else json.dumps(message))
            expected = len(messages) if count is None else count
            return [json.loads(await asyncio.wait_for(connection.recv(), PATIENCE)) for _ in range(expected)]

    return asyncio.run(talk())


# --- the page ---------------------------------------------------------------------------------------------------------


@for_each(
    "path, kind, holds",
    [("/", "text/html", b"play.mjs"), ("/play.mjs", "text/javascript", b"WebSocket"), ("/play.css", "text/css", b"{")],
)
def test_the_three_files_are_served(port, path, kind, holds):
    status, headers, content = get(port, path)
    assert status == 200
    assert headers["content-type"].startswith(kind)
    assert holds in content


def test_nothing_else_is_served(port):
    for path in ("/server.py", "/..%2fserver.py", "/../server.py", "/page/play.mjs", "/ws", "/%00", "/play.mjs/"):
        status, _, content = get(port, path)
        assert status == 404, path
        assert b"import" not in content
    assert get(port, "/favicon.ico")[0] == 204


def test_the_page_may_load_nothing_from_elsewhere(port):
    for path in ("/", "/play.mjs", "/nothing"):
        _, headers, _ = get(port, path)
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


# --- whom it refuses --------------------------------------------------------------------------------------------------

STRANGERS = ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", ""]
FOREIGN = ["http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "null", "http://127.0.0.1"]


@for_each("host", STRANGERS)
def test_a_foreign_host_is_refused(port, host):
    assert get(port, "/", Host=host.format(port=port))[0] in (400, 403)
    with pytest.raises(websockets.exceptions.InvalidStatus, match=r"40[03]"):
        converse(port, {"id": 1, "ask": "catalogue"}, additional_headers={"Host": host.format(port=port)})


@for_each("origin", [*FOREIGN, None])
def test_a_foreign_page_is_refused(port, origin):
    """A websocket without an origin is no page at all."""
    if origin is not None:
        origin = origin.format(port=port)
        assert get(port, "/", Origin=origin)[0] == 403
    with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
        converse(port, {"id": 1, "ask": "catalogue"}, origin=origin)


def test_both_names_of_this_computer_are_its_own(port):
    assert get(port, "/", Host=f"localhost:{port}", Origin=f"http://localhost:{port}")[0] == 200


def test_two_hosts_are_none():
    assert explain_refusal("http", {"host": ["127.0.0.1:5", "evil.example"]}, 5)
    assert explain_refusal("http", {}, 5)
    assert not explain_refusal("http", {"host": ["127.0.0.1:5"]}, 5)
    assert not explain_refusal("http", {"host": ["127.0.0.1"]}, 80)


# --- messages ---------------------------------------------------------------------------------------------------------


def test_messages_are_answered_with_the_problem_that_it_began_with(port):
    catalogue, steps = converse(port, {"id": 1, "ask": "catalogue"}, {"id": 2, "ask": "steps", "state": make_state()})
    assert catalogue["start"]["parameters"] == {"C": 2.0, "intercept": "free"}
    assert len(catalogue["start"]["points"]) == 20
    assert steps["id"] == 2
    (answer,) = converse(port, {"id": 3, "ask": "solve", "state": catalogue["start"]})
    assert answer["status"] == "optimal"


def test_what_is_no_message_gets_a_sentence_and_the_next_one_its_answer(port):
    wrong = ["nonsense", b"\x00\x01", "[" * 100_000, "9" * 10_000, "[NaN]", " " * (MAX_CHARACTERS + 1), "{}"]
    answers = converse(port, *wrong, {"id": 9, "ask": "catalogue"})
    assert sorted(found["id"] is None for found in answers) == [False] + [True] * len(wrong)
    assert "the message has a number of too many digits" in str(answers)
    for found in answers:
        check_answer(found)
        assert ("error" in found) == (found["id"] is None)


def test_a_message_beyond_all_sizes_ends_the_connection(port):
    with pytest.raises(websockets.exceptions.ConnectionClosed):
        converse(port, "x" * (server.MAX_FRAME_BYTES + 1))
    assert converse(port, {"id": 1, "ask": "catalogue"})[0]["id"] == 1


def test_coalescing_keeps_the_newest_solve_and_everything_else():
    waiting = MessageQueue()
    for k in range(5):
        assert waiting.add({"id": k, "ask": "solve"})
        assert waiting.add({"id": 10 + k, "ask": "program"})
    taken = [waiting.pop_oldest()["id"] for _ in range(len(waiting))]
    assert taken == [10, 11, 12, 13, 4, 14]
    for k in range(MAX_WAITING):
        assert waiting.add({"id": k, "ask": "run"})
    assert not waiting.add({"id": 99, "ask": "run"})
    assert waiting.add({"id": 100, "ask": "solve"})


def test_the_loop_stays_responsive_and_drops_what_is_out_of_date(port, monkeypatch):
    """While the first solve runs, fifty more arrive, and the next answer is that of the last of them."""
    began, go_on = threading.Event(), threading.Event()
    real = server.answer_message

    def slow(message: Any, start: Any) -> str:
        if isinstance(message, dict) and message.get("id") == 0:
            began.set()
            assert go_on.wait(PATIENCE)
        return real(message, start)

    monkeypatch.setattr(server, "answer_message", slow)

    async def talk() -> list[int]:
        origin = f"http://127.0.0.1:{port}"
        async with websockets.connect(f"ws://127.0.0.1:{port}/ws", origin=origin) as connection:
            solve = {"ask": "solve", "state": make_state(), "show": []}
            await connection.send(json.dumps({"id": 0, **solve}))
            assert await asyncio.to_thread(began.wait, PATIENCE)
            for k in range(1, 51):
                await connection.send(json.dumps({"id": k, **solve}))
            await connection.send("nonsense")  # answered at once, by the loop itself
            first = json.loads(await asyncio.wait_for(connection.recv(), PATIENCE))
            go_on.set()
            rest = [json.loads(await asyncio.wait_for(connection.recv(), PATIENCE)) for _ in range(2)]
            return [found["id"] for found in (first, *rest)]

    assert asyncio.run(talk()) == [None, 0, 50]


def test_a_page_that_leaves_while_it_is_answered_leaves_no_trace(port, monkeypatch, caplog):
    began, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def slow(*_: Any) -> str:
        began.set()
        assert go_on.wait(PATIENCE)
        done.set()
        return "{}"

    monkeypatch.setattr(server, "answer_message", slow)

    async def leave() -> None:
        origin = f"http://127.0.0.1:{port}"
        async with websockets.connect(f"ws://127.0.0.1:{port}/ws", origin=origin) as connection:
            await connection.send("{}")
            await connection.send("nonsense")
            assert await asyncio.to_thread(began.wait, PATIENCE)

    asyncio.run(leave())
    go_on.set()
    assert done.wait(PATIENCE)
    monkeypatch.undo()
    assert converse(port, {"id": 1, "ask": "catalogue"})[0]["id"] == 1
    assert "Traceback" not in caplog.text


def test_two_pages_at_once(port):
    answers: dict[int, list[dict[str, Any]]] = {}

    def page(k: int) -> None:
        answers[k] = converse(port, {"id": k, "ask": "solve", "state": make_state("nu" if k else "c")})

    threads = [threading.Thread(target=page, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [answers[k][0]["title"][0] for k in range(2)] == ["C", "ν"]


def test_an_answer_that_json_cannot_hold_is_a_fault(monkeypatch):
    monkeypatch.setattr("qpsvm.faces.play.protocol.reply", lambda *_: {"id": 4, "gap": float("nan")})
    found = json.loads(answer_message({"id": 4}))
    assert found["id"] == 4
    assert found["error"]["kind"] == "Fault"


# --- its beginning and its end ----------------------------------------------------------------------------------------


def test_a_port_in_use_is_a_sentence():
    with server.open_socket(0) as bound:
        address, port = bound.getsockname()
        assert address == "127.0.0.1", "it listens on this computer only"
        with pytest.raises(ParameterError, match=f"port {port} is in use; choose another with --port"):
            server.serve(port=port, browser=False)
    with pytest.raises(ParameterError, match="from 0 to 65535"):
        server.open_socket(65536)


def test_a_missing_extra_names_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with server.open_socket(0) as bound, pytest.raises(MissingExtraError, match=r'uvicorn.*pip install "\.\[play\]"'):
        server.build_server(choose_default_start(), bound)


@for_each("opens", [True, False, webbrowser.Error])
def test_a_browser_is_opened_or_the_user_told(monkeypatch, capsys, opens):
    def browser(address: str) -> bool:
        assert address == "http://127.0.0.1:5/"
        if isinstance(opens, bool):
            return opens
        raise opens

    monkeypatch.setattr(webbrowser, "open", browser)
    server.open_browser("http://127.0.0.1:5/")
    assert ("open http://127.0.0.1:5/ in one" in capsys.readouterr().out) == (opens is not True)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="another process cannot be sent the interrupt key there")
def test_ctrl_c_ends_it_with_pages_open():
    command = [sys.executable, "-m", "qpsvm", "play", "--port", "0", "--no-browser", "--variant", "nu", "--nu", "0.3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = int(line.rsplit(":", 1)[1].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE):
            (catalogue,) = converse(port, {"id": 1, "ask": "catalogue"})
            assert catalogue["start"]["parameters"] == {"nu": 0.3}
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        assert time.monotonic() - began < PATIENCE
        assert process.returncode == 0
        assert "Traceback" not in err
        assert out.endswith("qpsvm play: ended\n")
