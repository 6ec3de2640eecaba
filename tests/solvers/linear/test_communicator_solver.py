"""The linear solver run by several members, each with its own rows: the same answer as by one process with all rows."""

from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.sparse as sp
from communicators import ThreadCommunicator, together

from qpsvm.base.errors import DataError, ParameterError
from qpsvm.data.rows import Centred, ChunkRows, SomeRows, Tiled, WithOnes, as_row_source
from qpsvm.program.losses import per_row
from qpsvm.solvers.linear.row_problem import RowLosses
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.linear.solve import State, solve_linear
from qpsvm.solvers.linear.working_set import is_large
from qpsvm.solvers.shared.line_search import SLOPE_SHARE, Slope, find_step

TOL = 1e-7


@pytest.fixture
def early_bands(monkeypatch):
    """The working set begins with fewer rows than it pays for."""
    monkeypatch.setattr("qpsvm.solvers.linear.working_set.SETTINGS", replace(SETTINGS, sample_rows=400))


def samples(n=240, d=4, seed=0, ordered=True):
    """Two classes that overlap, one behind the other, so that members have rows of one class only; and targets."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.4, 1.0, -1.0)
    y = np.sort(y) if ordered else y
    X = random.standard_normal((n, d)) + 3.0
    X[:, 0] += y
    return X, y, X @ np.arange(1.0, d + 1.0) + random.standard_normal(n)


def weights(n):
    """One number on the first rows, so that a member has one number for all of its rows and the next has not."""
    return np.concatenate([np.ones(n // 2), np.linspace(0.5, 2.0, n - n // 2)])


#: Losses from the targets t.
LOSSES = {
    "hinge": lambda _t: RowLosses(1.0),
    "hinge, weights": lambda t: RowLosses(weights(len(t))),
    "squared hinge": lambda _t: RowLosses(np.inf, curvature=0.5),
    "squared hinge, weights": lambda t: RowLosses(np.inf, curvature=1.0 / weights(len(t))),
    "Huber's hinge": lambda _t: RowLosses(1.0, curvature=0.5),
    "tube": lambda t: RowLosses(1.0, t, -1.0, 0.3),
    "squared tube": lambda t: RowLosses(np.inf, t, -np.inf, 0.3, 0.5),
    "quantile": lambda t: RowLosses(0.7, t, -0.3),
}


def of(losses, rows):
    """The losses of some rows, as a member makes them that knows of no others: one number where its rows have one."""
    names = ("high", "level", "low", "tube", "curvature")
    kept = {name: getattr(losses, name) for name in names}
    return RowLosses(**{k: per_row(v[rows]) if isinstance(v, np.ndarray) else v for k, v in kept.items()})


def shares(n, size):
    """Where the members' rows begin and end; of three members the second has none."""
    cuts = {1: [0, n], 2: [0, n // 3, n], 3: [0, n // 3, n // 3, n]}[size]
    return [slice(cuts[k], cuts[k + 1]) for k in range(size)]


def spread(X, y, losses, size, start=None, **options):
    """`solve_linear` by so many members; and α of all rows."""

    def program(comm):
        part = shares(len(y), size)[comm.rank]
        begin, end = part.start, part.stop
        middle = (begin + end) // 2
        chunks = [X[begin:middle], X[middle:end]] if end > begin else []
        own = {"start": (start.w, start.b, start.alpha[part])} if start is not None else {}
        source = ChunkRows(chunks, comm, X.shape[1])
        return solve_linear(source, y[part], of(losses, part), **{"tol": TOL, **options}, **own)

    answers = together(size, program)
    return answers, np.concatenate([answer.alpha for answer in answers])


def gap_by_hand(X, y, losses, intercept, answer, alpha, total=0.0):
    """The relative gap of w, b and all α, and what is missing to yᵀα = `total`."""
    f = X @ answer.w + answer.b
    reduced_gradient, sum_ = X.T @ (alpha * y), float(alpha @ y)
    penalised = 0.5 * (intercept == "penalised")
    primal = 0.5 * answer.w @ answer.w + penalised * answer.b**2 + losses.loss(losses.residuals(y * f))
    primal += answer.b * total
    dual = losses.worth(alpha) - 0.5 * reduced_gradient @ reduced_gradient - penalised * sum_**2
    assert (alpha >= losses.low).all()
    assert (alpha <= losses.high).all()
    return (primal - dual) / max(abs(primal), abs(dual)), sum_ - total if intercept == "free" else 0.0


def check(X, y, losses, intercept, size, total=0.0, **options):
    """Solved by one process and by a communicator: both certified, by the same numbers on each member."""
    alone = solve_linear(X, y, losses, intercept=intercept, tol=TOL, total=total)
    answers, alpha = spread(X, y, losses, size, intercept=intercept, total=total, **options)
    first = answers[0]
    assert first.reason == alone.reason == "converged"
    for answer in answers:
        np.testing.assert_array_equal(answer.w, first.w)
        assert (answer.b, answer.gap, answer.iterations) == (first.b, first.gap, first.iterations)
    gap, missing = gap_by_hand(X, y, losses, intercept, first, alpha, total)
    assert abs(missing) <= 1e-9
    assert gap <= TOL
    assert gap == pytest.approx(first.gap, abs=1e-11)
    apart = np.linalg.norm(first.w - alone.w)  # both are within their gaps of the one optimum, ½‖w − w*‖² ≤ P − P*
    assert apart <= 4.0 * np.sqrt(TOL * (0.5 * alone.w @ alone.w + losses.loss(losses.residuals(y * (X @ alone.w)))))
    return first


@pytest.mark.parametrize("intercept", ["free", "penalised", None])
@pytest.mark.parametrize("name", LOSSES)
def test_members_find_what_one_process_finds(name, intercept):
    X, y, t = samples()
    sign = y if "hinge" in name else np.ones(len(y))
    for size in (2, 3):
        check(X, sign, LOSSES[name](t), intercept, size)


@pytest.mark.parametrize("name", ["hinge", "hinge, weights", "tube", "squared hinge"])
@pytest.mark.usefixtures("early_bands")
def test_members_find_it_by_bands(name):
    X, y, t = samples(4000, 3)
    assert is_large(*X.shape)
    sign = y if "hinge" in name else np.ones(len(y))
    stages = []
    check(X, sign, LOSSES[name](t), "free", 3, keep=lambda state: stages.append(state.stage))
    assert ("subsample" in stages) == (name != "squared hinge")
    alone = solve_linear(X, sign, LOSSES[name](t))
    answers, alpha = spread(X, sign, LOSSES[name](t), 3, start=alone)
    assert gap_by_hand(X, sign, LOSSES[name](t), "free", answers[0], alpha)[0] <= TOL


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_more_columns_than_rows(sparse, intercept):
    """By conjugate gradients."""
    X, y, t = samples(45, 110)
    X = sp.csr_array(np.where(X > 3.0, X - 3.0, 0.0)) if sparse else X
    check(X, y, RowLosses(1.0), intercept, 3)
    check(X, np.ones(45), RowLosses(per_row(weights(45)), t, 0.0 - weights(45), 0.0, 0.1), intercept, 2)


def test_sparse_chunks_and_chunks_of_single_precision():
    X, y, _ = samples(300, 6)
    check(sp.csr_array(X * (X > 3.0)), y, RowLosses(1.0), "free", 3)
    check(X.astype(np.float32), y, RowLosses(1.0), "free", 3)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_given_sum_of_multipliers(sign):
    """As of one class: where to begin follows from quantiles over all members' rows."""
    X, _, _ = samples(300, 4)
    check(X, np.full(300, sign), RowLosses(1.0, 0.0), "free", 3, total=sign * 120.0)


@pytest.mark.usefixtures("early_bands")
def test_it_goes_on_from_each_state_that_was_kept():
    """By another number of members, to the same accuracy; in the caller's coordinates, whatever the rows are."""
    for n, name in ((240, "hinge"), (240, "quantile"), (12_000, "hinge"), (12_000, "tube")):
        X, y, t = samples(n, 3)
        sign, losses = (y if name == "hinge" else np.ones(n)), LOSSES[name](t)
        states: list[State] = []
        spread(X, sign, losses, 2, keep=states.append)
        assert {state.stage for state in states} == ({"rows"} if n == 240 else {"subsample", "band"})
        for state in states[:: max(1, len(states) // 4)]:
            answers, alpha = spread(X, sign, losses, 3, begun=state)
            assert answers[0].reason == "converged"
            assert gap_by_hand(X, sign, losses, "free", answers[0], alpha)[0] <= TOL
    with pytest.raises(ParameterError, match="begin anew"):
        solve_linear(X, sign, losses, begun=replace(states[0], sigma=0.0))
    with pytest.raises(DataError, match="w of the state"):
        solve_linear(X, sign, losses, begun=replace(states[0], w=np.zeros(2)))


class Counted(ThreadCommunicator):
    """It writes down how many numbers each of its messages has."""

    lengths: list[int]

    def _told(self, way, values):
        self.lengths.append(sum(getattr(value, "size", 1) for value in values))
        return super()._told(way, values)


@pytest.mark.usefixtures("early_bands")
def test_messages_do_not_grow_with_the_rows():
    d, longest = 5, []
    for n in (4000, 12_000):
        X, y, _ = samples(n, d)
        lengths: dict[int, list[int]] = {}

        def program(comm, X=X, y=y, lengths=lengths):
            counted = Counted(comm.table, comm.rank, comm.size)
            counted.lengths = lengths.setdefault(comm.rank, [])
            part = shares(len(y), 2)[comm.rank]
            heard = []
            answer = solve_linear(ChunkRows([X[part]], counted), y[part], 1.0, progress=heard.append)
            assert heard[-1].rows == len(y)
            assert heard[-1].passes >= 2
            return answer

        steps = together(2, program)[0].iterations
        assert lengths[0] == lengths[1]
        assert len(lengths[0]) <= 6 * steps
        longest.append(max(lengths[0]))
    assert max(longest) <= 161  # the Newton system has 21 numbers, the bins of the violators are 161


def test_the_clock_of_one_member_stops_all():
    X, y, _ = samples(300)

    def program(comm):
        part = shares(300, 2)[comm.rank]
        limit = 0.0 if comm.rank else None
        return solve_linear(ChunkRows([X[part]], comm), y[part], 100.0, time_limit=limit).reason

    assert together(2, program) == ["time_limit", "time_limit"]


@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 1.0), (1.0, 1.0), (1e12, 1.0), (1.0, 1e3), (1.0, 1e7)])
def test_a_line_search_over_members_meets_its_promise(scale, shift):
    random = np.random.default_rng(0)
    change, t = scale * random.standard_normal(50), shift * random.standard_normal(50)
    constant = float(change @ np.clip(t, 0, shift)) - scale * shift

    def program(comm):
        part = slice(0, 17) if comm.rank == 0 else slice(17, 50)
        slope = Slope(constant, 1e-3 * scale**2, t[part], change[part], 1.0, shift, comm=comm)
        first = slope(0.0)
        step = find_step(slope, first)
        return abs(slope(step)) / abs(first), step

    (share, step), other = together(2, program)
    assert share <= SLOPE_SHARE * (1.0 + 1e-9)
    assert (share, step) == other


#: What is made of a member's rows, and of the array of all.
MADE = {
    "chunks": (lambda source: source, lambda X: X),
    "centred": (lambda source: Centred(source, np.arange(1.0, 4.0)), lambda X: X - np.arange(1.0, 4.0)),
    "with ones": (WithOnes, lambda X: np.column_stack([X, np.ones(len(X))])),
    "twice": (lambda source: Tiled(source, 2), lambda X: np.vstack([X, X])),
    "some rows": (lambda source: SomeRows(source, np.arange(source.n)), lambda X: X),
}


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("made", MADE)
def test_sums_over_rows_are_those_of_all_members(made, kind):
    X = np.random.default_rng(0).standard_normal((25, 3)).astype(np.float32).astype(np.float64)
    stored = {"float64": X, "float32": X.astype(np.float32), "sparse": sp.csr_array(X)}[kind]
    make, array = MADE[made]
    A = array(X)
    w, s = np.linspace(1.0, 2.0, A.shape[1]), np.cos(np.arange(len(A)))

    def program(comm):
        part = shares(25, 3)[comm.rank]
        chunks = [stored[part][:2], stored[part][2:]] if comm.rank != 1 else []
        source = make(ChunkRows(chunks, comm, 3))
        where = np.arange(25)[part]
        places = np.concatenate([where, where + 25]) if made == "twice" else where
        beta, seen = s[places], np.empty(source.n)
        some = np.arange(source.n)[::-3]

        def visit(rows, m):
            seen[rows] = m
            return beta[rows].copy()

        scanned = source.scan(w, visit)
        np.testing.assert_allclose(seen, A[places] @ w, atol=1e-12)
        np.testing.assert_allclose(source.margins(w), A[places] @ w, atol=1e-12)
        np.testing.assert_allclose(source.take(some) @ w, A[places[some]] @ w, atol=1e-12)
        assert source.matrix().shape == source.shape
        moments = source.moments(some, beta[some])
        sums = (
            source.weights(beta), scanned, source.weights(beta[some], some), *moments, source.means(),
            source.column_squares(), source.sum_of_squares(), source.total_rows, source.longest_row,
        )  # fmt: skip
        return places[some], sums

    told = together(3, program)
    J = np.concatenate([places for places, _ in told])
    D = A[J] * s[J][:, None]
    expected = (
        A.T @ s, A.T @ s, D.sum(axis=0), A[J].T @ D, D.sum(axis=0), A.mean(axis=0), (A * A).sum(axis=0),
        float((A * A).sum()), len(A), A.shape[1],
    )  # fmt: skip
    for _, sums in told:
        for found, wanted in zip(sums, expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-11)


def test_chunks_of_other_widths_are_refused_by_every_member():
    def program(comm):
        with pytest.raises(DataError, match="3 and 4 columns"):
            ChunkRows([np.zeros((2, 3 + comm.rank))], comm)
        return True

    assert together(2, program) == [True, True]
    with pytest.raises(DataError, match="no columns"):
        ChunkRows([])
    nothing = ChunkRows([np.zeros((0, 3))])
    assert nothing.shape == (0, 3)
    assert nothing.take(slice(None)).shape == nothing.matrix().shape == (0, 3)
    assert nothing.margins(np.ones(3)).shape == (0,)


def test_every_field_of_the_losses_is_agreed_on():
    """A member without rows takes the others' numbers; where numbers differ, each member has one a row."""

    def program(comm):
        n = 3 * comm.rank
        losses = RowLosses(1.0 + (comm.rank == 2), 5.0 if n else 7.0, -1.0).over(comm, n)
        assert losses.jump == pytest.approx(0.5 * (5.0 / 3.0 + 1.0))
        return losses

    found = together(3, program)
    assert {type(losses.high) for losses in found} == {np.ndarray}
    assert [losses.level for losses in found] == [5.0, 5.0, 5.0]
    assert {field.name for field in fields(RowLosses)} - {"unit", "comm"} == {
        "high", "level", "low", "tube", "curvature",
    }  # fmt: skip
    assert as_row_source(np.zeros((2, 2))).comm.serial
