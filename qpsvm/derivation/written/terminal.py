"""Print a derivation in a terminal: each equation with the values of both sides."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from qpsvm.derivation.display import ShownDerivation, ShownStep
from qpsvm.derivation.latex import STICKY, latex_to_lines

#: Columns of a line, and of what is proven at its end.
WIDTH, PROVEN = 80, 17
INDENT, DEEPER = "    ", "      "


def describe(derivation: ShownDerivation, verbose: bool = False) -> str:
    """Describe all steps: equations and numbers; with `verbose` also sentences and the location of the code."""
    message = (f"Derivation: {derivation.title}", derivation.headline, derivation.proven)
    head = [line for text in message for line in textwrap.wrap(text, WIDTH)]
    named = "; ".join(f"{' '.join(filter(None, [each.name, each.shape]))} {each.meaning}" for each in derivation.key)
    head += textwrap.wrap(f"symbols: {named}", WIDTH)
    steps = [describe_step(step, verbose) for step in derivation.steps if verbose or not step.absent]
    left = ", ".join(f"({step.tag}) {step.title}" for step in derivation.steps if step.absent and not verbose)
    steps += ["\n".join(textwrap.wrap(f"not of this problem: {left}; verbose says why", WIDTH))] if left else []
    return "\n".join([*head, "", ("\n\n" if verbose else "\n").join(steps)])


def describe_step(step: ShownStep, verbose: bool = True) -> str:
    """Describe one step in a few lines."""
    return "\n".join(_iter_lines(step, verbose))


def describe_with_code(step: ShownStep) -> str:
    """Describe one step with the source of its function; if it does not exist, the reason."""
    return describe_step(step) + ("" if step.absent else f"\n\n{textwrap.indent(step.code.text, INDENT)}")


def _iter_lines(step: ShownStep, verbose: bool) -> Iterator[str]:
    title, residual = f"({step.tag})  {step.title}", step.residual_text
    shown = _wrap if verbose else _truncate
    if step.absent:
        yield from [title, *_wrap(f"[{step.reason}]", DEEPER)]
        return
    residual += f"{step.proven_text:>{PROVEN + 2}}" if step.proven_text and residual else ""
    yield f"{title}{residual:>{max(WIDTH - len(title), len(residual) + 2)}}".rstrip()
    for line in _join_short_lines(latex_to_lines(step.latex)):
        yield from _wrap(line, INDENT)
    if verbose:
        yield from _wrap(" ".join(filter(None, [step.text, step.by_construction])), DEEPER)
    yield from shown(f"{step.sides_text}   {step.of}" if step.sides_text else "", DEEPER)
    yield from _wrap(f"[{step.reason}]" if step.reason else "", DEEPER)
    if verbose:
        yield from _wrap(step.proven_sentence, DEEPER)
        yield f"{INDENT}code: {(step.library or step.code).where}"


def _join_short_lines(lines: list[str]) -> Iterator[str]:
    """Yield lines, joining two that belong together if they fit."""
    lines = lines[::-1]
    while lines:
        line = lines.pop()
        if lines and lines[-1][0] in "=⟹" and line[0] not in "=⟹" and len(line + lines[-1]) < WIDTH - len(INDENT):
            line += f" {lines.pop()}"
        yield line


def _truncate(text: str, indent: str) -> list[str]:
    """Truncate a text to one line."""
    whole = f"{indent}{text}" if text else ""
    return [whole if len(whole) <= WIDTH else f"{whole[: WIDTH - 2].rstrip()} …"] if text else []


def _wrap(text: str, indent: str) -> list[str]:
    further = indent + "  "
    lines = textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False)
    return [line.replace(STICKY, " ") for line in lines]
