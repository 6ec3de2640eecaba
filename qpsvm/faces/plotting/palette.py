"""Define the colours, markers and sizes of the pictures: classes by hue and shape, kinds by outline.

Colours are those of Okabe & Ito, *Color Universal Design* (2008), which people with any colour vision tell apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qpsvm.result.svm_result import KIND_DESCRIPTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # for the annotations of the pictures
    Axes = Any


BLACK, GREY = "black", "0.45"
ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
#: Kinds of samples in the order of `result.kind`: name and outline; None stands for a pale marker in its own hue.
#: No class has these colours, and in grey print one is pale, one outlined in black, and one in a lighter grey.
KINDS = tuple(zip(KIND_DESCRIPTIONS, (None, BLACK, ORANGE), strict=True))
#: How much of its hue a pale marker has.
PALE = 0.35
#: Shapes and colours of the two classes, in sort order: of the edges of samples, and of areas.
SHAPES, CLASSES = ("^", "o"), (VERMILION, BLUE)
#: Opacity of the colour on the side of each class: in grey print the side of f > 0 is the darker one.
SHADES = (0.08, 0.16)
SIDES = tuple(zip(CLASSES, SHADES, strict=True))
#: Curves, one after the other: colour, line style, marker.
CURVES = (
    (BLUE, "-", "o"), (VERMILION, "--", "s"), (GREEN, "-.", "^"), (ORANGE, ":", "D"), (PURPLE, "-", "v"),
    (SKY, "--", "P"), (BLACK, "-.", "X"),
)  # fmt: skip
#: Sizes of markers in points²: samples, and the rings around support vectors. Widths of edges and outlines, in points.
SAMPLE, RING, EDGE, OUTLINE = 44, 130, 1.0, 1.5
