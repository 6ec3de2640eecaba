"""A page on which samples are dragged and the mathematics follows: its answers, its server, its widget.

>>> import qpsvm.play
>>> state = {"points": [[0, 0], [2, 2]], "labels": [-1, 1], "machine": "hard"}
>>> answer = qpsvm.play.reply({"id": 1, "ask": "solve", "state": state})
>>> print(answer["status"], [round(w, 6) for w in answer["w"]], round(answer["b"], 6))
optimal [0.5, 0.5] -1.0

`reply` is a pure function from what the page asks to what it shows, and everything numeric on the page comes from it.
`request` checks what comes in; `catalogue` says what there is to choose; `answers` are made of `parts`, and
`explanations` are their sentences. `server` carries messages over a WebSocket, `widget` in a notebook.
"""

from qpsvm.faces.play.answers import reply
from qpsvm.faces.play.start import Start

__all__ = ["Start", "reply"]
