"""
The samples that a machine stands on
====================================

How far does the machine move without each sample? Those with α = 0 move nothing. Of the others each is as large as f
moves without it: few of them decide where the boundary is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(80, noise=0.25, random_state=2)
problem = qpsvm.CSVM(X, y, C=3, kernel=qpsvm.RBF(1.0))
result = qpsvm.solve(problem)
found = qpsvm.influence(problem, result)
print(found)
qpsvm.plotting.influence(problem, result, found)
plt.show()

# %%
# A support vector may hardly matter, since others make up for it; one that matters has a large α, and not only that.

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
support = result.alpha > 0
ax.plot(result.alpha[support], found.distance[support] / found.norm, "o", color="black", markersize=4)
ax.set(xlabel="α", ylabel=r"$\|w - w_{-i}\|\,/\,\|w\|$", title=f"{np.sum(support)} support vectors")
plt.show()
