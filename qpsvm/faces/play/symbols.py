"""List the symbols that the page shows of a selected sample, and the default texts of machines (`DEFAULT_TEXTS`)."""

from __future__ import annotations

#: A row of the table: its key in the JSON that the page receives, its symbol, and its meaning.
SymbolRow = tuple[str, str, str]
ALPHA = ("alpha", "α", "multiplier")
GAP = ("gap", "g", "share of the gap")
SLACK = ("xi", "ξ", "slack")
YF = ("yf", "y f", "signed margin")
#: Meaning of a product of complementary slackness.
AT_OPTIMUM = "0 at an optimum"
#: Default texts of `PageMachine`, by kind of target and name of the field. Each machine replaces {bound} by the upper
#: bound of α, {level} by the margin, and {twice} by twice the margin.
DEFAULT_TEXTS = {
    "labels": {
        "value": "y f", "share": "α / {bound}", "box": "0 ≤ α_i ≤ {bound}", "balance": "yᵀα",
        "path": "α is 0, or y f = {level}, or α is {bound}", "width": "width {twice}/‖w‖", "correct": "correct",
    },
    "numbers": {
        "value": "t − f", "share": "|β| / {bound}", "against": "β / {bound}", "box": "0 ≤ α⁺_i, α⁻_i ≤ {bound}",
        "path": "β is 0 inside the tube, between −{bound} and {bound} on an edge, and −{bound} or {bound} beyond it",
        "width": "tube 2ε", "correct": "beyond", "balance": "1ᵀβ",
    },
    "none": {
        "value": "f", "share": "α / {bound}", "box": "0 ≤ α_i ≤ {bound}", "balance": "1ᵀα", "width": "ρ",
        "path": "α is 0 inside, between 0 and {bound} on the boundary, and {bound} outside", "correct": "outside",
    },
}  # fmt: skip


def build_two_class_symbols(bound: str, level: str, eta: str) -> tuple[SymbolRow, ...]:
    """Build the rows for two classes with a hinge loss, or, if the bound is empty, with a hard margin."""
    if not bound:
        return ALPHA, YF, GAP, ("margin_product", f"α (y f − {level})", AT_OPTIMUM)
    return (
        ALPHA, ("upper", bound, "its bound"), ("eta", f"{eta} = {bound} − α", "multiplier of ξ ≥ 0"), SLACK, YF, GAP,
        ("margin_product", f"α (y f − {level} + ξ)", AT_OPTIMUM), ("slack_product", f"({bound} − α) ξ", AT_OPTIMUM),
    )  # fmt: skip


def build_curved_symbols(slack_product: str, bound: str = "") -> tuple[SymbolRow, ...]:
    """Build the rows for two classes with a squared hinge loss, or, if there is a bound, with a Huber hinge loss.

    slack_product: The term of ξ in complementary slackness, as text.
    """
    bounds = (("upper", bound, "its bound"),) if bound else ()
    slack = "ξ + ζ" if bound else "ξ"
    return (
        ALPHA, *bounds, ("xi", slack, "slack"), YF, GAP, ("margin_product", f"α (y f − 1 + {slack})", AT_OPTIMUM),
        ("slack_product", slack_product, AT_OPTIMUM),
    )  # fmt: skip


def build_regression_symbols(above: str, below: str, edge: str = "ε") -> tuple[SymbolRow, ...]:
    """Build the rows for a regression.

    above, below: Upper bounds of α⁺ and of α⁻ as text; both empty for a squared loss.
    edge: Half-width of the tube as text; empty without a tube.
    """
    distance_to_edge = f"{edge} ± (f − t)" if edge else "± (f − t)"
    bounds: tuple[SymbolRow, ...]
    if not above:
        bounds = ()
        slack_product = "C (ξ − α/(2C))²"
    elif above == below:
        bounds = (("upper", above, "their bound"),)
        slack_product = f"({above} − α) ξ"
    else:
        bounds = ("upper", above, "bound of α⁺"), ("lower", f"−{below}", "bound of −α⁻")
        slack_product = "(bound − α) ξ"
    return (
        ("alpha", "β = α⁺ − α⁻", "its part in f"), ("alpha_above", "α⁺", "multiplier above f"),
        ("alpha_below", "α⁻", "multiplier below f"), *bounds, ("target", "t", "target"), ("f", "f", "prediction"),
        ("value", "t − f", "residual"), ("xi", "ξ", "beyond the tube" if edge else "its size"), GAP,
        ("margin_product", f"α ({distance_to_edge} + ξ)", AT_OPTIMUM),
        ("slack_product", slack_product, AT_OPTIMUM),
    )  # fmt: skip


def build_enclosing_symbols(bound: str) -> tuple[SymbolRow, ...]:
    """Build the rows for a machine that encloses samples without labels."""
    bounds = (("upper", bound, "its bound"),) if bound != "1" else ()
    return (
        ALPHA, *bounds, ("eta", f"η = {bound} − α", "multiplier of ξ ≥ 0"),
        ("xi", "ξ", "outside by"), ("yf", "f", "inside where f > 0"), GAP, ("margin_product", "α (f + ξ)", AT_OPTIMUM),
        ("slack_product", f"({bound} − α) ξ", AT_OPTIMUM),
    )  # fmt: skip
