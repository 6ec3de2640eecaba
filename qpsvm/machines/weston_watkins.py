"""All-in-one multiclass SVM with one slack per rival class (Weston & Watkins 1999), from primal to dual and back.

Derivation
----------
Each of k classes has its own f_c(x) = ⟨w_c, φ(x)⟩ + b_c, and a sample x is assigned to the class c with the largest
f_c(x). y = y_i is the class of sample i, every class c ≠ y is a rival of it, ξ_ic ≥ 0 is the slack of this pair, C_i
its penalty, C times the weight s_i, and P the objective of (WWMC.2).

    (WWMC.1)  level:  f_y(x_i) − f_c(x_i) should be at least 1, as in most later texts;  in the paper it is 2. To
              convert, put w = w′/2, b = b′/2, ξ = ξ′/2:  the constraints f_y − f_c ≥ 1 − ξ become f′_y − f′_c ≥ 2 − ξ′,
              and 4P = ½Σ_c ‖w′_c‖² + Σ_ic 2C_i ξ′_ic, plus ½Σ_c b′_c² of a penalised intercept. So the machine of the
              paper with the penalty 2C_i is this one with C_i, and its f′_c = 2f_c
    (WWMC.2)  primal:  minimise ½Σ_c ‖w_c‖² + Σ_ic C_i ξ_ic  (plus ½Σ_c b_c² of a penalised intercept)  over w, b, ξ
              subject to  f_y(x_i) − f_c(x_i) ≥ 1 − ξ_ic, ξ_ic ≥ 0  for every rival c of i;  only differences of b
              count: Σ_c b_c = 0 of the result
    (WWMC.3)  Lagrangian:  L = ½Σ_c ‖w_c‖² + Σ_ic C_i ξ_ic − Σ_ic α_ic (f_y(x_i) − f_c(x_i) − 1 + ξ_ic) − Σ_ic η_ic
              ξ_ic,  α, η ≥ 0;  plus ½Σ_c b_c² of a penalised intercept
    (WWMC.4)  ∂L/∂w_c = 0:  w_c = Σ_i β_ic φ(x_i),  β_ic = −α_ic for a rival c,  β_iy = Σ_c α_ic
    (WWMC.5)  ∂L/∂b_c = 0:  Σ_i β_ic = 0 for every class, of a free intercept;  b_c = Σ_i β_ic of a penalised one
    (WWMC.6)  ∂L/∂ξ_ic = 0:  η_ic = C_i − α_ic
    (WWMC.7)  dual feasibility:  α_ic ≥ 0 and η_ic ≥ 0, that is 0 ≤ α_ic ≤ C_i
    (WWMC.8)  complementary slackness:  α_ic (f_y(x_i) − f_c(x_i) − 1 + ξ_ic) = 0  and  (C_i − α_ic) ξ_ic = 0
    (WWMC.9)  dual:  minimise ½Σ_c β_cᵀKβ_c − Σ_ic α_ic  subject to  0 ≤ α_ic ≤ C_i,  and, for a free intercept, Σ_i
              β_ic = 0;  plus ½Σ_c (Σ_i β_ic)² of a penalised one, that is K + 1 for K
    (WWMC.10)  f is recovered from α:  f_c(x) = Σ_i β_ic K(x_i, x) + b_c, with Σ_c w_c = 0, since Σ_c β_ic = 0
    (WWMC.11)  three kinds of rows:  α_ic = 0 and f_y − f_c ≥ 1;  0 < α_ic < C_i and f_y − f_c = 1;  α_ic = C_i and
               f_y − f_c ≤ 1
    (WWMC.12)  strong duality:  the optimal values of (WWMC.2) and (WWMC.9) differ in sign only
    (WWMC.13)  weak duality:  P − D = ½Σ_c ‖w_c − w_c(α)‖² + Σ_ic [α_ic (f_y − f_c − 1 + ξ_ic) + (C_i − α_ic) ξ_ic] ≥ 0,
               plus ½Σ_c (b_c − Σ_i β_ic)² of a penalised intercept
    (WWMC.14)  two classes:  w_2 = −w_1, and 2w_2 is the w of a C-SVM with twice the C:  f_2 − f_1 is its f, and
               P is half of its value

Implementation
--------------
`build_primal_qp` of `class_forms` is (WWMC.2), `build_dual_qp` is (WWMC.9).
"""

from __future__ import annotations

from qpsvm.machines.problem.all_in_one import AllInOneProblem


class WestonWatkins(AllInOneProblem):
    """All-in-one multiclass machine: f of the own class exceeds each other by 1, with one slack per rival class.

    Parameters
    ----------
    y : array_like of shape (n,), or str
        Labels of two classes or more: numbers, text or booleans. If X is a file, also the name of a column.
    C : float or array_like, shape (n,), default=1
        Penalty per unit of slack, positive; one for all samples, or one per sample.
    sample_weight : array_like, shape (n,), optional
        C_i = C · s_i; a sample of weight 0 takes no part.

    See Also
    --------
    CrammerSinger : One slack per sample.
    CSVM : Two classes.

    References
    ----------
    Weston & Watkins, *Support vector machines for multi-class pattern recognition*, ESANN (1999); Doğan, Glasmachers &
    Igel, *A unified view on multi-class support vector classification*, JMLR 17 (2016).

    Examples
    --------
    Every rival that comes too near costs, not only the nearest:

    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [8.0], [9.0]], ["a", "a", "b", "b", "c", "c"]
    >>> for machine in (qpsvm.CrammerSinger, qpsvm.WestonWatkins):
    ...     result = qpsvm.solve(machine(X, y, C=0.01))
    ...     print(result.status, round(result.primal, 6))
    optimal 0.0479
    optimal 0.077551
    """

    _has_shared_slack, _short_name = False, "Weston-Watkins"
    _primal_tag, _dual_tag = "WWMC.2", "WWMC.9"
