"""Both sides of the optimum of any convex QP: numbers with their rounding, the sides, faces, and implied bounds."""
