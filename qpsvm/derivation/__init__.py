"""The derivation of a support vector machine as data: each equation, the code that states it, both sides, its residual.

>>> import qpsvm
>>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
>>> derivation = qpsvm.derive(problem, qpsvm.solve(problem))
>>> print(derivation["CSVM.4"].statement)
∂L/∂w = 0:  w = Σ α_i y_i φ(x_i)
>>> max(derivation.residuals().values()) < 1e-12
True
>>> print(qpsvm.derive(problem, alpha=[0.0, 0.25, 0.25, 0.0]).sides()["CSVM.5"]["description"])
yᵀα, and 0: 0.25 on one side, 0.25 on the other

`step` defines a step, `quantities` evaluates α, w, b, … at a point, `residual` computes a residual from two sides, and
`headline` summarises the residuals. An equation is one expression, built from `terms` and `expressions`: its LaTeX, its
text, its code and its value come from the same parts. `steps.formulas` defines the terms of a machine, `steps.assemble`
puts the steps in order, and `steps.two_class` defines the terms of two-class machines. One file per machine (`c_svm`,
`nu_svm`, …) defines its own terms and steps, and `registry` finds that file. `source` finds the lines of the library
that implement the equations, and `written` formats the text and numbers of `display`.
"""

from qpsvm.derivation.derive import derive
from qpsvm.derivation.derived import Derivation
from qpsvm.derivation.step import Step

__all__ = ["Derivation", "Step", "derive"]
