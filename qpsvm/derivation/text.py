"""A derivation in a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qpsvm.derivation.derive import Derivation
    from qpsvm.derivation.step import Measurement, Step

#: Columns of a line.
WIDTH = 100
INDENT = "    "


def describe(derivation: Derivation) -> str:
    """All steps: equation, sentence, residual, and where the code is."""
    head = [f"Derivation: {derivation.title}", *textwrap.wrap(derivation.headline, WIDTH), ""]
    steps = [describe_step(step, derivation.measurements.get(step.tag)) for step in derivation]
    return "\n".join(head) + "\n" + "\n\n".join(steps)


def describe_step(step: Step, measurement: Measurement | None = None) -> str:
    """One step in a few lines."""
    title = f"({step.tag})  {step.title}"
    residual, reason = shown(step, measurement)
    lines = [f"{title}{residual:>{max(WIDTH - len(title), len(residual) + 2)}}".rstrip()]
    lines += _wrapped(step.statement, INDENT)
    lines += _wrapped(step.text, INDENT + "  ")
    lines += _wrapped(f"[{reason}]", INDENT + "  ") if reason else []
    lines.append(f"{INDENT}code: {step.where}")
    return "\n".join(lines)


def describe_with_code(step: Step) -> str:
    """One step with the source of its function."""
    return f"{describe_step(step)}\n\n{textwrap.indent(step.code, INDENT)}"


def shown(step: Step, measurement: Measurement | None) -> tuple[str, str]:
    """The residual for people, and the reason where there is none; both may be empty."""
    if measurement is None:
        return "", f"does not exist here: {step.absent}" if step.absent else ""
    if measurement.reason:
        return "residual -", measurement.reason
    return f"residual {measurement.residual:.1e}", ""


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
