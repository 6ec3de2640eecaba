"""The README's picture: a boundary with its kinds of samples beside a step of the derivation.

python docs/pictures/front.py       # writes docs/pictures/front.png
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from sklearn.datasets import make_blobs

import qpsvm

HERE = Path(__file__).resolve().parent
TAG = "CSVM.5"
INK, GREY, GREEN, MARKED = "#1b1f24", "#57606a", "#116329", "#fff3bf"
#: Height of a line of code, as a share of the panel.
LINE = 0.058


def panel(ax: Axes, derivation: qpsvm.Derivation) -> None:
    """One step: equation, code and residual."""
    step = derivation[TAG]
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.text(0, 0.97, f"({step.tag})", color=GREY, fontsize=12, va="top")
    ax.text(0.19, 0.97, step.title, color=INK, fontsize=13, weight="bold", va="top")
    ax.text(0.5, 0.79, f"${step.latex}$".replace(r"\top", "T"), color=INK, fontsize=19, ha="center", va="center")
    where = derivation.problem
    ax.text(0, 0.62, f"measured on these {where.n} samples", color=GREY, fontsize=10.5)
    ax.text(1, 0.62, f"residual {derivation.residuals()[TAG]:.1e} ✓", color=GREEN, fontsize=12, ha="right")
    top = 0.53
    ax.text(0, top, step.where.replace(":", ", line "), color=GREY, fontsize=8.5, family="monospace")
    for number, line in enumerate(step.code.splitlines()):
        ax.text(0, top - LINE * (number + 1.3), line, color=INK, fontsize=9.5, family="monospace")


def main() -> None:
    """Solve, derive and draw."""
    X, y = make_blobs(46, centers=[[-1.3, -0.9], [1.3, 0.9]], cluster_std=1.0, random_state=4)
    problem = qpsvm.CSVM(X, y, C=1)
    result = qpsvm.solve(problem, tol=1e-12)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.7), width_ratios=(1, 1.05), layout="constrained")
    qpsvm.plotting.boundary(problem, result, ax=left)
    panel(right, qpsvm.derive(problem, result))
    figure.savefig(HERE / "front.png", dpi=110)


if __name__ == "__main__":
    main()
