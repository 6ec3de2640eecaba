"""
Probabilities, and sets that keep their word
============================================

The decisions on samples by machines that have never seen them, exact and certified, say what a decision is worth. Left
the probabilities that come of them. Right the sets among which the true class is with 90 %: one class where the machine
knows, two where it does not, none where a sample is like neither.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch
from sklearn.datasets import make_moons

from qpsvm.estimators import SVC

X, y = make_moons(1150, noise=0.3, random_state=0)
X, new, y, truth = X[:150], X[150:], y[:150], y[150:]
machine = SVC(gamma=1.0, probability=True).fit(X, y)
across, up = np.meshgrid(np.linspace(-2.2, 3.2, 120), np.linspace(-1.8, 2.2, 90))
plane = np.column_stack([across.ravel(), up.ravel()])
chance = machine.predict_proba(plane)[:, 1].reshape(across.shape)
sets = machine.prediction_sets(plane, alpha=0.1)
kind = (sets[:, 0] + 2 * sets[:, 1]).reshape(across.shape)
inside = machine.prediction_sets(new, alpha=0.1)[np.arange(len(new)), truth].mean()

figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.4), layout="constrained", sharey=True)
drawn = left.contourf(across, up, chance, np.linspace(0, 1, 11), cmap="RdBu")
left.set(title="probability of class 1 (circles)")
figure.colorbar(drawn, ax=left)
colours = ["#ffffff", "#f6d5c1", "#c1dcec", "#bbbbbb"]
right.contourf(across, up, kind, np.arange(-0.5, 4), colors=colours)
right.set(title=f"90 % sets: {inside:.1%} of 1000 new samples within")
words = ["neither", "{0}", "{1}", "{0, 1}"]
right.legend([Patch(facecolor=c, edgecolor="grey") for c in colours], words, fontsize=8, loc="lower left")
for ax in (left, right):
    for label, marker in ((0, "^"), (1, "o")):
        ax.plot(*X[y == label].T, marker, color="black", markersize=3, fillstyle="none")
    ax.set(xticks=[], yticks=[])
plt.show()
