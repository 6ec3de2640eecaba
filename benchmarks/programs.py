"""QPs of files, such as the set of Maros and Mészáros (1999): each solver's claim, judged by both sides of the optimum.

A solver's point and multipliers are judged as they are, (PROGRAM.1) to (PROGRAM.5), and once more after polishing. All
verdicts on one problem are about one number: its optimum is above every lower side and below every upper one.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import qpsvm
from qpsvm.backends.limits import Limits
from qpsvm.base.errors import QPSVMError
from qpsvm.bounds.program.reduction import keep_all_rows
from qpsvm.solve.program import MIN_SOLVER_TOL
from qpsvm.solve.program_attempt import QPAttempt

#: What is asked for where nothing is named: those that take any QP.
SOLVERS = (
    "cvxopt",
    "osqp",
    "clarabel",
    *(f"qpsolvers:{name}" for name in ("piqp", "proxqp", "daqp", "highs", "qpalm")),
)
#: Beyond, a bound in a MATLAB file is none.
INFINITE = 9e19
#: Gaps up to which a claim is counted as kept.
KEPT, ROUGHLY = 1e-6, 1e-3
BEGIN, END = "<!-- programs -->", "<!-- /programs -->"


class ProgramVerdict(NamedTuple):
    """Of one solver on one problem: what it said, and both sides and gaps of its own point and of the polished one."""

    problem: str
    n: int
    rows: int
    solver: str
    said: str
    claimed: bool
    own: float
    gap: float
    low: float
    high: float
    seconds: float


def read_program(path: Path) -> qpsvm.QP:
    """A QP: .mat as in qpsolvers/maros_meszaros_qpbenchmark, .npz of `QP.save`, or what `read_model` takes."""
    if path.suffix == ".npz":
        return qpsvm.QP.load(path)
    if path.suffix == ".mat":
        return load_matlab(path)
    return qpsvm.read_model(path)


def load_matlab(path: Path) -> qpsvm.QP:
    """½xᵀPx + qᵀx + r subject to l ≤ Ax ≤ u, whose last n rows are x itself."""
    from scipy.io import loadmat

    data = loadmat(path)
    q, low, high = (data[name].ravel().astype(np.float64) for name in "qlu")
    n = len(q)
    M = sp.csr_array(data["A"].astype(np.float64))
    low = np.where(low < -INFINITE, -np.inf, low)
    high = np.where(high > INFINITE, np.inf, high)
    ub = high[-n:]
    lb = low[-n:]
    high = high[:-n]
    low = low[:-n]
    M = M[:-n]
    equal = low == high
    above, below = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
    parts: dict[str, Any] = {}
    if equal.any():
        parts |= {"A": M[equal], "b": high[equal]}
    if (above | below).any():
        parts |= {"G": sp.vstack([M[above], -M[below]], format="csr"), "h": np.append(high[above], -low[below])}
    P: Any = sp.csc_array(data["P"].astype(np.float64))
    return qpsvm.QP(P=P, q=q, r=float(data["r"].item()), lb=lb, ub=ub, title=path.stem, **parts)


def count_rows(qp: qpsvm.QP) -> int:
    """Inequalities and equalities."""
    return sum(0 if side is None else len(side) for side in (qp.h, qp.b))


def judge_solver(qp: qpsvm.QP, name: str, tol: float, sender: Any) -> None:
    """Solve and judge; sent as soon as it is known."""
    facts = qp.title, qp.n, count_rows(qp), name
    began = time.perf_counter()
    nothing = (math.inf, math.inf, -math.inf, math.inf)
    try:
        with np.errstate(all="ignore"):
            solution = qpsvm.backends.get(name).compile(qp)._solve_checked(Limits(max(tol * 1e-3, MIN_SOLVER_TOL)), {})
            seconds = time.perf_counter() - began
            claimed = solution.reported == "optimal"
            attempt = QPAttempt(keep_all_rows(qp))
            found, finer = (attempt.certify(solution, tol, polished) for polished in (False, True))
    except (QPSVMError, ArithmeticError, AssertionError, ValueError, RuntimeError, MemoryError) as error:
        said = " ".join(str(error).split())[:60] or type(error).__name__
        sender.send(ProgramVerdict(*facts, said, False, *nothing, time.perf_counter() - began))
        return
    sides = max(found.dual, finer.dual), min(found.primal, finer.primal)
    sender.send(ProgramVerdict(*facts, solution.solver.status, claimed, found.gap, finer.gap, *sides, seconds))


def judge_within_limit(qp: qpsvm.QP, name: str, tol: float, seconds: float) -> ProgramVerdict:
    """`decide_status` in a process of its own, which is ended where it takes longer."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    worker = context.Process(target=judge_solver, args=(qp, name, tol, sender), daemon=True)
    worker.start()
    sender.close()
    said = f"no answer in {seconds:g} s"
    try:
        if receiver.poll(seconds):
            found: ProgramVerdict = receiver.recv()
            return found
    except EOFError:
        said = "the process died"
    finally:
        worker.kill()
        worker.join()
    return ProgramVerdict(
        qp.title, qp.n, count_rows(qp), name, said, False, math.inf, math.inf, -math.inf, math.inf, seconds
    )


def iter_verdicts(paths: Sequence[Path], names: Sequence[str], options: argparse.Namespace) -> Iterator[ProgramVerdict]:
    """Every pair, each problem as it is read."""
    larger = []
    for path in paths:
        try:
            qp = read_program(path).replace(title=path.stem)
        except QPSVMError as error:
            print(f"left out, {path.name}: {error}", file=sys.stderr)
            continue
        if max(qp.n, count_rows(qp)) > options.most:
            larger.append(path.stem)
            continue
        for name in names:
            found = judge_within_limit(qp, name, options.tol, options.seconds)
            print(f"{found.problem}, {name}: {found.said}, gap {found.own:.1e}, polished {found.gap:.1e}", flush=True)
            yield found
    if larger:
        print(f"left out, of more than {options.most} variables or rows: {', '.join(larger)}", file=sys.stderr)


def format_tables(found: Sequence[ProgramVerdict]) -> str:
    """A line for each solver, and one for each problem."""
    text = [
        "| solver | problems | claims | own point ≤ 1e-6 | ≤ 1e-3 | above | undecided | polished ≤ 1e-6 | median ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(each.solver for each in found):
        ours = [each for each in found if each.solver == name]
        claims = [each for each in ours if each.claimed]
        kept = sum(each.own <= KEPT for each in claims)
        rough = sum(KEPT < each.own <= ROUGHLY for each in claims)
        open_ = sum(math.isinf(each.own) for each in claims)
        if claims:
            median = f"{1e3 * statistics.median(each.seconds for each in claims):.1f}"
        else:
            median = ""
        counts = (len(ours), len(claims), kept, rough, len(claims) - kept - rough - open_, open_)
        cells = (name, *counts, sum(each.gap <= KEPT for each in ours), median)
        text.append(f"| {' | '.join(map(str, cells))} |")
    text += ["", "| problem | variables | rows | the optimum is between | and | gap | claims above 1e-3 |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for problem in dict.fromkeys(each.problem for each in found):
        here = [each for each in found if each.problem == problem]
        low, high = max(each.low for each in here), min(each.high for each in here)
        if math.isfinite(high - low):
            gap = (high - low) / max(1.0, abs(high), abs(low))
        else:
            gap = math.inf
        wrong = [f"{each.solver} {each.own:.0e}" for each in here if each.claimed and ROUGHLY < each.own < math.inf]
        facts = (
            problem,
            here[0].n,
            here[0].rows,
            format_value(low),
            format_value(high),
            format_value(gap, ".0e"),
            ", ".join(wrong),
        )
        text.append(f"| {' | '.join(map(str, facts))} |")
    return "\n".join(text)


def format_value(value: float, form: str = ".10g") -> str:
    """A number; what is infinite was not shown."""
    return f"{value:{form}}" if math.isfinite(value) else "–"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `python -m benchmarks programs`."""
    parser.add_argument("files", type=Path, nargs="+", help="files, or folders of them: .mat, .mps, .qps, .lp, .npz")
    parser.add_argument("--solver", action="append", help=f"a backend (may be repeated; default {', '.join(SOLVERS)})")
    parser.add_argument("--most", type=int, default=500, help="variables and rows of the largest problem (default 500)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of one solve with its verdict (default 20)")
    parser.add_argument("--tol", type=float, default=1e-6, help="gap that is to be reached (default 1e-6)")
    parser.add_argument("--fill", type=Path, help="a Markdown file between whose marks the tables are put")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Run them all, print the tables. Raises QPSVMError."""
    absent = [given for given in options.files if not given.exists()]
    if absent:
        raise qpsvm.FileAccessError(f"no such file or folder: {', '.join(map(str, absent))}")
    paths = [path for given in options.files for path in (sorted(given.glob("*.*")) if given.is_dir() else [given])]
    names = []
    for name in options.solver or SOLVERS:
        try:
            qpsvm.backends.get(name).require_package()
            names.append(name)
        except (qpsvm.MissingExtraError, qpsvm.UnknownOptionError) as error:
            if options.solver and isinstance(error, qpsvm.UnknownOptionError):
                raise
            print(f"left out, {name}: {error}", file=sys.stderr)
    paths = [path for path in paths if path.suffix in (".mat", ".mps", ".qps", ".lp", ".npz")]
    found = list(iter_verdicts(paths, names, options))
    if not found:
        print("nothing to measure: name files, or a folder of them, and solvers that are installed", file=sys.stderr)
        return 1
    text = format_tables(found)
    print(f"\n{text}")
    if options.fill is not None:
        page = options.fill.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        options.fill.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    return 0
