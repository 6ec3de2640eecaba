"""Solve QPs by CVXPY: a modelling language for many solvers (Diamond & Boyd 2016); by default Clarabel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import ALL_MACHINES, Abilities
from qpsvm.backends.base import Backend, check_known_options
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import Limits
from qpsvm.backends.packages import find_installed_version
from qpsvm.backends.requirements import LazyImport, Memory
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.base.resources.captured_output import capture_output
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.space.operators import Diagonal

DEFAULT_SOLVER = "CLARABEL"

#: Every status that CVXPY names.
STATUS = {
    "optimal": Status.OPTIMAL,
    "optimal_inaccurate": Status.INACCURATE,
    "infeasible": Status.INFEASIBLE,
    "infeasible_inaccurate": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "unbounded_inaccurate": Status.UNBOUNDED,
    "infeasible_or_unbounded": Status.INFEASIBLE,
    "user_limit": Status.ITERATION_LIMIT,
    "solver_error": Status.NUMERICAL_ERROR,
}
WITH_POINT = frozenset({"optimal", "optimal_inaccurate", "user_limit"})
#: Part of CVXPY's message about data in which a number has overflowed.
NOT_FINITE = "contains NaN or Inf"

#: Each solver's names of the common settings: tolerances, iteration limit, time limit.
LIMIT_SETTINGS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "CLARABEL": (("tol_gap_abs", "tol_gap_rel", "tol_feas"), "max_iter", "time_limit"),
    "OSQP": (("eps_abs", "eps_rel"), "max_iter", "time_limit"),
    "SCS": (("eps_abs", "eps_rel"), "max_iters", "time_limit_secs"),
}
SCS_SETTINGS = frozenset(
    ("acceleration_interval", "acceleration_lookback", "adaptive_scale", "alpha", "eps_abs", "eps_infeas", "eps_rel",
     "max_iters", "normalize", "rho_x", "scale", "time_limit_secs", "use_indirect")
)  # fmt: skip


class CvxpyBackend(Backend):
    """`cvxpy.Problem.solve`."""

    name = "cvxpy"
    abilities = Abilities(
        summary="any QP; as a modelled problem that a reader can extend; solver=… chooses Clarabel, SCS, OSQP, …",
        dual=ALL_MACHINES, primal=ALL_MACHINES, accepts_any_qp=True, linear_form="primal",  # it is sparse
        package="cvxpy",
    )  # fmt: skip
    lazy_import = LazyImport("cvxpy", 1.2e9, seconds=1.0)
    memory = Memory(dual=18.0, primal=20.0, copies=40.0)

    def options(self) -> frozenset[str]:
        """Return `solver` and the names of the settings of the default solver."""
        return frozenset({"solver"}) | _list_settings(DEFAULT_SOLVER)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Check that the solver named by `solver=` has these settings. Raises UnknownOptionError."""
        import cvxpy

        name = str(options.get("solver", DEFAULT_SOLVER)).upper()
        installed = cvxpy.installed_solvers()
        if name not in installed:
            raise UnknownOptionError(f"cvxpy has no installed solver {name!r}; {describe_nearest(name, installed)}")
        if name not in LIMIT_SETTINGS:  # its settings are not listed anywhere, so CVXPY itself has to reject wrong ones
            return
        check_known_options(name, options, _list_settings(name) | {"solver"})

    def compile(self, qp: QP) -> CvxpyCompiled:
        """Build a `cvxpy.Problem` with named variables and labelled constraints."""
        self.require_package()
        return _build_model(self, qp)


def _list_settings(solver: str) -> frozenset[str]:
    if solver == "CLARABEL":
        import clarabel

        defaults = clarabel.DefaultSettings()
        number_types = (bool, int, float)  # wrong values of others raise a bare Exception, as do those of the one below
        names = (name for name in dir(defaults) if isinstance(getattr(defaults, name), number_types))
        return frozenset(names) - {"direct_kkt_solver"}
    if solver == "OSQP":
        import osqp

        return frozenset(name for name in dir(osqp.OSQP().ext.OSQPSettings) if not name.startswith("_"))
    return SCS_SETTINGS


def _build_model(backend: Backend, qp: QP) -> CvxpyCompiled:
    import cvxpy as cp

    variables = {name: cp.Variable(part.stop - part.start, name=name) for name, part in qp.variables.items()}
    constraints: dict[str, Any] = {}
    for name, group in qp.constraints.items():
        matrix, side = (qp.G, qp.h) if group.matrix == "G" else (qp.A, qp.b)
        if matrix is None or side is None or group.rows.start == group.rows.stop:  # CVXPY may refuse arrays of no rows
            continue
        left = _build_product(matrix[group.rows], qp, variables)
        if group.matrix == "G":
            constraints[name] = left <= side[group.rows]
        else:
            constraints[name] = left == side[group.rows]
    lb, ub = qp.bounds
    for name, part in qp.variables.items():  # bounds as rows: Variable(bounds=…) returns no multipliers
        low, high = (np.flatnonzero(np.isfinite(bound[part])) for bound in (lb, ub))
        if len(low):
            constraints[_make_label(qp, f"{name} >= lb")] = _select_entries(variables[name], low) >= lb[part][low]
        if len(high):
            constraints[_make_label(qp, f"{name} <= ub")] = _select_entries(variables[name], high) <= ub[part][high]
    for name, constraint in constraints.items():
        if hasattr(constraint, "set_label"):
            constraint.set_label(name)
    objective = cp.Minimize(_build_quadratic_term(qp, variables) + _build_linear_term(qp, variables) + qp.r)
    model = cp.Problem(objective, list(constraints.values()))
    return CvxpyCompiled(backend, qp, model, variables=variables, constraints=constraints)


def _make_label(qp: QP, text: str) -> str:
    """Return the name of a bound among the constraints, with underscores appended if a group of rows has that name."""
    while text in qp.constraints:
        text += "_"
    return text


def _select_entries(variable: Any, index: Any) -> Any:
    return variable if len(index) == variable.size else variable[index]


def _build_product(matrix: Any, qp: QP, variables: Mapping[str, Any]) -> Any:
    """Build the product of a matrix and x, without the blocks of variables whose columns are 0."""
    pairs = [(sp.csc_array(matrix[:, part]), variables[name]) for name, part in qp.variables.items()]
    terms = [block @ variable for block, variable in pairs if block.nnz] or [pairs[0][0] @ pairs[0][1]]
    return sum(terms[1:], terms[0])


def _build_linear_term(qp: QP, variables: Mapping[str, Any]) -> Any:
    return sum(qp.q[part] @ variables[name] for name, part in qp.variables.items() if qp.q[part].any())


def _build_quadratic_term(qp: QP, variables: Mapping[str, Any]) -> Any:
    """Build ½xᵀPx in the form that suits CVXPY: factors as sums of squares, full matrices as a quadratic form."""
    import cvxpy as cp

    if isinstance(qp.P, Diagonal):
        if (qp.P.d < 0).any():
            raise UnsupportedError("P has a negative diagonal entry: the QP is not convex, and no backend can take it")
        roots = np.sqrt(qp.P.d)
        parts = [(roots[part], variables[name]) for name, part in qp.variables.items() if roots[part].any()]
        return sum(0.5 * cp.sum_squares(cp.multiply(root, variable)) for root, variable in parts)
    if len(variables) > 1:
        x = cp.hstack(list(variables.values()))
    else:
        x = next(iter(variables.values()))
    factor = qp.P.factor()
    if factor is not None and factor[0].shape[1] <= qp.n:
        Z, d = factor
        squares = 0.5 * cp.sum_squares(Z.T @ x) if Z.shape[1] else 0.0
        if d.any():
            return squares + 0.5 * cp.sum_squares(cp.multiply(np.sqrt(d), x))
        return squares
    return 0.5 * cp.quad_form(x, qp.P.dense(), assume_PSD=True)


class CvxpyCompiled(Compiled):
    """A `cvxpy.Problem`, with its variables and constraints by name."""

    variables: dict[str, Any]
    constraints: dict[str, Any]

    def __getstate__(self) -> tuple[Backend, QP]:
        """Omit CVXPY's objects, which cannot be pickled once they have been solved."""
        return self.backend, self.qp

    def __setstate__(self, state: tuple[Backend, QP]) -> None:
        """Build the model again."""
        self.__dict__.update(vars(_build_model(*state)))

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        import cvxpy as cp

        settings = dict(options)
        name = str(settings.pop("solver", DEFAULT_SOLVER)).upper()
        settings = _translate_limits(name, limits) | settings
        try:
            with capture_output(f"cvxpy/{name.lower()}", limits.verbose):
                iterations = _solve_model(self.data, name, limits.verbose, settings)
        except (cp.error.SolverError, ArithmeticError, ValueError) as error:
            if isinstance(error, ValueError) and NOT_FINITE not in str(error):
                raise
            if str(error).strip().isdigit():  # OSQP's setup rejects settings with an error code
                raise ValueError(f"{name}'s setup ended with code {error}") from error
            if "not support" in str(error) or "cannot solve" in str(error):
                raise ParameterError(f"cvxpy's solver {name} cannot take a QP; use CLARABEL, the default") from error
            raw = f"raised {type(error).__name__}: {str(error).splitlines()[0]}"
            return QPSolution(
                self.qp, Status.NUMERICAL_ERROR, Solver(f"cvxpy/{name.lower()}", _find_solver_version(name), raw)
            )
        return self._map_solution(name, limits, iterations)

    def _map_solution(self, name: str, limits: Limits, iterations: int | None) -> QPSolution:
        raw = str(self.data.status)
        status = STATUS[raw]
        if raw == "user_limit" and limits.time_limit is not None:  # CVXPY has one status for both limits
            reached = limits.max_iter is not None and iterations is not None and iterations >= limits.max_iter
            status = Status.ITERATION_LIMIT if reached else Status.TIME_LIMIT
        solver = Solver(f"cvxpy/{name.lower()}", _find_solver_version(name), raw)
        used = {variable.id for variable in self.data.variables()}
        values = [  # CVXPY leaves None for a variable that occurs in no term, for which any value is optimal
            variable.value if variable.id in used else np.zeros(variable.shape) for variable in self.variables.values()
        ]
        has_duals = all(constraint.dual_value is not None for constraint in self.constraints.values())
        if raw not in WITH_POINT or any(value is None for value in values):
            return self._build_solution(status, solver, iterations)
        x = np.concatenate([np.atleast_1d(value) for value in values])
        y, z, z_box = self._read_duals() if has_duals else self._build_zero_duals()
        return self._build_solution(status, solver, iterations, x, y=y, z=z, box=z_box)

    def _build_zero_duals(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        p, m = (0 if side is None else len(side) for side in (self.qp.b, self.qp.h))
        return np.zeros(p), np.zeros(m), np.zeros(self.qp.n)

    def _read_duals(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        y, z, z_box = self._build_zero_duals()
        for name, group in self.qp.constraints.items():
            if name in self.constraints:
                (z if group.matrix == "G" else y)[group.rows] = self.constraints[name].dual_value
        lb, ub = self.qp.bounds
        for name, part in self.qp.variables.items():
            for text, sign, bound in ((f"{name} >= lb", -1.0, lb), (f"{name} <= ub", 1.0, ub)):
                label = _make_label(self.qp, text)
                if label in self.constraints:
                    index = part.start + np.flatnonzero(np.isfinite(bound[part]))
                    z_box[index] += sign * self.constraints[label].dual_value
        return y, z, z_box


def _solve_model(problem: Any, name: str, verbose: bool, settings: dict[str, Any]) -> int | None:
    """Run the steps of `cvxpy.Problem.solve` without its warning about inaccuracy; return the iterations, if known.

    The certificate makes the warning superfluous. It is not filtered, because `warnings.catch_warnings` in one thread
    affects all others, and may leave the filters changed.
    """
    import cvxpy as cp

    data, chain, inverse = problem.get_problem_data(name, verbose=verbose, solver_opts=settings)
    # a warm start would reuse the limits of the last run
    raw = chain.solve_via_data(problem, data, warm_start=False, verbose=verbose, solver_opts=settings)
    solution = chain.invert(raw, inverse)
    if solution.status in cp.settings.ERROR:
        raise cp.error.SolverError(f"Solver '{name}' failed.")
    problem.unpack(solution)
    iterations = solution.attr.get(cp.settings.NUM_ITERS)
    return None if iterations is None else int(iterations)


def _translate_limits(solver: str, limits: Limits) -> dict[str, Any]:
    tolerances, iterations, seconds = LIMIT_SETTINGS.get(solver, ((), "max_iter", "time_limit"))
    settings: dict[str, Any] = {}
    if limits.tol is not None:
        settings |= dict.fromkeys(tolerances, min(1e-8, limits.tol / 10))
    if limits.max_iter is not None:
        settings[iterations] = int(limits.max_iter)
    if limits.time_limit is not None:
        settings[seconds] = float(limits.time_limit)
    return settings


def _find_solver_version(solver: str) -> str:
    return find_installed_version(solver.lower()) or find_installed_version("cvxpy") or "?"
