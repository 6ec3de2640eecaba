"""A derivation in a terminal."""

from __future__ import annotations

import textwrap

from qpsvm.derivation.shown import ShownDerivation, ShownStep

#: Columns of a line, and of what is proven at its end.
WIDTH, PROVEN = 100, 17
INDENT = "    "


def describe(derivation: ShownDerivation) -> str:
    """All steps: equation, sentence, residual, and where the code is."""
    said = [line for text in (derivation.headline, derivation.proven) for line in textwrap.wrap(text, WIDTH)]
    head = [f"Derivation: {derivation.title}", *said, ""]
    return "\n".join(head) + "\n" + "\n\n".join(map(describe_step, derivation.steps))


def describe_step(step: ShownStep) -> str:
    """One step in a few lines."""
    title, residual = f"({step.tag})  {step.title}", step.residual_text
    residual += f"{step.proven_text:>{PROVEN + 2}}" if step.proven_text and residual else ""
    lines = [f"{title}{residual:>{max(WIDTH - len(title), len(residual) + 2)}}".rstrip()]
    if step.absent:
        return "\n".join([title, *_wrapped(f"[{step.reason}]", INDENT + "  ")])
    lines += _wrapped(step.statement, INDENT)
    lines += _wrapped(" ".join(filter(None, [step.text, step.by_construction])), INDENT + "  ")
    lines += _wrapped(f"{step.sides_text}   {step.of}", INDENT + "  ") if step.sides_text else []
    lines += _wrapped(f"[{step.reason}]", INDENT + "  ") if step.reason else []
    lines += _wrapped(step.proven_sentence, INDENT + "  ")
    lines.append(f"{INDENT}code: {step.code.where}")
    return "\n".join(lines)


def describe_with_code(step: ShownStep) -> str:
    """One step with the source of its function; where it does not exist, why."""
    if step.absent:
        return describe_step(step)
    return f"{describe_step(step)}\n\n{textwrap.indent(step.code.text, INDENT)}"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
