"""The derivation of a support vector machine as data: each equation, the code that states it, both sides, its residual.

>>> import qpsvm
>>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
>>> derivation = qpsvm.derive(problem, qpsvm.solve(problem))
>>> print(derivation["CSVM.4"].statement)
∂L/∂w = 0:  w = Σ α_i y_i φ(x_i)
>>> max(derivation.residuals().values()) < 1e-12
True
>>> print(qpsvm.derive(problem, alpha=[0.0, 0.25, 0.25, 0.0]).sides()["CSVM.5"]["of"])
yᵀα, and 0: 0.25 on one side, 0.25 on the other

`step` says what a step is, `quantities` what α, w, b, … are at a point, `residual` how two sides make a residual, and
`headline` what the residuals are worth. An equation is one expression, of `terms` and `expressions`: its LaTeX, its
text, its code and its value come from the same parts. `steps.argument` has what a machine says once, `steps.shared` the
argument that all machines share, `steps.two_class` the terms of two-class machines, and one file per machine (`c_svm`,
`nu_svm`, …) its own terms and steps;
`registry` says whose file that is. `source` finds the lines of the library that are these equations, and `page` knows
only what is shown: the text and numbers of `shown`.
"""

from qpsvm.derivation.derive import derive
from qpsvm.derivation.derived import Derivation
from qpsvm.derivation.step import Step

__all__ = ["Derivation", "Step", "derive"]
