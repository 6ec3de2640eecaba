"""The key of a derivation: what its letters are called in equations and in code, what they mean, and their shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from qpsvm.derivation.expressions import Equation
from qpsvm.derivation.step import Step
from qpsvm.derivation.terms import plain
from qpsvm.machines import JointProblem, Problem

#: By name in code: LaTeX, meaning, and shape: n samples, d features, m rows of the dual, p rows of a user's, k classes.
KEY: dict[str, tuple[str, str, str]] = {
    "X": ("X", "samples that take part", "n, d"),
    "y": ("y", "classes as −1 and +1", "n"),
    "t": ("t", "numbers to be learnt", "n"),
    "phi": (r"\varphi", "features of a sample: of a linear kernel the sample itself", ""),
    "K": ("K", "kernel values, K_ij = ⟨φ(x_i), φ(x_j)⟩", "n, n"),
    "Q": ("Q", "kernel values with the signs of both rows", "m, m"),
    "A": ("A", "coefficients of samples in rows", "m, n"),
    "f": ("f", "decision function", ""),
    "w": ("w", "weights", "d"),
    "c": ("c", "centre of the ball", "d"),
    "b": ("b", "intercept", ""),
    "mu": (r"\mu", "½(R² − ‖c‖²), which stands for R²", ""),
    "R": ("R", "radius of the ball", ""),
    "rho": (r"\rho", "level of the margin, or of the plane", ""),
    "epsilon": (r"\varepsilon", "half width of the tube", ""),
    "xi": (r"\xi", "slacks", "m"),
    "xi_star": (r"\xi^*", "slacks below f", "n"),
    "zeta": (r"\zeta", "the part of the slacks whose price is linear", "m"),
    "alpha": (r"\alpha", "multipliers of the margin: the dual's variables", "m"),
    "alpha_above": (r"\alpha^+", "multipliers above f", "n"),
    "alpha_below": (r"\alpha^-", "multipliers below f", "n"),
    "eta": (r"\eta", "multipliers of ξ ≥ 0", "m"),
    "eta_star": (r"\eta^*", "multipliers of ξ* ≥ 0", "n"),
    "beta": (r"\beta", "coefficients of the samples in f", "n"),
    "u": ("u", "f without its intercept, from α", "n"),
    "w_of_alpha": (r"w(\alpha)", "the weights that α gives", "d"),
    "C": ("C", "prices of a unit of slack", "m"),
    "U": ("U", "upper bounds of α", "m"),
    "p": ("p", "shares of the loss", "n"),
    "a": ("a", "shares of the weight, upper bounds of α", "n"),
    "s": ("s", "weights of the samples, upper bounds of α", "n"),
    "lam": (r"\lambda", "price of the norm", ""),
    "nu": (r"\nu", "share of the samples", ""),
    "tau": (r"\tau", "quantile", ""),
    "h": ("h", "width of the curved part of the loss", ""),
    "D": ("D", "what the curved loss adds to the diagonal", "m, m"),
    "kappa": (r"\kappa", "K(x, x), the same for all samples", ""),
    "sign": ("s_k", "signs of the rows", "m"),
    "level": (r"\ell", "levels of the rows", "m"),
    "delta": (r"\delta", "curvature of the loss", "m"),
    "G": ("G", "the user's rows over w", "p, d"),
    "c_rows": ("c_j", "what b counts in the user's rows", "p"),
    "bound": ("h_j", "bounds of the user's rows", "p"),
    "price": (r"\lambda_j", "multipliers of the user's rows", "p"),
    "v": ("v", "difference of the weights of two classes", "d"),
}  # fmt: skip
#: Shapes that other machines have: of all classes in one program.
SEVERAL = {"w": "k, d", "w_of_alpha": "k, d", "b": "k", "beta": "n, k", "alpha": "n(k − 1)", "y": "n"}


class Symbol(NamedTuple):
    """One letter.

    latex, text, code: What it is called in equations, in sentences and in code.
    shape: In letters, such as "(n, d)"; "" of a number or a function.
    meaning: In a few words.
    """

    latex: str
    text: str
    code: str
    shape: str
    meaning: str


def symbols_of(problem: Problem | JointProblem, steps: Iterable[Step]) -> tuple[Symbol, ...]:
    """The key of the symbols that the code of some steps has, in the order of `KEY`."""
    code = "\n".join(
        step.measure.python("") for step in steps if not step.absent and isinstance(step.measure, Equation)
    )
    used, joint = set(re.findall(r"[A-Za-z_]\w*", code)), isinstance(problem, JointProblem)
    rows = "m"
    if isinstance(problem, Problem):
        svm = problem.svm if problem.svm.users is None else problem.svm.users.own
        rows = "m" if svm.mix is not None else "2n" if svm.mirrored else "n"
    found = []
    for name, (latex, meaning, letters) in KEY.items():
        if name in used:
            letters = SEVERAL.get(name, letters) if joint else letters
            one = "n" if joint or (rows == "2n" and name in ("xi", "eta", "C")) else rows  # of a sample, or above f
            shape = letters.replace("m", one)
            shape = f"({shape}{'' if ',' in shape else ','})" if shape else ""
            found.append(Symbol(latex, plain(latex), name, shape, meaning))
    return tuple(found)
