"""Draw problems and their results with Matplotlib (extra `plot`).

Every function has a parameter `ax` and returns the axes. None shows or saves a figure, or changes a global setting. The
pictures are readable in grey and without colour vision: classes differ in shape and hue, kinds of samples in outline
(pale, black, orange), lines in style. Legends are below the axes. In your own figure, `layout="constrained"` makes
space for them; in a small one, pass `legend=False`.

>>> import qpsvm
>>> problem = qpsvm.CSVM([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 3.0]], [0, 0, 1, 1])
>>> ax = qpsvm.plotting.boundary(problem, qpsvm.solve(problem), resolution=20)
>>> ax.figure.savefig("boundary.png")
"""

from qpsvm.faces.plotting.boundary import boundary, decisions, novelty
from qpsvm.faces.plotting.hulls import hulls
from qpsvm.faces.plotting.importance import importance
from qpsvm.faces.plotting.influential import influence
from qpsvm.faces.plotting.multipliers import complementarity, multipliers
from qpsvm.faces.plotting.optimality import duality, gap
from qpsvm.faces.plotting.over_intervals import exact_path, validation
from qpsvm.faces.plotting.over_parameters import path, scores
from qpsvm.faces.plotting.predicted_classes import confusion, regions
from qpsvm.faces.plotting.tube import quantiles, tube

__all__ = [
    "boundary", "complementarity", "confusion", "decisions", "duality", "exact_path", "gap", "hulls", "importance",
    "influence", "multipliers", "novelty", "path", "quantiles", "regions", "scores", "tube", "validation",
]  # fmt: skip
