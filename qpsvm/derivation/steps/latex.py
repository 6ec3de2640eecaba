"""LaTeX of equations below each other, of cases, of sums; and steps, which get their tags by their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from qpsvm.derivation.step import Measure, Step


def lines(*equations: str) -> str:
    """LaTeX of equations below each other."""
    return r"\begin{align*}" + r"\\ ".join(f"&{equation}" for equation in equations) + r"\end{align*}"


def cases(*rows: tuple[str, str]) -> str:
    """LaTeX of what follows from what, case by case."""
    said = r"\\ ".join(rf"{given} &\;\Rightarrow\; {then}" for given, then in rows)
    return rf"\begin{{align*}}{said}\end{{align*}}"


def flat(letter: str, equation: str) -> str:
    """LaTeX of what follows where L is flat in a letter."""
    return rf"\frac{{\partial L}}{{\partial {letter}}}=0\quad\Longrightarrow\quad {equation}"


def signed(*terms: str) -> str:
    """LaTeX of a sum of terms, each with its sign in front; empty ones are left out."""
    return "".join(term for term in terms if len(term) > 1).removeprefix("+") or "0"


def step(
    title: str, text: str, latex: str, function: Callable[..., Any], measure: Measure | None = None, absent: str = "",
    general: str = "", construction: str = "",
) -> Step:  # fmt: skip
    """A step that is still to get its tag; where one function states the equation and measures it, it is given once."""
    measure = measure or function
    return Step("", title, text, latex, function, measure, absent, general=general, construction=construction)


def numbered(prefix: str, *steps: Step) -> tuple[Step, ...]:
    """Steps with their tags, in order."""
    return tuple(replace(step, tag=f"{prefix}.{k}") for k, step in enumerate(steps, 1))
