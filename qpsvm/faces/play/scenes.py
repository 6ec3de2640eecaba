"""Ready-made scenes: samples that show one idea each, with three things to try. They are part of the page."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.resources import files

from qpsvm.faces.play.request import State, read_state


@dataclass(frozen=True, eq=False)
class Scene:
    """A state with what to try in it.

    tries: Three lines.
    """

    title: str
    tries: tuple[str, str, str]
    state: State = field(repr=False)


_TEXT = files("qpsvm.faces.play").joinpath("page", "scenes.json").read_text(encoding="utf-8")
SCENES: dict[str, Scene] = {
    name: Scene(each["title"], tuple(each["tries"]), read_state(each["state"]))
    for name, each in json.loads(_TEXT).items()
}
