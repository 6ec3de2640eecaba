"""Write letters as LaTeX, text and Python names (`letter`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from qpsvm.derivation.terms import ATOM, Term

#: What stands in a sentence for LaTeX.
PLAIN = (
    (r"\\([bB]ig[lr]|[,{}]|quad|text)|[{}]", ""), (r"\^\\top", "ᵀ"), (r"\\\|", "‖"), (r"\\langle ?", "⟨"),
    (r"\\rangle", "⟩"), (r"\^2", "²"), (r"\^\+", "⁺"), (r"\^-", "⁻"), (r"\^\*", "*"), (r"\\pm", "±"),
    (r"\\sum_?", "Σ_"), (r",", ", "), (r"(?<=.)([-+])", r" \1 "), ("-", "−"), (r" ?\\le ?", " ≤ "),
    (r" ?\\ge ?", " ≥ "), (r"\\max", "max"), ("  +", " ")
)  # fmt: skip
GREEK: dict[str, str] = dict(zip(
    re.findall(r"\w+", "alpha beta zeta eta xi rho mu nu lambda pi kappa Delta delta tau varepsilon varphi psi "
               "Sigma ell"), "αβζηξρμνλπκΔδτεφψΣℓ", strict=True,
))  # fmt: skip


def latex_to_text(latex: str) -> str:
    """Convert LaTeX of a few letters to text."""
    for pattern, instead in PLAIN:
        latex = re.sub(pattern, instead, latex)
    return re.sub(r"\\([a-zA-Z]+)", lambda found: GREEK.get(found[1], found[1]), latex)


def to_identifier(latex: str) -> str:
    """Convert a letter to a name in Python."""
    stem, *marks = re.sub(r"_(\{\w+\}|\w)", "", latex.replace("\\", "").replace("var", "")).split("^")
    return "_".join([stem, *({"+": "above", "-": "below", "*": "star"}.get(mark, mark) for mark in marks)])


def letter(
    latex: str, value: Callable[[Any], Any] | str = "", python: str = "", text: str = "", rank: int = ATOM
) -> Term:
    """Build a letter, whose value is an attribute of the point or is computed from it; its name by default."""
    python = python or to_identifier(latex)
    name = value or python
    find = (lambda at: getattr(at, name)) if isinstance(name, str) else name
    return Term((latex, text or latex_to_text(latex), python), find, rank=rank)
