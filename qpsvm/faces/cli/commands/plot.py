"""`--plot`: the picture that suits a result, in a file."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qpsvm.base.errors import MissingExtraError, ParameterError, UnknownOptionError, UnsupportedError, install, nearest
from qpsvm.base.writing import replacing
from qpsvm.faces import plotting
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.machines import Problem, Ranking
from qpsvm.result.svm_result import SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What a picture's name may end in.
ENDINGS = (".png", ".svg", ".pdf")
#: Dots an inch of a PNG file.
SHARPNESS = 150


def require_picture(path: str | None) -> None:
    """Refuse a picture that cannot be drawn or written, before anything else is done."""
    if path is None:
        return
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        what = f"ends in {ending}" if ending else "has no ending"
        raise ParameterError(f"--plot {path}: the name {what}; a picture is {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    require_writable(path)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"--plot needs Matplotlib, which is not installed; run: {install('plot')}") from error


def picture_of(problem: Problem, names: Sequence[str], axes: Sequence[str] | None) -> Callable[[SVMResult], Axes]:
    """What draws a result of this problem: the plane of two features, or what there is of more."""
    d = problem.X.shape[1]
    if isinstance(problem, Ranking):
        raise UnsupportedError(
            "there is no picture of a ranking, whose samples are pairs of rows: leave --plot out, or draw the scores "
            "that `predict --output` writes"
        )
    if problem.shown_target is not None:
        if axes is not None:
            raise ParameterError("--axes shows a plane of two features, and a regression is drawn over one feature, or "
                                 "over its predictions: leave --axes out")  # fmt: skip
        return lambda result: plotting.tube(problem, result, names=names)
    if axes is not None or d <= 2:
        features = None if axes is None else _columns(names, axes)
        return lambda result: plotting.boundary(problem, result, features=features, names=names)
    return lambda result: plotting.decisions(problem, result)


def _columns(names: Sequence[str], axes: Sequence[str]) -> tuple[int, ...]:
    for axis in axes:
        if axis not in names:
            raise UnknownOptionError(f"no feature {axis!r} for --axes; {nearest(axis, names)}")
    if len(set(axes)) < len(axes):
        raise ParameterError(f"--axes names {axes[0]} twice; a plane has two features")
    return tuple(list(names).index(axis) for axis in axes)


def write_picture(ax: Axes, path: str) -> None:
    """Write the figure of some axes: whole, or not at all. Raises FileAccessError."""
    from matplotlib import pyplot

    content = io.BytesIO()
    figure = ax.get_figure(root=True)
    assert figure is not None
    # "tight": beside a long legend, constrained layout may leave a title of two lines no room
    figure.savefig(content, format=Path(path).suffix[1:].lower(), dpi=SHARPNESS, bbox_inches="tight")
    pyplot.close(figure)
    with replacing(path) as file:
        file.write(content.getvalue())
