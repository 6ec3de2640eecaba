"""Hunt for false claims: solve thousands of random problems, and judge each result exactly.

    python tests/tools/hunt.py --problems 20000 --seed 1       # every machine and solver; seeds 1 to 20000
    python tests/tools/hunt.py --problems 1000 --claims        # claims about optima, see `claims`
    python tests/tools/hunt.py --problems 3000 --stated        # duals that are given row by row, see `stated_machines`
    python tests/tools/hunt.py --problems 3000 --pairs         # the same, whose rows are pairs of samples
    python tests/tools/hunt.py --only 4711                     # show one problem in full

The exit code is 1 if a claim is false, an exception is not of this library, or a warning is of another package.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import claims
import hostile
import stated_machines
from exact_arithmetic import as_dense

import qpsvm

#: Problems that take more seconds than this are printed.
SLOW = 5.0


def examine(kind: str, seed: int) -> tuple[int, str, list[str], float]:
    """Return the seed, the status of its problem, everything that is wrong, and the seconds taken."""
    start = time.perf_counter()
    if kind == "claims":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", qpsvm.QPSVMWarning)
            wrong, n_claims, n_unknown = claims.judge_task((claims.draw_task, claims.draw_hostile_task)[seed % 2](seed))
        status = "judged" if n_claims else f"{n_unknown} optima not found"
    elif kind == "hostile":
        status, wrong = hostile.examine_seed(seed)
    else:
        if kind == "stated":
            draw = stated_machines.draw_stated
        else:
            draw = stated_machines.draw_stated_pairs
        status, wrong = hostile.examine_solve(*draw(seed))
    return seed, status, wrong, time.perf_counter() - start


def show_problem(kind: str, seed: int) -> None:
    """Print a problem, its result and its faults in full."""
    if kind == "claims":
        task = (claims.draw_task, claims.draw_hostile_task)[seed % 2](seed)
        print(task, task.stated, sep="\n")
    else:
        draws = {"hostile": hostile.draw_hostile_problem, "stated": stated_machines.draw_stated}
        draws["pairs"] = stated_machines.draw_stated_pairs
        problem, options = draws[kind](seed)
        X = as_dense(problem.X)
        print(problem, options, f"X = {X.tolist()}", f"target = {problem.samples.target.tolist()}", sep="\n")
        print(qpsvm.solve(problem, **options).summary())
    print(*examine(kind, seed)[2] or ["no fault"], sep="\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    kinds = parser.add_mutually_exclusive_group()
    for name in ("claims", "stated", "pairs"):
        kinds.add_argument(f"--{name}", dest="kind", action="store_const", const=name, default="hostile")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--only", type=int, help="one seed, in full")
    options = parser.parse_args(arguments)
    if options.only is not None:
        show_problem(options.kind, options.only)
        return 0
    statuses = Counter[str]()
    faults = 0
    seeds = range(options.seed, options.seed + options.problems)
    with ProcessPoolExecutor(options.jobs) as pool:
        for seed, status, wrong, seconds in pool.map(partial(examine, options.kind), seeds, chunksize=4):
            statuses[status] += 1
            faults += bool(wrong)
            for line in wrong:
                print(f"seed {seed}: {line}")
            if seconds > SLOW:
                print(f"seed {seed}: {seconds:.1f} s")
    ends = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    print(f"{qpsvm.__file__}\n{options.problems} problems: {ends}; {faults} with a fault")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
