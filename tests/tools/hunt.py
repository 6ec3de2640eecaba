"""A hunt for false claims: thousands of random problems, each result judged exactly.

    python tests/tools/hunt.py --problems 20000 --seed 1                 # linear; seeds 1 to 20000
    python tests/tools/hunt.py --problems 2000 --kernel rbf              # or poly, or all
    python tests/tools/hunt.py --problems 500 --real                     # data sets of scikit-learn, raw
    python tests/tools/hunt.py --only 4711 --kernel rbf                  # one problem again, in full
    python tests/tools/hunt.py --problems 1000 --claims                  # every claim about optima, see `claimed`

A fault is a line of `exact.faults` or one of these: an exception that is not of this library, a warning of another
package, more than SLOW seconds, no end within --limit seconds. The exit code is 1 where there is one.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any

import claimed
from claimed import Claimed
from exact import faults, judge
from exact_space import plain
from hunted import KERNELS, Drawn, drawn, real

import qpsvm

#: Seconds from which on a problem of this size is a fault.
SLOW = 5.0
#: Seconds between looks at workers that do not answer.
LOOK = 1.0


@dataclass(frozen=True)
class Found:
    """What one problem led to.

    Its status or the name of the library's own error, the faults, one line each, the printed gap and the exact one,
    whether `optimal` would have been true where it was not said, the problem in words, and the result if there is one.
    Of claims about optima, how many were judged, and how many optima were not found to judge others by.
    """

    seed: int
    status: str
    faults: list[str] = field(default_factory=list)
    gap: float = float("nan")
    truth: float = float("nan")
    careful: bool = False
    text: str = ""
    result: qpsvm.SVMResult | None = None
    claims: int = 0
    unknown: int = 0


def problem(seed: int, kernels: str, from_data: bool) -> Drawn | Claimed:
    """The problem of a seed; "claims" is no kernel, but asks for all that is claimed about optima."""
    if kernels == "claims":
        return (claimed.drawn, claimed.hostile)[seed % 2](seed)
    return real(seed, kernels) if from_data else drawn(seed, kernels)


def of_claims(task: Claimed, seed: int) -> Found:
    """Judge all that is claimed of a small machine, and note everything that is false; `claims` counts them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", qpsvm.QPSVMWarning)
            wrong, looked, unknown = claimed.judged(task)
    except Exception as error:  # whatever it is: that it came is the finding
        return Found(seed, "exception", [f"exception: {type(error).__name__}: {error}"], text=str(task))
    wrong = [f"false: {line}" for line in wrong]
    return Found(seed, "judged", wrong, text=str(task), claims=looked, unknown=unknown)


def examined(posed: Drawn | Claimed, seed: int = 0) -> Found:
    """Solve, judge, and note everything that is wrong."""
    if isinstance(posed, Claimed):
        return of_claims(posed, seed)
    began = time.perf_counter()
    wrong: list[str] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = posed.task.solve(**posed.options)
        except qpsvm.QPSVMError as error:
            return Found(seed, type(error).__name__, text=str(posed))
        except Exception as error:  # whatever it is: that it came is the finding
            return Found(seed, "exception", [f"exception: {type(error).__name__}: {error}"], text=str(posed))
    took = time.perf_counter() - began
    foreign = [one for one in heard if not issubclass(one.category, qpsvm.QPSVMWarning)]
    wrong += [f"warning: {one.category.__name__}: {one.message}" for one in foreign]
    if took > SLOW:
        wrong.append(f"slow: {took:.1f} s")
    wrong += faults(posed.task, result, posed.tol)
    if any(line.startswith("nan") for line in wrong):
        return Found(seed, str(result.status), wrong, text=str(posed))
    truth = float(judge(posed.task, result).gap)
    careful = result.status != "optimal" and truth <= posed.tol
    return Found(seed, str(result.status), wrong, result.gap, truth, careful, str(posed), result)


def work(pipe: Connection, kernels: str, from_data: bool) -> None:
    """A worker: seeds in, findings out, until there is no seed."""
    while (seed := pipe.recv()) is not None:
        pipe.send(replace(examined(problem(seed, kernels, from_data), seed), result=None))


@dataclass
class Worker:
    """A process with the seed it is at, and since when."""

    process: mp.Process
    pipe: Connection
    seed: int
    since: float


def hunt(seeds: range, kernels: str, from_data: bool, jobs: int, limit: float) -> Iterator[Found]:
    """Findings in the order in which they come. A problem that does not end is ended with its process."""
    waiting, workers = list(reversed(seeds)), []

    def started() -> Worker:
        ours, theirs = mp.Pipe()
        process = mp.Process(target=work, args=(theirs, kernels, from_data), daemon=True)
        process.start()
        theirs.close()
        return given(Worker(process, ours, -1, 0.0))

    def given(worker: Worker) -> Worker:
        worker.seed, worker.since = waiting.pop(), time.monotonic()
        worker.pipe.send(worker.seed)
        return worker

    workers = [started() for _ in range(min(jobs, len(waiting)))]
    while workers:
        answered = wait([worker.pipe for worker in workers], LOOK)
        for worker in list(workers):
            seed, late = worker.seed, time.monotonic() - worker.since > limit
            if worker.pipe not in answered and not late:
                continue
            lost = None
            try:
                found = worker.pipe.recv() if worker.pipe in answered else None
            except EOFError:
                found, lost = None, "crash: the process ended"
            if found is not None:
                yield found
            else:
                worker.process.kill()
                what = str(problem(seed, kernels, from_data))
                yield Found(seed, "endless", [lost or f"endless: {limit:g} s"], text=what)
            if found is None or not waiting:
                workers.remove(worker)
                if found is not None:
                    worker.pipe.send(None)
                elif waiting:
                    workers.append(started())
            else:
                given(worker)


def summary(all_found: list[Found], show: int) -> str:
    """Counts of statuses and faults, and the first few of each fault."""
    statuses = Counter(found.status for found in all_found)
    by_word: dict[str, list[tuple[Found, str]]] = {}
    for found in all_found:
        for line in found.faults:
            by_word.setdefault(line.partition(":")[0], []).append((found, line))
    claims = [found for found in all_found if found.status == "optimal"]
    below = [found for found in claims if found.gap < found.truth * (1 - 1e-9)]
    ends = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    careful = [found.seed for found in all_found if found.careful]
    variants = Counter(found.text.split()[0] for found, _ in by_word.get("false", []))
    lines = [
        f"{qpsvm.__file__}\n{len(all_found)} problems: {ends}",
        f"{len(claims)} optimal: {len(by_word.get('false', []))} of them false; printed gap below the truth "
        f"{len(below)} times, {sum(found.truth > 1e-12 for found in below)} times where the truth is above 1e-12",
        f"false by variant: {dict(variants)}",
        f"{len(careful)} not called optimal though the exact gap is within the tolerance: seeds {careful[:show]} …",
    ]
    if judged := sum(found.claims for found in all_found):
        unknown = sum(found.unknown for found in all_found)
        lines[1:] = [f"{judged} claims held against optima in fractions; of {unknown} more, the optimum was not found"]
    for word, cases in sorted(by_word.items(), key=lambda item: -len(item[1])):
        lines.append(f"{word}: {len(cases)}")
        worst = sorted(cases, key=lambda case: -case[0].truth)[:show]
        lines += [f"  seed {found.seed}: {line}\n      {found.text}" for found, line in worst]
    return "\n".join(lines)


def told(posed: Drawn | Claimed) -> None:
    """One problem in full."""
    found = examined(posed)
    print(posed)
    if isinstance(posed, Claimed):
        print(posed.stated, "\n".join(found.faults) or f"no fault in {found.claims} claims", sep="\n")
        return
    print(f"y = {posed.task.y.tolist()}\nX = {plain(posed.task.X).tolist()}\nweight = {posed.task.s.tolist()}")
    if found.result is not None:
        result, verdict = found.result, judge(posed.task, found.result)
        print(result.summary())
        print(f"alpha = {result.alpha.tolist()}\nb = {result.b!r}, rho = {result.rho!r}, printed gap {result.gap!r}")
        unit = result.unit
        print(f"exact: primal {unit * float(verdict.primal):.17g}, dual {unit * float(verdict.dual):.17g}")
        print(f"       gap {float(verdict.gap):.6g}, imbalance {verdict.imbalance:.3g}")
        print(f"       min y f {float(verdict.margin):.17g}")
    print("\n".join(found.faults) or "no fault")


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--kernel", choices=(*KERNELS, "all"), default="linear")
    parser.add_argument("--real", action="store_true", help="subsets of scikit-learn's data sets, raw")
    parser.add_argument(
        "--claims", action="store_true", help="what is claimed of optima, changes, paths, left-out samples"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a problem counts as endless")
    parser.add_argument("--show", type=int, default=5, help="cases to print of each kind of fault")
    parser.add_argument("--only", type=int, help="one seed, in full")
    options: Any = parser.parse_args(arguments)
    options.kernel = "claims" if options.claims else options.kernel
    if options.only is not None:
        told(problem(options.only, options.kernel, options.real))
        return 0
    began = time.monotonic()
    seeds = range(options.seed, options.seed + options.problems)
    all_found = list(hunt(seeds, options.kernel, options.real, options.jobs, options.limit))
    print(summary(all_found, options.show))
    print(f"{time.monotonic() - began:.0f} s")
    return int(any(found.faults for found in all_found))


if __name__ == "__main__":
    sys.exit(main())
