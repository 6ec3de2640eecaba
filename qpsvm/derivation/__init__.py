"""The derivation of a support vector machine as data: each equation, the code that states it, both sides, its residual.

    >>> print(qpsvm.derive(problem, result))                     # doctest: +SKIP
    >>> qpsvm.derive(problem, alpha=alpha).sides()["CSVM.5"]     # doctest: +SKIP
    >>> qpsvm.derive(problem, result).to_html("derivation.html") # doctest: +SKIP

`step` says what a step is, `letters` what α, w, b, … are at a point, `sides` how two sides make a residual, and
`headline` what the residuals are worth. One file a machine (`c_svm`, `nu_svm`, …) lists its steps in order, and
`registry` says whose file that is. The equations are defined in the docstrings of `qpsvm.problems` and read from there;
`source` finds the lines of the library that are these equations. `text` and `page` know only what is shown: the text
and numbers of `shown`.
"""

from qpsvm.derivation.derive import Derivation, derive
from qpsvm.derivation.step import Step

__all__ = ["Derivation", "Step", "derive"]
