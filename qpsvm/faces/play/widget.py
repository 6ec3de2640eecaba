"""Show the page as a widget for Jupyter and marimo.

>>> import qpsvm
>>> playground = qpsvm.Playground(qpsvm.HardMargin([[0.0, 0.0], [2.0, 2.0]], [0, 1]))
>>> playground.state = {**playground.state, "points": [[0, 0], [4, 4]]}  # as a user drags a point on the page
>>> print(playground.problem.title, playground.result.w.round(6))
hard margin, kernel Linear() [0.25 0.25]
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from qpsvm.base.errors import MissingExtraError, describe_install
from qpsvm.faces.play.answers import reply
from qpsvm.faces.play.request import read_state
from qpsvm.faces.play.start import build_start, choose_default_start
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: The package that is not installed, if one is not: the class is there all the same, for `help` and for `getattr`.
_missing_package: str | None = None
try:
    import anywidget
    import traitlets
except ImportError as error:
    _missing_package = error.name or "anywidget"

if TYPE_CHECKING or _missing_package is None:
    Widget = anywidget.AnyWidget
    state_of_page, checks_state = traitlets.Dict().tag(sync=True), traitlets.validate("state")
else:
    Widget, state_of_page, checks_state = object, {}, staticmethod


class Playground(Widget):
    """A page in a notebook on which samples are dragged, with the solution and its certificate.

    Parameters
    ----------
    problem : Problem, optional
        The initial problem: any machine except `Ranking`, with at most 1000 rows. By default two clouds of samples.

    Attributes
    ----------
    state : dict
        The settings of the user: points, labels, axes, machine, parameters, kernel. It is updated by the page; an
        assigned state is checked and updates the page.

    Raises
    ------
    MissingExtraError
        The packages of the extra `play` are not installed.
    ParameterTypeError
        `problem` is not a problem.
    UnsupportedError
        The page does not support the machine, kernel or setting, or so many rows.

    Examples
    --------
    In a notebook, as the last line of a cell:

    >>> import qpsvm
    >>> playground = qpsvm.Playground(qpsvm.CSVM([[0.0, 0.0], [2.0, 2.0]], [0, 1], C=10))
    >>> playground.state["machine"], playground.state["parameters"]
    ('c', {'C': 10.0, 'intercept': 'free'})
    """

    _esm = files("qpsvm.faces.play").joinpath("page", "play.mjs").read_text(encoding="utf-8")
    _css = files("qpsvm.faces.play").joinpath("page", "play.css").read_text(encoding="utf-8")
    state = state_of_page

    def __init__(self, problem: Problem | None = None) -> None:
        if _missing_package is not None:
            raise MissingExtraError(
                f"qpsvm.Playground needs the package {_missing_package!r}, which is not installed; run: "
                f"{describe_install('play')}"
            )
        if problem is None:
            self._start = choose_default_start()
        else:
            self._start = build_start(problem)
        named = None if problem is None else problem.samples.classes
        self._labels = (-1, 1) if named is None else named
        super().__init__(state=self._start.state.to_json())
        self.on_msg(self._answer_message)

    @checks_state
    def _validate_state(self, proposal: Mapping[str, Any]) -> dict[str, Any]:
        """Complete a state by the defaults of missing parts."""
        return read_state(proposal["value"]).to_json()

    @property
    def problem(self) -> Problem:
        """The problem that the page shows now, with the labels of the initial problem.

        Raises
        ------
        QPSVMError
            There is no problem: a class has no sample, or ν is too large.
        """
        return read_state(self.state).build_problem(self._labels)

    @property
    def result(self) -> SVMResult:
        """Its result by `qpsvm.solve`, with the same errors."""
        return solve(self.problem)

    def _answer_message(self, widget: object, message: Any, buffers: object) -> None:
        """Answer a message of the page."""
        del widget, buffers
        self.send(reply(message, self._start))
