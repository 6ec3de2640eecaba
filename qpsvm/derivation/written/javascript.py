"""Translate the equations of derivations from Python to JavaScript (`build_module`, `to_javascript`).

The interactive chapters of the documentation thus evaluate the same equations as the library. Symbols become attributes
of a point `p`, and operations become functions of an object `o`; `docs/chapters/equations.mjs` defines both. Equations
with symbols or functions that are not defined there are left out.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

from qpsvm.derivation.expressions import Equation, EquationLine, strip_brackets
from qpsvm.derivation.step import Step
from qpsvm.derivation.terms import TEXT, Term

#: Functions of `o` that replace Python's operators.
OPERATIONS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.Lt: "less", ast.LtE: "atMost", ast.Gt: "more", ast.GtE: "atLeast", ast.Eq: "equal",
}  # fmt: skip
#: Functions of arrays, which have the same names in `o`; methods of arrays are translated to them.
FUNCTIONS = frozenset({"sum", "abs", "norm", "mean", "maximum", "minimum", "max", "min", "tile", "sqrt", "diagonal"})
#: Methods of `p` that replace functions of samples.
SAMPLE_FUNCTIONS = {"f": "f", "phi": "phi", "K": "gram"}
#: Symbols that are attributes of `p`.
SYMBOLS = frozenset({
    "alpha", "alpha_above", "alpha_below", "y", "t", "C", "a", "s", "p", "xi", "xi_star", "zeta", "eta", "eta_star",
    "w", "c", "b", "rho", "mu", "nu", "lam", "epsilon", "tau", "tol", "beta", "u", "K", "Q", "X", "x", "M", "R",
    "w_of_alpha", "c_of_alpha", "result", "half_gap", "s_of_class", "t_of_class", "kappa",
})  # fmt: skip


def build_module(steps: Mapping[str, Sequence[Step]]) -> str:
    """Build a JavaScript module that exports the equations of machines: the lines of each step, by machine and tag.

    Parameters
    ----------
    steps : mapping of str to sequence of Step
        The derivation of each machine.

    Returns
    -------
    str
        The source code of the module.
    """
    rows = []
    for machine, derivation in steps.items():
        rows.append(f"  {json.dumps(machine)}: {{")
        for step in derivation:
            text = ",\n      ".join(map(build_line, select_lines(step)))
            if text:
                rows.append(f"    {json.dumps(step.tag)}: [\n      {text}],")
        rows.append("  },")
    return "\n".join(["export const EQUATIONS = {", *rows, "};", ""])


def to_javascript(code: str) -> str:
    """Translate an expression to JavaScript.

    Parameters
    ----------
    code : str
        The expression in Python, with symbols, numbers and NumPy's operations.

    Returns
    -------
    str
        The expression in JavaScript, with attributes of `p` and functions of `o`.

    Raises
    ------
    UntranslatableError
        If a symbol or a function has no counterpart in JavaScript.

    Examples
    --------
    >>> from qpsvm.derivation.written.javascript import to_javascript
    >>> to_javascript("sum(alpha) - 0.5 * alpha @ Q @ alpha")
    'o.sub(o.sum(p.alpha), o.matmul(o.matmul(o.mul(0.5, p.alpha), p.Q), p.alpha))'
    """
    return str(_JavaScriptWriter().visit(ast.parse(code, mode="eval")))


def select_lines(step: Step) -> list[EquationLine]:
    """Return the lines of a step that can be translated and evaluated."""
    if not isinstance(step.measure, Equation) or step.absent:
        return []
    selected = []
    for line in step.measure.lines:
        if isinstance(line, EquationLine) and line.measured:
            with suppress(UntranslatableError):
                build_line(line)  # called only for the exception
                selected.append(line)
    return selected


def split_summands(side: Term, sign: int = 1) -> list[tuple[int, Term]]:
    """Split a side into its summands, each with its sign."""
    original = getattr(side.function, "__self__", None)
    if isinstance(original, Term) and original.latex() == side.latex():  # renamed by `Term.with_name`
        return split_summands(original, sign)
    text = side.written[TEXT]
    if text in ("%s + %s", "%s − %s"):
        first, second = side.parts
        return split_summands(first, sign) + split_summands(second, -sign if "−" in text else sign)
    if side.negative:
        return split_summands(side.parts[0], -sign)
    return [(sign, side)]


def build_line(line: EquationLine) -> str:
    """Build the object of a line: the terms of its sides with signs, its relations, and its premise, if it has one.

    Raises UntranslatableError.
    """
    sides = []
    for side in line.sides:
        terms = [(sign, strip_brackets(part.python())) for sign, part in split_summands(side)]
        if not all(code for _, code in terms):
            raise UntranslatableError(side.text())
        sides.append(
            ", ".join(
                f"{{ sign: {sign}, value: {build_function(code)}, each: {build_sample_function(code)} }}"
                for sign, code in terms
            )
        )
    premise = "" if line.premise is None else f", premise: {build_line(line.premise)}"
    return (
        f"{{ sides: [{', '.join(f'[{side}]' for side in sides)}], relations: {json.dumps(line.relations)}{premise} }}"
    )


def build_sample_function(code: str) -> str:
    """Build the function that returns the summands of "sum(…)" or "factor * sum(…)"; "null" for other code."""
    tree = ast.parse(code, mode="eval").body
    factor = ""
    sum_tree = tree
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        factor = f"{ast.unparse(tree.left)} * "
        sum_tree = tree.right
    if isinstance(sum_tree, ast.Call) and ast.unparse(sum_tree.func) == "sum" and len(sum_tree.args) == 1:
        return build_function(f"{factor}({ast.unparse(sum_tree.args[0])})")
    return "null"


def build_function(code: str) -> str:
    """Build the JavaScript function of `p` and `o` that evaluates an expression."""
    return f"(p, o) => {to_javascript(code)}"


class UntranslatableError(Exception):
    """Raised for a symbol or a function that has no counterpart in JavaScript."""


class _JavaScriptWriter(ast.NodeVisitor):
    """Translate a syntax tree of Python to JavaScript. Raises UntranslatableError."""

    def generic_visit(self, node: ast.AST) -> str:
        raise UntranslatableError(ast.unparse(node))

    def visit_Expression(self, node: ast.Expression) -> str:
        return str(self.visit(node.body))

    def visit_Constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, str):
            raise UntranslatableError(node.value)
        return json.dumps(node.value)

    def visit_Name(self, node: ast.Name) -> str:
        if node.id not in SYMBOLS:
            raise UntranslatableError(node.id)
        return f"p.{node.id}"

    def visit_BinOp(self, node: ast.BinOp) -> str:
        return f"o.{OPERATIONS[type(node.op)]}({self.visit(node.left)}, {self.visit(node.right)})"

    def visit_UnaryOp(self, node: ast.UnaryOp) -> str:
        operand = str(self.visit(node.operand))
        return f"o.neg({operand})" if isinstance(node.op, ast.USub) else operand

    def visit_Compare(self, node: ast.Compare) -> str:
        (operation,), (right,) = node.ops, node.comparators
        return f"o.{OPERATIONS[type(operation)]}({self.visit(node.left)}, {self.visit(right)})"

    def visit_Attribute(self, node: ast.Attribute) -> str:
        owner = str(self.visit(node.value))
        if node.attr == "T":
            return f"o.transposed({owner})"
        return f"{owner}.{node.attr}"

    def visit_Subscript(self, node: ast.Subscript) -> str:
        return f"o.taken({self.visit(node.value)}, {self.visit(node.slice)})"

    def visit_Call(self, node: ast.Call) -> str:
        arguments = [str(self.visit(argument)) for argument in node.args]
        arguments += [str(self.visit(keyword.value)) for keyword in node.keywords]
        if isinstance(node.func, ast.Attribute) and node.func.attr in FUNCTIONS:  # x.max() is max(x)
            arguments.insert(0, str(self.visit(node.func.value)))
            name = f"o.{node.func.attr}"
        elif isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            name = f"o.{node.func.id}"
        elif isinstance(node.func, ast.Name) and node.func.id in SAMPLE_FUNCTIONS:
            name = f"p.{SAMPLE_FUNCTIONS[node.func.id]}"
        else:
            raise UntranslatableError(ast.unparse(node.func))
        return f"{name}({', '.join(arguments)})"
