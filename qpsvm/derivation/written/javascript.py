"""Write equations as JavaScript, translated from their Python.

What a page evaluates is so what the library evaluates. Letters are attributes of a point `p`, operations are functions
of `o`, which `docs/chapters/equations.mjs` states; names that it does not know are of the library alone.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence

from qpsvm.derivation.expressions import Equation, EquationLine, strip_brackets
from qpsvm.derivation.step import Step
from qpsvm.derivation.terms import TEXT, Term

#: Operations between arrays, by what Python's grammar calls them.
OPERATIONS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.Lt: "less", ast.LtE: "atMost", ast.Gt: "more", ast.GtE: "atLeast", ast.Eq: "equal",
}  # fmt: skip
#: Functions of arrays, and methods that are written as such.
FUNCTIONS = frozenset({
    "sum", "abs", "norm", "mean", "maximum", "minimum", "max", "min", "tile", "sqrt", "diagonal",
})  # fmt: skip
#: Functions of samples, which a point has.
SAMPLE_FUNCTIONS = {"f": "f", "phi": "phi", "K": "gram"}
#: Letters of a page's point.
LETTERS = frozenset({
    "alpha", "alpha_above", "alpha_below", "y", "t", "C", "a", "s", "p", "xi", "xi_star", "zeta", "eta", "eta_star",
    "w", "c", "b", "rho", "mu", "nu", "lam", "epsilon", "tau", "tol", "beta", "u", "K", "Q", "X", "x", "M", "R",
    "w_of_alpha", "c_of_alpha", "result", "half_gap", "s_of_class", "t_of_class", "kappa",
})  # fmt: skip


class NotOnAPage(Exception):
    """A letter or a function that only the library has."""


class _Writer(ast.NodeVisitor):
    """Python's tree as calls."""

    def generic_visit(self, node: ast.AST) -> str:
        raise NotOnAPage(ast.unparse(node))

    def visit_Expression(self, node: ast.Expression) -> str:
        return str(self.visit(node.body))

    def visit_Constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, str):
            raise NotOnAPage(node.value)
        return json.dumps(node.value)

    def visit_Name(self, node: ast.Name) -> str:
        if node.id not in LETTERS:
            raise NotOnAPage(node.id)
        return f"p.{node.id}"

    def visit_BinOp(self, node: ast.BinOp) -> str:
        return f"o.{OPERATIONS[type(node.op)]}({self.visit(node.left)}, {self.visit(node.right)})"

    def visit_UnaryOp(self, node: ast.UnaryOp) -> str:
        inside = str(self.visit(node.operand))
        return f"o.neg({inside})" if isinstance(node.op, ast.USub) else inside

    def visit_Compare(self, node: ast.Compare) -> str:
        (operation,), (right,) = node.ops, node.comparators
        return f"o.{OPERATIONS[type(operation)]}({self.visit(node.left)}, {self.visit(right)})"

    def visit_Attribute(self, node: ast.Attribute) -> str:
        inside = str(self.visit(node.value))
        return f"o.transposed({inside})" if node.attr == "T" else f"{inside}.{node.attr}"

    def visit_Subscript(self, node: ast.Subscript) -> str:
        return f"o.taken({self.visit(node.value)}, {self.visit(node.slice)})"

    def visit_Call(self, node: ast.Call) -> str:
        given = [str(self.visit(each)) for each in [*node.args, *(each.value for each in node.keywords)]]
        if isinstance(node.func, ast.Attribute) and node.func.attr in FUNCTIONS:  # x.max() is max(x)
            given, name = [str(self.visit(node.func.value)), *given], f"o.{node.func.attr}"
        elif isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            name = f"o.{node.func.id}"
        elif isinstance(node.func, ast.Name) and node.func.id in SAMPLE_FUNCTIONS:
            name = f"p.{SAMPLE_FUNCTIONS[node.func.id]}"
        else:
            raise NotOnAPage(ast.unparse(node.func))
        return f"{name}({', '.join(given)})"


def to_javascript(code: str) -> str:
    """Convert an expression to JavaScript.

    Parameters
    ----------
    code : str
        The same in Python, of letters, numbers and NumPy's operations.

    Returns
    -------
    str
        Of a point `p` and operations `o`.

    Raises
    ------
    NotOnAPage
        A letter or a function that only the library has.

    Examples
    --------
    >>> from qpsvm.derivation.written.javascript import to_javascript
    >>> to_javascript("sum(alpha) - 0.5 * alpha @ Q @ alpha")
    'o.sub(o.sum(p.alpha), o.matmul(o.matmul(o.mul(0.5, p.alpha), p.Q), p.alpha))'
    """
    return str(_Writer().visit(ast.parse(code, mode="eval")))


def select_lines(step: Step) -> list[EquationLine]:
    """Select the lines of a step that a page can evaluate."""
    if not isinstance(step.measure, Equation) or step.absent:
        return []
    found = []
    for each in step.measure.lines:
        if isinstance(each, EquationLine) and each.measured:
            try:
                build_line(each)
            except NotOnAPage:
                continue
            found.append(each)
    return found


def split_summands(side: Term, sign: int = 1) -> list[tuple[int, Term]]:
    """Split a side into its summands, each with its sign."""
    inside = getattr(side.function, "__self__", None)
    if isinstance(inside, Term) and inside.latex() == side.latex():  # only its name in sentences is another
        return split_summands(inside, sign)
    text = side.written[TEXT]
    if text in ("%s + %s", "%s − %s"):
        first, second = side.parts
        return split_summands(first, sign) + split_summands(second, -sign if "−" in text else sign)
    if side.negative:
        return split_summands(side.parts[0], -sign)
    return [(sign, side)]


def build_sample_function(code: str) -> str:
    """Return the summand per sample of a sum over the samples; else "null"."""
    tree = ast.parse(code, mode="eval").body
    factor, inside = "", tree
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        factor, inside = f"{ast.unparse(tree.left)} * ", tree.right
    if isinstance(inside, ast.Call) and ast.unparse(inside.func) == "sum" and len(inside.args) == 1:
        return build_function(f"{factor}({ast.unparse(inside.args[0])})")
    return "null"


def build_function(code: str) -> str:
    """Build an expression as a function of the point and the operations."""
    return f"(p, o) => {to_javascript(code)}"


def build_line(each: EquationLine) -> str:
    """Build a line: the terms of its sides with signs, its relations, and those of its premise, if there is one."""
    sides = []
    for side in each.sides:
        terms = [(sign, strip_brackets(part.python())) for sign, part in split_summands(side)]
        if not all(code for _, code in terms):
            raise NotOnAPage(side.text())
        sides.append(
            ", ".join(
                f"{{ sign: {sign}, value: {build_function(code)}, each: {build_sample_function(code)} }}"
                for sign, code in terms
            )
        )
    premise = "" if each.premise is None else f", premise: {build_line(each.premise)}"
    return (
        f"{{ sides: [{', '.join(f'[{side}]' for side in sides)}], relations: {json.dumps(each.relations)}{premise} }}"
    )


def build_module(steps: Mapping[str, Sequence[Step]]) -> str:
    """Build a module that exports the equations of machines: for each name and tag its lines.

    Parameters
    ----------
    steps : mapping of str to sequence of Step
        The derivation of each machine.

    Returns
    -------
    str
        JavaScript.
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
