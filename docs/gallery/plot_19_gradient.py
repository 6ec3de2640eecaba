"""
C and γ by gradient
===================

The leave-one-out loss is exact, and so is its gradient: every machine without a sample is certified, and has
derivatives by C and γ. The loss has several minima, so a coarse grid says where to begin, and gradients go on from
there to what lies between its points.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(40, noise=0.3, random_state=0)
sign = np.where(y > 0, 1.0, -1.0)


def left_out(logs):
    """The machine with these parameters, and y f of each sample without itself."""
    C, gamma = np.exp(logs)
    whole = qpsvm.solve(qpsvm.CSVM(X, y, C=C, kernel=qpsvm.RBF(gamma)), tol=1e-10)
    return whole, sign * qpsvm.leave_one_out(whole.problem, whole).decision


def loss(logs):
    """The mean of log(1 + exp(−y f)), and its gradient by log C and log γ."""
    C, gamma = np.exp(logs)
    whole, f = left_out(logs)
    slope = -sign / (1.0 + np.exp(f)) / len(f)
    idle = whole.alpha == 0.0  # the machine without such a sample is that of all
    parts = [qpsvm.vjp(whole, X[idle], slope[idle])] if idle.any() else []
    for i in np.flatnonzero(~idle):
        rest = qpsvm.CSVM(np.delete(X, i, axis=0), np.delete(y, i), C=C, kernel=qpsvm.RBF(gamma))
        parts.append(qpsvm.vjp(qpsvm.solve(rest, tol=1e-10, start=np.delete(whole.alpha, i)), X[[i]], slope[[i]]))
    gradient = [sum(part[name] for part in parts) for name in ("C", "gamma")]
    return np.logaddexp(0.0, -f).mean(), np.array(gradient) * np.exp(logs)


across, up = np.linspace(-1, 7, 9), np.linspace(-5, 3, 9)
values = np.array([[np.logaddexp(0.0, -left_out((c, g))[1]).mean() for c in across] for g in up])
coarse = values[::4, ::4]  # the others are for the picture alone
row, column = np.unravel_index(coarse.argmin(), coarse.shape)
steps = [np.array([across[4 * column], up[4 * row]])]
print(f"C = {np.exp(steps[0][0]):.3g}, γ = {np.exp(steps[0][1]):.3g} is the best of {coarse.size}: {coarse.min():.4f}")

options = {"maxiter": 6}
bounds = [(-1, 7), (-5, 3)]
found = minimize(loss, steps[0], jac=True, method="L-BFGS-B", bounds=bounds, callback=steps.append, options=options)
print(f"C = {np.exp(found.x[0]):.3g}, γ = {np.exp(found.x[1]):.3g}: {found.fun:.4f}, {found.nfev} gradients later")

# %%
# Lines of equal loss, and the steps.

figure, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
lines = ax.contour(np.exp(across), np.exp(up), values, levels=20, colors="0.6", linewidths=0.8)
ax.clabel(lines, lines.levels[::4], fontsize="small")
ax.plot(*np.exp(steps).T, "o-", color="black", markersize=4, label=f"steps, from {coarse.min():.4f}")
ax.plot(*np.exp(found.x), "*", color="#D55E00", markersize=14, label=f"found: {found.fun:.4f}")
ax.set(xscale="log", yscale="log", xlabel="C", ylabel="γ", title="exact leave-one-out loss")
ax.legend()
plt.show()
