"""The README's picture: a boundary with its kinds of samples beside the step of the derivation that tells them apart.

python docs/pictures/front.py       # writes docs/pictures/front.png
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import make_blobs

import qpsvm
from qpsvm.result.svm_result import KIND_DESCRIPTIONS, KINDS

HERE = Path(__file__).resolve().parent
TAG = "CSVM.8"
#: The equation in the mathematics that Matplotlib can draw, a line each.
EQUATION = (r"$\alpha_i\,(y_i f(x_i) - 1 + \xi_i) = 0$", r"$(C - \alpha_i)\,\xi_i = 0$")
INK, GREY, GREEN = "#1b1f24", "#57606a", "#116329"
WORDS = dict(zip(KINDS, KIND_DESCRIPTIONS, strict=True))
HEADS = ("a sample …", "$\\alpha_i$", "$y_i f(x_i)$", "$\\xi_i$", "$\\alpha_i(\\ldots)$", "$(C-\\alpha_i)\\,\\xi_i$")
#: Where the columns end, as shares of the panel; the first begins at 0.
COLUMNS = (0.0, 0.37, 0.55, 0.68, 0.84, 1.0)


def draw_panel(ax: Axes, problem: qpsvm.CSVM, result: qpsvm.SVMResult) -> None:
    """The equation, one sample of each kind, and the residual over all."""
    derivation = qpsvm.derive(problem, result)
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.text(0, 0.95, f"({TAG})  {derivation[TAG].title}", color=INK, fontsize=13, weight="bold", va="top")
    for place, line in zip((0.79, 0.67), EQUATION, strict=True):
        ax.text(0.5, place, line, color=INK, fontsize=17, ha="center", va="center")
    draw_table(ax, result, 0.53)
    found = derivation.residuals()[TAG]
    ax.text(0, 0.13, f"at all {problem.n} samples: residual {found:.1e} ✓", color=GREEN, fontsize=12)
    said = f"{result.status}: primal {result.primal:.9g}, dual {result.dual:.9g}, gap {result.gap:.0e}"
    ax.text(0, 0.03, said, color=GREY, fontsize=10.5)


def draw_table(ax: Axes, result: qpsvm.SVMResult, top: float) -> None:
    """A sample of each kind, with both products."""
    write_row(ax, top, HEADS, GREY)
    ax.plot([0, 1], [top - 0.035] * 2, color=GREY, linewidth=0.8)
    for number, kind in enumerate(KINDS):
        i = int(np.flatnonzero(result.kkt["kind"] == kind)[0])
        row = result.kkt[i]
        products = row["alpha"] * (row["yf"] - 1 + row["xi"]), row["eta"] * row["xi"]
        numbers = [f"{row[name]:.3f}" for name in ("alpha", "yf", "xi")] + [f"{abs(each):.1g}" for each in products]
        write_row(ax, top - 0.09 * (number + 1), [WORDS[kind], *numbers], INK)


def write_row(ax: Axes, height: float, cells: list[str] | tuple[str, ...], color: str) -> None:
    """A row: words to the left, numbers to the right."""
    for place, cell in zip(COLUMNS, cells, strict=True):
        ax.text(place, height, cell, color=color, fontsize=11, va="center", ha="right" if place else "left")


def main() -> None:
    """Solve, derive and draw."""
    X, y = make_blobs(46, centers=[[-1.3, -0.9], [1.3, 0.9]], cluster_std=1.0, random_state=4)
    problem = qpsvm.CSVM(X, y, C=1)
    result = qpsvm.solve(problem, tol=1e-12)
    figure = plt.figure(figsize=(11, 5.1))
    qpsvm.plotting.boundary(problem, result, ax=figure.add_axes((0.05, 0.3, 0.4, 0.65)))
    draw_panel(figure.add_axes((0.52, 0.1, 0.465, 0.85)), problem, result)
    figure.savefig(HERE / "front.png", dpi=100)


if __name__ == "__main__":
    main()
