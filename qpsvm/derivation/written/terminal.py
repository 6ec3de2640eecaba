"""Print a derivation in a terminal: each equation with the values of both sides."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from qpsvm.derivation.display import ShownDerivation, ShownStep
from qpsvm.derivation.latex import NO_BREAK_SPACE, latex_to_lines

#: Columns of a line, and of the proven bound at the end of a step's first line.
WIDTH, PROVEN_WIDTH = 80, 17
#: Indentation of equations and code, and of sentences and numbers.
INDENT, DEEP_INDENT = "    ", "      "


def describe(derivation: ShownDerivation, verbose: bool = False) -> str:
    """Describe all steps: equations and numbers; with `verbose` also sentences and the location of the code."""
    message = (f"Derivation: {derivation.title}", derivation.headline, derivation.proven)
    head = [line for text in message for line in textwrap.wrap(text, WIDTH)]
    symbols = "; ".join(
        f"{' '.join(filter(None, [symbol.name, symbol.shape]))} {symbol.meaning}" for symbol in derivation.key
    )
    head += textwrap.wrap(f"symbols: {symbols}", WIDTH)
    steps = [describe_step(step, verbose) for step in derivation.steps if verbose or not step.absent]
    omitted = ", ".join(f"({step.tag}) {step.title}" for step in derivation.steps if step.absent and not verbose)
    if omitted:
        steps.append("\n".join(textwrap.wrap(f"not of this problem: {omitted}; verbose says why", WIDTH)))
    return "\n".join([*head, "", ("\n\n" if verbose else "\n").join(steps)])


def describe_step(step: ShownStep, verbose: bool = True) -> str:
    """Describe one step in a few lines."""
    return "\n".join(_iter_lines(step, verbose))


def describe_with_code(step: ShownStep) -> str:
    """Describe one step with the source of its function; if the step is absent, with the reason."""
    if step.absent:
        return describe_step(step)
    return f"{describe_step(step)}\n\n{textwrap.indent(step.code.text, INDENT)}"


def _iter_lines(step: ShownStep, verbose: bool) -> Iterator[str]:
    """Yield the lines of one step; if not verbose, both sides are truncated to one line."""
    title = f"({step.tag})  {step.title}"
    residual = step.residual_text
    if step.absent:
        yield from [title, *_wrap(f"[{step.reason}]", DEEP_INDENT)]
        return
    residual += f"{step.proven_text:>{PROVEN_WIDTH + 2}}" if step.proven_text and residual else ""
    yield f"{title}{residual:>{max(WIDTH - len(title), len(residual) + 2)}}".rstrip()
    for line in _join_short_lines(latex_to_lines(step.latex)):
        yield from _wrap(line, INDENT)
    if verbose:
        yield from _wrap(" ".join(filter(None, [step.text, step.by_construction])), DEEP_INDENT)
    fit_lines = _wrap if verbose else _truncate
    yield from fit_lines(f"{step.sides_text}   {step.description}" if step.sides_text else "", DEEP_INDENT)
    yield from _wrap(f"[{step.reason}]" if step.reason else "", DEEP_INDENT)
    if verbose:
        yield from _wrap(step.proven_sentence, DEEP_INDENT)
        yield f"{INDENT}code: {(step.library or step.code).where}"


def _join_short_lines(lines: list[str]) -> Iterator[str]:
    """Yield lines, joining one that begins with = or ⟹ to the line before, if both fit."""
    remaining = lines[::-1]
    while remaining:
        line = remaining.pop()
        if remaining and remaining[-1][0] in "=⟹" and line[0] not in "=⟹":
            following = remaining[-1]
            if len(line + following) < WIDTH - len(INDENT):
                line += f" {remaining.pop()}"
        yield line


def _truncate(text: str, indent: str) -> list[str]:
    """Truncate a text to one line; return no line for an empty text."""
    if not text:
        return []
    line = f"{indent}{text}"
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 2].rstrip()} …"]


def _wrap(text: str, indent: str) -> list[str]:
    """Wrap a text to lines, of which all but the first are indented deeper."""
    lines = textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    return [line.replace(NO_BREAK_SPACE, " ") for line in lines]
