"""
A proof that no hard margin exists
==================================

Where the hulls of the classes meet, no line separates them. `solve` raises an error that carries a point of both hulls,
and the picture draws it.
"""

import numpy as np

import qpsvm

X = np.array([[0.0, 0.0], [2.0, 0.2], [1.0, 2.0], [0.8, 0.6], [2.4, 1.8], [2.2, -0.6]])
y = np.array([-1, -1, -1, 1, 1, 1])
problem = qpsvm.HardMargin(X, y)
proof = qpsvm.solve(problem, check=False).error
ax = qpsvm.plotting.hulls(problem, proof)

# %%
# The weights of the proof are there for everyone to check.

print(proof.u @ X, proof.v @ X)
