"""List the meanings of the symbols of the equations (`SYMBOLS`) that all machines share.

A machine says what its own letters are in a table `SYMBOLS` of the module with its steps. It is taken before the table
of this module, and that of linear constraints before both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Meaning(NamedTuple):
    """Meaning of a symbol.

    text: In words.
    shape: Such as "(n,)"; "" of a number.
    value: Its value at a point, where no term of the equations is this letter alone.
    """

    text: str
    shape: str = ""
    value: Callable[[Any], Any] | None = None


#: In the order in which they are shown.
SYMBOLS = {
    "x": Meaning("a sample; x_i are those trained on", "(d,)"),
    "X": Meaning("the samples, one per row", "(n, d)"),
    "y": Meaning("labels, −1 or +1", "(n,)"),
    "t": Meaning("targets", "(n,)"),
    "w": Meaning("weights, in the feature space", "(d,)", lambda at: at.w if at.is_linear else None),
    "b": Meaning("intercept"),
    "f": Meaning("decision function", "(n,)", lambda at: at.values),
    r"\varphi": Meaning("feature map of the kernel", "(d,)"),
    "K": Meaning("kernel matrix, K(x_i, x_j) = ⟨φ(x_i), φ(x_j)⟩", "(n, n)"),
    "Q": Meaning("Q_ij = y_i y_j K(x_i, x_j)", "(n, n)"),
    "u": Meaning("f without the intercept", "(n,)", lambda at: at.u),
    r"\xi": Meaning("slack", "(n,)"),
    r"\alpha": Meaning("dual variables, the multipliers of the margin constraints", "(n,)", lambda at: at.alpha),
    r"\eta": Meaning("multipliers of ξ ≥ 0", "(n,)", lambda at: at.eta),
    r"\beta": Meaning("coefficients of the samples in f", "(n,)"),
    "C": Meaning("penalty of a unit of slack", "(n,)"),
    r"\nu": Meaning("share of the samples: at most this lies outside, at least this supports"),
    r"\rho": Meaning("level of the margin"),
    r"\varepsilon": Meaning("half width of the tube"),
    "M": Meaning("samples with 0 < α_i < C_i, on the margin"),
    r"\Delta": Meaning("a small change, 1 % of what is changed"),
    "L": Meaning("Lagrangian"),
    "P": Meaning("value of the primal; P* is the least", value=lambda at: at.result.primal),
    "D": Meaning("value of the dual", value=lambda at: at.result.dual),
}
