"""Whether the tests see a false certificate: one line of it is changed at a time, and a test has to fail.

Each mutant is a piece of a line of the certificate, of the proofs or of their checker, what is put there, and the few
fast tests one of which has to fail. All of that happens in a copy of the package and its tests, in a temporary folder.

    python tests/tools/mutants.py                  # all of them: some minutes
    python tests/tools/mutants.py --sample 6       # some, drawn by the commit's hash: others at each commit
    python tests/tools/mutants.py --only 12 13     # by their numbers

The exit code is 1 where a mutant survives, or where its line is not there any more: then it is to be written anew.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
#: What a copy needs.
COPIED = ("qpsvm", "tests", "conftest.py", "pyproject.toml")
#: Tests that do not end count as failed, after so many seconds and so many times what they take without a mutant.
ENDLESS, TIMES = 600.0, 20.0
#: Exit codes of pytest: all passed, and some failed.
PASSED, FAILED = 0, 1

ROUNDING = "tests/bounds/test_every_rounding.py"
DUAL = "tests/bounds/test_svm_dual.py"
COUNTED = "tests/bounds/test_counted.py"
TERMS = "tests/bounds/test_certificate.py"
CHECKER = "tests/bounds/proof/test_checker.py"
OUT = "tests/bounds/proof/test_rows_left_out.py"
MACHINES = "tests/bounds/proof/test_machines_proof.py::test_what_is_proven_of_a_kernel_machine_is_true"
BLOCKS = "tests/bounds/test_joint_dual.py"
HOSTILE = "tests/bounds/proof/test_hostile_proof.py"
ZERO = "tests/bounds/proof/test_gap_is_proven.py::test_a_gap_of_zero_is_relative_to_distances_from_the_largest_alpha"
JOINT = "tests/bounds/proof/test_joint_proof.py"
JUDGED = "tests/bounds/proof/test_judged.py"
NEAR = "tests/bounds/test_near_optimum.py"
PROGRAM = "tests/solve/test_program.py"
VERDICTS = "tests/solve/test_verdicts.py"
CONVEX = "tests/bounds/test_convexity.py"


class Mutant(NamedTuple):
    """A file of the package, a piece of it that is there once, what is put in its place, and tests that see it."""

    file: str
    old: str
    new: str
    tests: str


MUTANTS = [
    # --- the counted gap
    Mutant(
        "bounds/proof/terms.py",
        "_find_largest_of_others(t_high) - t_low",
        "_find_largest_of_others(t_low) - t_low",
        BLOCKS,
    ),
    Mutant("bounds/proof/terms.py", "T = np.maximum(t_high.max(axis=1), 0.0)", "T = 0.0 * t_low.max(axis=1)", BLOCKS),
    Mutant("bounds/proof/terms.py", "low, high = t - r, t + r", "low, high = t - r, t", ROUNDING),
    Mutant("bounds/proof/terms.py", "low, high = t - r, t + r", "low, high = t, t + r", ROUNDING),
    Mutant(
        "bounds/gap_bounder.py",
        "self.compute_half_square(point) - point.centred_b_radius",
        "self.compute_half_square(point)",
        ROUNDING,
    ),
    Mutant("bounds/gap_bounder.py", "- best)) + point.centred_b_radius", "- best))", ROUNDING),
    Mutant("bounds/gap_bounder.py", "max(abs(mu) - point.centred_b_radius, 0.0)", "abs(mu)", ROUNDING),
    Mutant("bounds/gap_bounder.py", "0.5 * distance * distance + terms", "terms", DUAL),
    Mutant("bounds/gap_bounder.py", "0.5 * distance * distance + terms", "0.5 * distance * distance", ROUNDING),
    Mutant("bounds/gap_bounder.py", "difference += 0.5 * group.ridge * error * error", "pass", DUAL),
    Mutant("bounds/gap_bounder.py", "size = 0.5 * max(norm - distance, 0.0) ** 2", "size = 0.5 * norm**2", ROUNDING),
    Mutant(
        "bounds/gap_bounder.py",
        "return distance + self._bound_repair(",
        "return distance + 0.0 * self._bound_repair(",
        ROUNDING,
    ),
    Mutant("bounds/gap_bounder.py", "if self._is_feasible(point.alpha):", "if True:", ROUNDING),
    Mutant("bounds/gap_bounder.py", "-FEW_ROUNDINGS * (np.abs(t) + r), low)", "-FEW * np.abs(t), low)", ROUNDING),
    Mutant("bounds/gap_bounder.py", "np.where(np.abs(t) <= EQUALITY_RADII * r, 0.0, np.inf)", "0.0", ROUNDING),
    Mutant("bounds/proof/terms.py", "falling = -(row.alpha[1] * t[0])", "falling = 0.0 * t[0]", ROUNDING),
    Mutant("bounds/proof/terms.py", "(row.upper[1] - row.alpha[0]) * t[1]", "row.upper[1] * t[0]", ROUNDING),
    Mutant("bounds/repair.py", "surplus = -remainder", "surplus = remainder", ROUNDING),
    Mutant("base/arrays/double_double.py", "values = values - heads", "values = 0.0 * heads", ROUNDING),
    Mutant(
        "bounds/gap_bounder.py",
        "= self._bound_value_radius(point, rows) + margin_rounding",
        "= margin_rounding",
        COUNTED,
    ),
    # --- the point that is certified
    Mutant("bounds/certify.py", "point.bound_half_distance(growth) + at.terms", "at.terms", ROUNDING),
    Mutant(
        "bounds/certify.py",
        "weight_distance=math.sqrt(2.0 * point.bound_half_distance(best.growth))",
        "weight_distance=0.0",
        ROUNDING,
    ),
    Mutant(
        "bounds/certificate.py", "(self.distance + growth * math.sqrt(2.0 * self.half_norm))", "self.distance", ROUNDING
    ),
    Mutant(
        "bounds/certificate.py",
        "difference = self.difference + growth * self.w",
        "difference = self.difference",
        ROUNDING,
    ),
    Mutant("bounds/restoration.py", "reach = np.where(self._is_equality, t, t + INSIDE * r)", "reach = t", ROUNDING),
    Mutant("bounds/restoration.py", "0.0, (INSIDE + 1.0) * r[mask])", "0.0, 0.0 * r[mask])", ROUNDING),
    Mutant("bounds/restoration.py", "np.inf, -t - INSIDE * r)", "np.inf, -t)", ROUNDING),
    Mutant("bounds/restoration.py", "t + FEW_ROUNDINGS * r > 0.0)", "t > 0.0)", ROUNDING),
    Mutant("program/losses.py", "upper * (violation - 0.5 * threshold)", "upper * violation", DUAL),
    Mutant("program/losses.py", "alpha * (0.5 * curvature * alpha - t)", "alpha * (curvature * alpha - t)", DUAL),
    Mutant(
        "program/losses.py", "term_beyond = np.where(is_hard, np.inf,", "term_beyond = np.where(is_hard, 0.0,", TERMS
    ),
    # --- how exactly a kernel value is known
    Mutant("bounds/accuracy.py", "(self.epsilon + gamma(terms + 6))", "gamma(terms)", COUNTED),
    Mutant("bounds/accuracy.py", "bound_norm(beta) *", "float(np.linalg.norm(beta)) *", JUDGED),
    Mutant("bounds/accuracy.py", "rounded = math.expm1(min(error, 1.0))", "rounded = 0.0", COUNTED),
    Mutant(
        "bounds/proof/kernels/points.py",
        "radii = added[:, :q] * (gamma(",
        "radii = 0.0 * added[:, :q] * (gamma(",
        COUNTED,
    ),
    # --- proofs
    Mutant(
        "bounds/proof/gap_bounds.py", "round_up(Fraction(max_difference)", "below(Fraction(max_difference)", HOSTILE
    ),
    Mutant("bounds/proof/gap_bounds.py", "math.nextafter(interval[1] + excess", "math.nextafter(interval[1]", HOSTILE),
    Mutant(
        "bounds/proof/rational.py",
        "fixed -= group.get_entry(k) * primal_point.multipliers[group.multiplier]",
        "pass",
        MACHINES,
    ),
    Mutant("bounds/proof/rational.py", "difference += _bound_terms(", "_bound_terms(", MACHINES),
    Mutant("bounds/proof/rational.py", "(U - sum(alphas)) * largest", "Fraction(0)", JOINT),
    Mutant("bounds/proof/zero.py", "float(distances[: len(sizes)].mean())", "float(distances.max())", ZERO),
    Mutant("bounds/proof/terms.py", "self.high - slack, self.high + slack", "self.high, self.high", HOSTILE),
    Mutant(
        "bounds/proof/terms.py",
        "_multiply_up(slack, T - threshold)",
        "0.0 * T",
        HOSTILE,
    ),
    Mutant("bounds/proof/terms.py", "_multiply_up(slack, T - threshold)", "0.0 * T", JOINT),
    Mutant("bounds/proof/terms.py", "_find_largest_of_others(t_high) - t_low", "-t_low", JOINT),
    Mutant(
        "bounds/proof/classes.py", "range(first, first + width)) > U:", "range(first, first + width)) > 2 * U:", JOINT
    ),
    Mutant("bounds/proof/classes.py", "any(compute_residual(group, point)", "any(0", JOINT),
    Mutant(
        "bounds/proof/feasible.py",
        "if Fraction(float(a[k])) > (U := program.upper[k])",
        "if not (U := program.upper[k])",
        HOSTILE,
    ),
    # --- the checker
    Mutant("bounds/proof/checker.py", "difference[1] / min_size if", "difference[1] / min_size / 2 if", CHECKER),
    Mutant("bounds/proof/checker.py", "combine_alpha(a) <= C_i for label", "True for label", JOINT),
    Mutant("bounds/proof/checker.py", "any(miss[g] and not R[g] for g in R)", "False", CHECKER),
    Mutant("bounds/proof/checker.py", "a < 0 or (row.U is not None and a > row.U)", "a < 0", CHECKER),
    Mutant("bounds/proof/checker.py", "+ plane_values.difference[1] / 2", "", HOSTILE),
    Mutant("bounds/proof/checker.py", "min(P[1] - D[0], program.unit * terms)]", "D[0] - D[0]]", CHECKER),
    Mutant("bounds/proof/checker.py", "{*range(len(rows))} - {*gone})", "{*range(len(rows))})", OUT),
    # --- bounds of every exact optimum
    Mutant("bounds/near_optimum.py", "0.0)) + 0.5 * math.sqrt(square)", "0.0)) * 0.1", NEAR),
    Mutant("bounds/near_points.py", "radius = self.radius * np.sqrt(", "radius = 0.0 * self.radius * np.sqrt(", NEAR),
    Mutant("bounds/near_points.py", "lower, upper = f - radius + self.size * low,", "lower, upper = f - radius,", NEAR),
    Mutant("bounds/near_points.py", "[:, None] * self.size + rounding", "[:, None] * self.size", NEAR),
    # --- both sides of the optimum of any convex QP
    Mutant("bounds/program/qp_bounds.py", "value -= (error + rows_error", "value += (error + rows_error", PROGRAM),
    Mutant("bounds/program/upper_bound.py", "return value + error * FEW", "return value - error * FEW", PROGRAM),
    Mutant("bounds/program/qp_bounds.py", "np.clip(z, low,", "np.clip(z, -9.0,", PROGRAM),
    Mutant("bounds/program/upper_bound.py", ">= reach * FEW_ROUNDINGS).all():", ">= -9e9).all():", PROGRAM),
    Mutant(
        "bounds/program/qp_bounds.py", "terms = np.minimum.reduce(ends)", "terms = np.maximum.reduce(ends)", PROGRAM
    ),
    Mutant("bounds/program/qp_bounds.py", "side * (side / (2.0 * curvature))", "0.0 * side", PROGRAM),
    Mutant("bounds/program/convexity.py", "shift = 4.0 * _cholesky_loss(M, entry_error)", "shift = 0.0", CONVEX),
    Mutant("bounds/program/convexity.py", "return float(shift - loss)", "return float(9.0 * shift)", CONVEX),
    Mutant("bounds/program/convexity.py", "shift - (bound_residual_norm(", "shift + (bound_residual_norm(", CONVEX),
    Mutant("bounds/program/enclosures.py", "any(residual > 0 or (equal", "any(False or (equal", PROGRAM),
    Mutant("bounds/program/reduction.py", "if side == 0 or (not is_equality", "if True or (not is_equality", VERDICTS),
    Mutant(
        "bounds/program/reduction.py", "if side < 0 and side_change > ROUNDING", "if side_change > ROUNDING", VERDICTS
    ),
    Mutant("bounds/program/rays.py", "if not sum(cost, Fraction(0)) <", "if sum(cost, Fraction(0)) >", VERDICTS),
    Mutant("bounds/program/feasibility.py", "<= Fraction(ROUNDING) *", "<= -9 *", VERDICTS),
]


def copy_sources(folder: Path) -> None:
    """Copy what is needed into a folder."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)


def run_tests(folder: Path, tests: list[str], patience: float | None, *, must_pass: bool = False) -> int:
    """Return the exit code of pytest in a copy; FAILED where it does not end within so many seconds.

    must_pass: Print what pytest says if a test fails.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=", *tests]
    try:
        ran = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True,
            timeout=patience, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return FAILED
    if ran.returncode not in (PASSED, FAILED):
        raise SystemExit(f"{' '.join(command)} could not run:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    if must_pass and ran.returncode == FAILED:
        print(ran.stdout[-6000:], flush=True)
    return ran.returncode


def survives(folder: Path, mutant: Mutant, patience: float) -> bool:
    """Whether its tests pass in a copy that has the mutant; afterwards the copy is as it was."""
    path = folder / "qpsvm" / mutant.file
    text = path.read_text(encoding="utf-8")
    times = path.stat()
    try:
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime + 10 + random.randrange(10**6)))  # what is compiled is of others
        return run_tests(folder, [mutant.tests], patience) == PASSED
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime))


def find_moved(numbers: list[int]) -> list[str]:
    """List what is wrong with the table: pieces that are not in their file once."""
    wrong = []
    for number in numbers:
        mutant = MUTANTS[number]
        count = (ROOT / "qpsvm" / mutant.file).read_text(encoding="utf-8").count(mutant.old)
        if count != 1:
            wrong.append(f"mutant {number}: qpsvm/{mutant.file} has {mutant.old!r} {count} times, not once")
    return wrong


def commit() -> str:
    """The hash of the commit; "none" outside of a repository."""
    ran = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.strip() or "none"


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="how many are drawn, instead of all")
    parser.add_argument("--seed", help="seed of the draw; by default the hash of the commit")
    parser.add_argument("--only", type=int, nargs="+", help="the numbers of some")
    options: Any = parser.parse_args(arguments)
    every = list(range(len(MUTANTS)))
    wrong = find_moved(every)
    numbers = options.only or every
    if options.sample is not None:
        seed = options.seed or commit()
        numbers = sorted(random.Random(seed).sample(every, min(options.sample, len(every))))
        print(f"mutants {', '.join(map(str, numbers))}, drawn by {seed}: --sample {options.sample} --seed {seed}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_sources(folder)
        began = time.monotonic()
        tests = sorted({MUTANTS[number].tests for number in numbers})
        if run_tests(folder, tests, None, must_pass=True) != PASSED:
            raise SystemExit("the tests fail without any mutant")
        patience = max(ENDLESS, TIMES * (time.monotonic() - began))  # of a busy machine as well
        for number in numbers:
            mutant = MUTANTS[number]
            began = time.monotonic()
            if any(line.startswith(f"mutant {number}:") for line in wrong):
                continue
            alive = survives(folder, mutant, patience)
            verdict = "SURVIVES" if alive else "seen"
            print(f"{number:3} {verdict:8} {time.monotonic() - began:5.1f} s  {mutant.file}: {mutant.old}", flush=True)
            if alive:
                wrong.append(f"mutant {number} survives {mutant.tests}: qpsvm/{mutant.file}, {mutant.new!r}")
    print(*wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
