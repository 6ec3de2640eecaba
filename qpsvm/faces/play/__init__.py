"""Provide a page on which samples are dragged and the problem is solved again: its answers, server and widget.

>>> import qpsvm.play
>>> state = {"points": [[0, 0], [2, 2]], "labels": [-1, 1], "machine": "hard"}
>>> answer = qpsvm.play.reply({"id": 1, "ask": "solve", "state": state})
>>> print(answer["status"], [round(w, 6) for w in answer["w"]], round(answer["b"], 6))
optimal [0.5, 0.5] -1.0

`reply` is a pure function from a request of the page to its answer, which contains every number that the page shows.
`request` checks requests, `catalogue` lists the choices, `answers` builds the answers, and `explanations` their
sentences. `server` carries messages over a WebSocket, `widget` in a notebook.
"""

from qpsvm.faces.play.answers import reply
from qpsvm.faces.play.start import Start

__all__ = ["Start", "reply"]
