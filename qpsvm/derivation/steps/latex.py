"""LaTeX of equations below each other, of cases, of sums; and the numbers of steps."""

from __future__ import annotations

from dataclasses import replace

from qpsvm.derivation.step import Step


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


def numbered(prefix: str, *steps: Step) -> tuple[Step, ...]:
    """Steps with their tags, in order: a step that brings a tag of its own keeps it."""
    return tuple(replace(step, tag=f"{prefix}.{k}") for k, step in enumerate(steps, 1))
