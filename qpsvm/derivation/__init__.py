"""The derivation of a support vector machine as data: each equation, the code that states it, its residual.

    >>> print(qpsvm.derive(problem, result))                     # doctest: +SKIP
    >>> qpsvm.derive(problem, result).to_html("derivation.html") # doctest: +SKIP

`step` says what a step is, `letters` what α, w, b, … are at a solution, and one file a variant lists its steps in
order. The equations themselves are defined in the docstrings of `qpsvm.problems`, and read from there.
"""

from qpsvm.derivation.derive import Derivation, derive
from qpsvm.derivation.step import Step

__all__ = ["Derivation", "Step", "derive"]
