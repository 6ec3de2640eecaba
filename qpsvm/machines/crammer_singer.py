"""All-in-one multiclass SVM with one slack per sample (Crammer & Singer 2001): its derivation and its class.

Derivation
----------
Each of k classes has its own f_c(x) = ⟨w_c, φ(x)⟩ + b_c, and a sample goes to the class whose f_c is the largest. y is
the class of sample i, every c ≠ y is a rival, and C_i = C s_i with the weights s.

    (CSMC.1)  margin:  f_y(x_i) − f_c(x_i) changes by ‖w_y − w_c‖ for each unit of length, so that a small Σ_c ‖w_c‖²
              keeps every sample far from the border with every rival
    (CSMC.2)  primal:  minimise ½Σ_c ‖w_c‖² + Σ_i C_i ξ_i  (plus ½Σ_c b_c² of a penalised intercept)  over w, b, ξ
              subject to  f_y(x_i) − f_c(x_i) ≥ 1 − ξ_i  for every rival c of i,  ξ_i ≥ 0;  only differences of b count:
              Σ_c b_c = 0 of the result
    (CSMC.3)  Lagrangian:  L = ½Σ_c ‖w_c‖² + Σ_i C_i ξ_i − Σ_ic α_ic (f_y(x_i) − f_c(x_i) − 1 + ξ_i) − Σ_i η_i ξ_i, α, η
              ≥ 0;  plus ½Σ_c b_c² of a penalised intercept
    (CSMC.4)  ∂L/∂w_c = 0:  w_c = Σ_i β_ic φ(x_i),  β_ic = −α_ic for a rival c,  β_iy = Σ_c α_ic
    (CSMC.5)  ∂L/∂b_c = 0:  Σ_i β_ic = 0 for every class, of a free intercept;  b_c = Σ_i β_ic of a penalised one
    (CSMC.6)  ∂L/∂ξ_i = 0:  η_i = C_i − Σ_c α_ic
    (CSMC.7)  dual feasibility:  α_ic ≥ 0 and η_i ≥ 0, that is Σ_c α_ic ≤ C_i
    (CSMC.8)  complementary slackness:  α_ic (f_y(x_i) − f_c(x_i) − 1 + ξ_i) = 0  and  (C_i − Σ_c α_ic) ξ_i = 0
    (CSMC.9)  dual:  minimise ½Σ_c β_cᵀKβ_c − Σ_ic α_ic  subject to  α ≥ 0,  Σ_c α_ic ≤ C_i,  and, for a free intercept,
              Σ_i β_ic = 0;  plus ½Σ_c (Σ_i β_ic)² of a penalised one, that is K + 1 for K
    (CSMC.10)  f is recovered from α:  f_c(x) = Σ_i β_ic K(x_i, x) + b_c, with Σ_c w_c = 0, since Σ_c β_ic = 0
    (CSMC.11)  three kinds of rows:  α_ic = 0 and f_y − f_c ≥ 1 − ξ_i;  α_ic > 0 and Σ_c α_ic < C_i:  f_y − f_c = 1, and
               ξ_i = 0;  α_ic > 0 and Σ_c α_ic = C_i:  f_y − f_c = 1 − ξ_i
    (CSMC.12)  strong duality:  the optimal values of (CSMC.2) and (CSMC.9) differ in sign only
    (CSMC.13)  weak duality:  P − D = ½Σ_c ‖w_c − w_c(α)‖² + Σ_ic α_ic (f_y − f_c − 1 + ξ_i) + Σ_i (C_i − Σ_c α_ic) ξ_i
               ≥ 0,  plus ½Σ_c (b_c − Σ_i β_ic)² of a penalised intercept
    (CSMC.14)  two classes:  w_1 = −w_2, and f_2 − f_1, with the weights 2w_2, is the f of a C-SVM with twice the C,
               whose P is twice as large

Implementation
--------------
`build_primal_qp` of `class_forms` is (CSMC.2), `build_dual_qp` is (CSMC.9). With a penalised intercept, or none, it is
the machine of LIBLINEAR's solver 4, which scikit-learn calls LinearSVC(multi_class="crammer_singer").
"""

from __future__ import annotations

from qpsvm.machines.problem.all_in_one import AllInOneProblem


class CrammerSinger(AllInOneProblem):
    """All-in-one multiclass SVM: f of a sample's class is to exceed every other by 1, with one slack per sample.

    Parameters
    ----------
    y : array_like of shape (n,), or str
        Labels of two classes or more: numbers, text or booleans. If X is a file, also the name of a column.
    C : float or array_like, shape (n,), default=1
        Penalty per unit of slack, positive; one for all samples, or one per sample.
    sample_weight : array_like, shape (n,), optional
        C_i = C · s_i; a sample of weight 0 takes no part.
    intercept : "free", "penalised" or None, default="free"
        Whether b is outside the norm, inside it, or absent. LIBLINEAR has the last two.

    See Also
    --------
    WestonWatkins : A slack for every rival.
    CSVM : Two classes.

    References
    ----------
    Crammer & Singer, *On the algorithmic implementation of multiclass kernel-based vector machines*, JMLR 2 (2001).

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [8.0], [9.0]], ["a", "a", "b", "b", "c", "c"]
    >>> result = qpsvm.solve(qpsvm.CrammerSinger(X, y, C=10))
    >>> print(result.status, round(result.primal, 6), (result.w[2] - result.w[0]).round(6))
    optimal 0.444444 [1.333333]
    >>> print(result.predict([[2.0], [3.0], [7.0]]))
    ['a' 'b' 'c']
    """

    _has_shared_slack, _short_name = True, "Crammer-Singer"
    _primal_tag, _dual_tag = "CSMC.2", "CSMC.9"
