"""Write equations as JavaScript, translated from their Python (`build_module`).

So a page evaluates the same equations as the library. Letters become attributes of a point `p`, and operations become
functions of an object `o`; `docs/chapters/equations.mjs` defines both. Lines with other names are left out.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence

from qpsvm.derivation.expressions import Equation, EquationLine, strip_brackets
from qpsvm.derivation.step import Step
from qpsvm.derivation.terms import TEXT, Term

#: Operations between arrays, by their nodes in Python's grammar.
OPERATIONS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.Lt: "less", ast.LtE: "atMost", ast.Gt: "more", ast.GtE: "atLeast", ast.Eq: "equal",
}  # fmt: skip
#: Functions of arrays. Methods of arrays are translated to these functions.
FUNCTIONS = frozenset({
    "sum", "abs", "norm", "mean", "maximum", "minimum", "max", "min", "tile", "sqrt", "diagonal",
})  # fmt: skip
#: Functions of samples, which are methods of a point.
SAMPLE_FUNCTIONS = {"f": "f", "phi": "phi", "K": "gram"}
#: Letters that a page's point has as attributes.
LETTERS = frozenset({
    "alpha", "alpha_above", "alpha_below", "y", "t", "C", "a", "s", "p", "xi", "xi_star", "zeta", "eta", "eta_star",
    "w", "c", "b", "rho", "mu", "nu", "lam", "epsilon", "tau", "tol", "beta", "u", "K", "Q", "X", "x", "M", "R",
    "w_of_alpha", "c_of_alpha", "result", "half_gap", "s_of_class", "t_of_class", "kappa",
})  # fmt: skip


class NotOnAPage(Exception):
    """Raised for a letter or a function that a page does not have."""


class _Writer(ast.NodeVisitor):
    """Translate a tree of Python's grammar to JavaScript. Raises NotOnAPage."""

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
            raise NotOnAPage(ast.unparse(node.func))
        return f"{name}({', '.join(arguments)})"


def to_javascript(code: str) -> str:
    """Convert an expression to JavaScript.

    Parameters
    ----------
    code : str
        The expression in Python, with letters, numbers and NumPy's operations.

    Returns
    -------
    str
        The expression in JavaScript, with attributes of `p` and functions of `o`.

    Raises
    ------
    NotOnAPage
        If a page does not have a letter or a function.

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
    selected = []
    for line in step.measure.lines:
        if isinstance(line, EquationLine) and line.measured:
            try:
                build_line(line)  # called only for the exception
            except NotOnAPage:
                continue
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


def build_sample_function(code: str) -> str:
    """Build the function of the summands of code such as "sum(xi)" or "0.5 * sum(xi)"; "null" for other code."""
    tree = ast.parse(code, mode="eval").body
    factor, sum_tree = "", tree
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        factor, sum_tree = f"{ast.unparse(tree.left)} * ", tree.right
    if isinstance(sum_tree, ast.Call) and ast.unparse(sum_tree.func) == "sum" and len(sum_tree.args) == 1:
        return build_function(f"{factor}({ast.unparse(sum_tree.args[0])})")
    return "null"


def build_function(code: str) -> str:
    """Build an expression as a function of the point and the operations."""
    return f"(p, o) => {to_javascript(code)}"


def build_line(line: EquationLine) -> str:
    """Build a line: the terms of its sides with signs, its relations, and its premise, if there is one.

    Raises NotOnAPage.
    """
    sides = []
    for side in line.sides:
        terms = [(sign, strip_brackets(part.python())) for sign, part in split_summands(side)]
        if not all(code for _, code in terms):
            raise NotOnAPage(side.text())
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


def build_module(steps: Mapping[str, Sequence[Step]]) -> str:
    """Build a module that exports the equations of machines: the lines of each step, by machine and tag.

    Parameters
    ----------
    steps : mapping of str to sequence of Step
        The derivation of each machine.

    Returns
    -------
    str
        The module's JavaScript.
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
