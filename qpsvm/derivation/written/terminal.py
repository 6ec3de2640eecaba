"""Print a derivation in a terminal: each equation with the values of both sides."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from qpsvm.derivation.display import ShownDerivation, ShownStep
from qpsvm.derivation.latex import NO_BREAK_SPACE, latex_to_lines

#: Maximum number of characters in a line.
WIDTH = 80
#: Characters of the proven bound, which ends a step's first line.
PROVEN_WIDTH = 17
#: Indentation of equations and code, and of sentences and numbers.
INDENT, DEEP_INDENT = "    ", "      "


def describe(derivation: ShownDerivation, verbose: bool = False) -> str:
    """Describe all steps that apply: equations and numbers.

    verbose: Whether to add sentences, the location of the code, and the steps that do not apply, with the reason.
    """
    headings = (f"Derivation: {derivation.title}", derivation.headline, derivation.proven)
    head = [line for text in headings for line in textwrap.wrap(text, WIDTH)]
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
    """Describe one step; if not `verbose`, without sentences and the location of the code."""
    return "\n".join(_iter_lines(step, verbose))


def describe_with_code(step: ShownStep) -> str:
    """Describe one step with the source of its function; if the step is absent, with the reason."""
    if step.absent:
        return describe_step(step)
    return f"{describe_step(step)}\n\n{textwrap.indent(step.code.text, INDENT)}"


def _iter_lines(step: ShownStep, verbose: bool) -> Iterator[str]:
    """Yield the lines of one step; if not verbose, both sides are truncated to one line."""
    title = f"({step.tag})  {step.title}"
    if step.absent:
        yield from [title, *_wrap(f"[{step.reason}]", DEEP_INDENT)]
        return
    residual = step.residual_text
    if residual and step.proven_text:
        residual += f"{step.proven_text:>{PROVEN_WIDTH + 2}}"
    residual_width = max(WIDTH - len(title), len(residual) + 2)  # up to the end of the line, after two spaces at least
    yield f"{title}{residual:>{residual_width}}".rstrip()
    for line in _join_short_lines(latex_to_lines(step.latex)):
        yield from _wrap(line, INDENT)
    if verbose:
        yield from _wrap(" ".join(filter(None, [step.text, step.by_construction])), DEEP_INDENT)
    if step.sides_text:
        fit_lines = _wrap if verbose else _truncate
        yield from fit_lines(f"{step.sides_text}   {step.description}", DEEP_INDENT)
    if step.reason:
        yield from _wrap(f"[{step.reason}]", DEEP_INDENT)
    if verbose:
        yield from _wrap(step.proven_sentence, DEEP_INDENT)
        yield f"{INDENT}code: {(step.library or step.code).where}"


def _join_short_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines; a line gets the next one appended, if only that one begins with = or ⟹ and both fit."""
    signs = ("=", "⟹")
    remaining = lines[::-1]
    while remaining:
        line = remaining.pop()
        following = remaining[-1] if remaining else ""
        fits = len(line + following) < WIDTH - len(INDENT)
        if following.startswith(signs) and not line.startswith(signs) and fits:
            line += f" {remaining.pop()}"
        yield line


def _truncate(text: str, indent: str) -> list[str]:
    """Truncate a text to one line."""
    line = f"{indent}{text}"
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 2].rstrip()} …"]


def _wrap(text: str, indent: str) -> list[str]:
    """Wrap a text to lines, of which all but the first are indented deeper; an empty text has none."""
    lines = textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    return [line.replace(NO_BREAK_SPACE, " ") for line in lines]
