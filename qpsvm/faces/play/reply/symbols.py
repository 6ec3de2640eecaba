"""How a machine's letters are written on a page: the table of the selected sample, and the path of complementarity."""

from __future__ import annotations

#: A column of the answer's table, how the machine writes it, and what it is.
Letter = tuple[str, str, str]

ALPHA, GAP = ("alpha", "α", "multiplier"), ("gap", "g", "share of the gap")
SLACK, SIGNED = ("xi", "ξ", "slack"), ("yf", "y f", "signed margin")
#: What stands beside a product of complementary slackness.
ZERO = "0 at an optimum"


def two_class(bound: str, level: str, eta: str) -> tuple[Letter, ...]:
    """Of two classes with a hinge, or without slack where there is no bound."""
    if not bound:
        return ALPHA, SIGNED, GAP, ("margin_product", f"α (y f − {level})", ZERO)
    return (
        ALPHA, ("upper", bound, "its bound"), ("eta", f"{eta} = {bound} − α", "price of ξ ≥ 0"), SLACK, SIGNED, GAP,
        ("margin_product", f"α (y f − {level} + ξ)", ZERO), ("slack_product", f"({bound} − α) ξ", ZERO),
    )  # fmt: skip


def curved(curvature: str = "", bound: str = "") -> tuple[Letter, ...]:
    """Of two classes whose price of slack is curved: (SQHINGE.16), or (HUBER.16), whose second part is long."""
    bounds = (("upper", bound, "its bound"),) if bound else ()
    slack = "ξ + ζ" if bound else "ξ"
    return (
        ALPHA, *bounds, ("xi", slack, "slack"), SIGNED, GAP, ("margin_product", f"α (y f − 1 + {slack})", ZERO),
        ("slack_product", curvature or "rest of g", ZERO),
    )  # fmt: skip


def two_sided(above: str, below: str, edge: str = "ε", squared: bool = False) -> tuple[Letter, ...]:
    """Of a regression, with the bounds of α⁺ and α⁻."""
    apart = f"{edge} ± (f − t)" if edge else "± (f − t)"
    bounds: tuple[Letter, ...] = (
        (("upper", above, "bound of α⁺" if below != above else "their bound"),) if above else ()
    )
    bounds += (("lower", f"−{below}", "bound of −α⁻"),) if below and below != above else ()
    slack = f"({above or 'C'} − α) ξ" if above == below else "(bound − α) ξ"
    return (
        ("alpha", "β = α⁺ − α⁻", "its part in f"), ("alpha_above", "α⁺", "multiplier above f"),
        ("alpha_below", "α⁻", "multiplier below f"), *bounds, ("target", "t", "target"), ("f", "f", "prediction"),
        ("value", "t − f", "residual"), ("xi", "ξ", "beyond the tube" if edge else "its size"), GAP,
        ("margin_product", f"α ({apart} + ξ)", ZERO), ("slack_product", "C (ξ − α/(2C))²" if squared else slack, ZERO),
    )  # fmt: skip


def enclosing(bound: str) -> tuple[Letter, ...]:
    """Of what holds samples without labels together."""
    bounds = (("upper", bound, "its bound"),) if bound != "1" else ()
    return (
        ALPHA, *bounds, ("eta", f"η = {bound} − α", "price of ξ ≥ 0"),
        ("xi", "ξ", "outside by"), ("yf", "f", "inside where f > 0"), GAP, ("margin_product", "α (f + ξ)", ZERO),
        ("slack_product", f"({bound} − α) ξ", ZERO),
    )  # fmt: skip
