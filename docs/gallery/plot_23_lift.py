"""
The kernel lift
===============

No line parts a disc from the ring around it. With half the squared distance from the origin as a third feature a plane
does; where it cuts the bowl on which all samples lie is the boundary that the plane of the samples shows as a circle.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

import qpsvm

X, y = make_circles(80, factor=0.35, noise=0.08, random_state=0)
lifted = np.column_stack([X, 0.5 * (X**2).sum(axis=1)])
result = qpsvm.solve(qpsvm.CSVM(lifted, y, C=10))
w, b = result.w, result.b

fig = plt.figure(figsize=(6.4, 5.6), layout="constrained")
ax = fig.add_subplot(projection="3d", elev=14, azim=-60)
line = np.linspace(-1.2, 1.2, 30)
across, up = np.meshgrid(line, line)
ax.plot_wireframe(across, up, 0.5 * (across**2 + up**2), color="0.8", linewidth=0.5, rstride=3, cstride=3)
ax.plot_surface(across, up, -(w[0] * across + w[1] * up + b) / w[2], color="0.4", alpha=0.25)
for label, marker, color in ((0, "^", "#D55E00"), (1, "o", "#0072B2")):
    ax.scatter(*lifted[y == label].T, marker=marker, color=color, label=f"class {label}", depthshade=False)
ax.scatter(*lifted[result.support].T, s=90, facecolors="none", edgecolors="black", label="support vectors")
ax.set(xlabel="$x_1$", ylabel="$x_2$", zlabel=r"$\frac{1}{2}\|x\|^2$")
ax.legend(loc="upper left")
