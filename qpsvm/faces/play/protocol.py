"""Parse, queue and answer the messages of the page, one JSON object each."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from qpsvm.faces.play.answers import build_failure, build_internal_error, reply
from qpsvm.faces.play.checks import RequestError
from qpsvm.faces.play.request import read_id
from qpsvm.faces.play.start import Start

#: Maximum number of characters of a message: the largest state with an α has less than half of them.
MAX_CHARACTERS = 1_000_000
#: Maximum number of messages that wait, without the newest "solve".
MAX_WAITING = 32


def parse_message(text: str | None) -> Any:
    """Parse the JSON of a message; `text` is None for a binary message. Raises RequestError."""
    if text is None:
        raise RequestError("a message must be text, and this one is binary")
    if len(text) > MAX_CHARACTERS:
        raise RequestError(f"a message may have {MAX_CHARACTERS} characters, got {len(text)}: take fewer points")
    try:
        return json.loads(text)
    except RecursionError:
        raise RequestError("the message is nested too deep") from None
    except json.JSONDecodeError as error:
        raise RequestError(f"the message is not valid JSON: {error}") from None
    except ValueError:  # valid JSON, but an integer with more digits than Python converts
        raise RequestError("the message has a number of too many digits") from None


def build_refusal(error: RequestError, message: Any = None) -> str:
    """Build the answer to a message that is refused: the queue is full, or the message cannot be parsed."""
    return json.dumps(build_failure(read_id(message), error))


def answer_message(message: Any, start: Start | None = None) -> str:
    """Answer a message, as text."""
    try:
        return json.dumps(reply(message, start), allow_nan=False)
    except ValueError:  # the reply has a number that is not finite, which JSON does not have
        return json.dumps(build_internal_error(read_id(message)))


@dataclass
class MessageQueue:
    """The unanswered messages of one connection, oldest first. Only the newest "solve" is kept."""

    messages: deque[Any] = field(default_factory=deque)

    def add(self, message: Any) -> bool:
        """Add a message at the end; return False if too many are waiting.

        A "solve" is never refused, because it replaces the one that is waiting.
        """
        if _is_solve(message):
            kept = [other for other in self.messages if not _is_solve(other)]
            self.messages = deque([*kept, message])
            return True
        if len(self.messages) >= MAX_WAITING:
            return False
        self.messages.append(message)
        return True

    def pop_oldest(self) -> Any:
        """Remove and return the message that has waited longest."""
        return self.messages.popleft()

    def __len__(self) -> int:
        return len(self.messages)


def _is_solve(message: Any) -> bool:
    return isinstance(message, dict) and message.get("ask") == "solve"
