"""`solve`: one problem, its certificate, what it is worth on rows that did not train it, and a model to keep."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.base.errors import (
    DataError,
    InfeasibleConstraintsError,
    NotSeparableError,
    ParameterError,
    QPSVMError,
    SolverError,
    UnsupportedError,
)
from qpsvm.data.rows import RowSource
from qpsvm.faces.cli.commands.plot import picture_of, require_picture, write_picture
from qpsvm.faces.cli.commands.verify import check_options, proved, told
from qpsvm.faces.cli.data import SEED, Sample, folds, held_out, parts, print_columns, read, some_rows, source
from qpsvm.faces.cli.data_files import in_words
from qpsvm.faces.cli.distributed import cluster, read_spread
from qpsvm.faces.cli.distributed import in_words as first_line
from qpsvm.faces.cli.options import settings, settle
from qpsvm.faces.cli.probabilities import check_probability, check_samples, with_probabilities
from qpsvm.faces.cli.scores import block, figures, named, notes, training, warnings
from qpsvm.faces.cli.several import SeveralClasses, predicted, stated
from qpsvm.faces.cli.terminal import Ticker, require_writable
from qpsvm.many.grid.scoring import Fold
from qpsvm.program.solution import Status
from qpsvm.result.hints import Hint
from qpsvm.result.model import NEAR, Model
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: Exit codes by status; that of any other status is 1.
CODES = {Status.OPTIMAL: 0, Status.INTERRUPTED: 130}


def run(options: argparse.Namespace) -> int:
    """Solve, print the summary and the scores, draw, and save the model."""
    settle(options)
    _check(options)
    require_writable(options.save)
    require_writable(options.proof)
    if options.scheduler is not None:
        return _on_cluster(options)
    require_picture(options.plot)
    apart = options.test_size is not None or options.cv is not None
    whole = read(options, raw=apart)
    everything = Fold(np.arange(whole.table.X.shape[0]), np.arange(0))
    seed = SEED if options.seed is None else options.seed
    split = everything if options.test_size is None else held_out(whole, options.test_size, seed)
    rows = some_rows(whole, split.train) if apart else whole
    tested = None if options.cv is None else list(folds(rows, options.cv, seed))
    sample, test = parts(whole, split, options) if apart else (whole, whole)
    if apart:
        print_columns(sample.table)
    problem = stated(sample, options)
    check_samples(problem, options)
    draw = None if options.plot is None else picture_of(problem, sample.table.names, options.axes)
    with told(sample, options):
        result = solved(problem, options)
    model = sample.model(result, problem)
    print(result.summary(notes=False))
    if sample.learnt != "none":  # else the kinds of the vectors say it, and count what is on the boundary
        answers = predicted(model, sample.table.X)
        print(f"  training    {training(sample, answers, model.metadata.get('quantile'))}")
    code, hints, weighed = CODES.get(result.status, 1), list[Hint](), bool(options.class_weight)
    if options.probability:
        model, said = with_probabilities(sample, problem, result, model, options)
        print(said)
    if options.test_size is not None:
        said, hints = _held_out(test, model, whole.table.X.shape[0], seed, weighed)
        print(said)
    if draw is not None:
        write_picture(draw(result), options.plot)
        print(f"  drawn       {options.plot}")
    if options.bounds:
        model, said = _bounded(model, result)
        print(said)
    _saved(model, options, "" if options.test_size is None else f", trained on {len(split.train)} rows")
    if options.proof is not None and not proved(result, sample, options):
        code = code or 1
    if tested is not None and result.status is not Status.INTERRUPTED:
        said, certified, more = _cross_validated(rows, tested, options, seed)
        print(said)
        code, hints = code or (0 if certified else 1), [*hints, *more]
    if sample.learnt == "labels":
        hints += warnings(sample, answers, {}, weighed)
    if last := notes(hints, result.hints(sample.table.names)):
        print(last)
    return code


def _bounded(model: Model, result: SVMResult) -> tuple[Model, str]:
    """The model with how near its optimum is, and what is printed of it. Raises UnsupportedError."""
    near = result.near_function()
    low, high = near.shift
    said = f"  proven      ‖w − w*‖ ≤ {near.radius:.2g}, b* − b in [{low:.2g}, {high:.2g}], rounding included"
    return replace(model, metadata={**model.metadata, NEAR: near.record()}), said


def _on_cluster(options: argparse.Namespace) -> int:
    """Solve over the workers of a cluster, print the summary and save the model."""
    with cluster(options.scheduler, options.verbose):
        with Ticker("asking the workers for what they read", options.verbose):
            sample = read_spread(options)
            problem = sample.problem(options)
        print(first_line(in_words(source(options.file)), sample, problem))
        result = solved(problem, options)
        print(result.summary())
        _saved(sample.model(result, problem), options)
    return CODES.get(result.status, 1)


def _saved(model: Model, options: argparse.Namespace, note: str = "") -> None:
    """Write the model, where that is asked for."""
    if options.save is not None:
        model.save(options.save)
        print(f"  saved       {options.save}{note}", flush=True)


def _check(options: argparse.Namespace) -> None:
    """Refuse what would be ignored."""
    if options.seed is not None and options.test_size is None and options.cv is None:
        raise ParameterError("--seed is of the rows that --test-size or --cv draws: leave it out, or name one of them")
    if options.axes is not None and options.plot is None:
        raise ParameterError("--axes is of the picture that --plot draws: name its file, or leave --axes out")
    if options.bounds and options.scheduler is not None:
        raise ParameterError("--bounds needs the samples here: leave it out, or --scheduler")
    check_probability(options)
    check_options(options)


def solved(problem: Any, options: argparse.Namespace) -> Any:
    """The result as it is. Raises QPSVMError."""
    if isinstance(problem, SeveralClasses):
        return problem.solve()
    stored = isinstance(problem.X, RowSource)
    with Ticker(f"solving over {problem.n} rows", options.verbose) if stored else nullcontext():
        result = solve(problem, options.backend, options.form, **settings(options))
    if result.error is not None:
        raise _proven(result.error)
    return result


def _proven(error: QPSVMError) -> QPSVMError:
    """The error with what is proven of it, where that is a sentence."""
    if isinstance(error, (NotSeparableError, InfeasibleConstraintsError)):
        with suppress(UnsupportedError):
            proof = error.verify()
            said = {claim.kind: claim.text for claim in proof.claims}
            if proof:
                error.args = (f"{error}. Proven: {said.get('hulls', proof.claims[-1].text)}",)
    return error


def _held_out(test: Sample, model: Model, n: int, seed: int, weighed: bool) -> tuple[str, list[Hint]]:
    """What the model is worth on the rows that were held out."""
    answers = predicted(model, test.table.X)
    scores = figures(test, answers, model.metadata.get("quantile"))
    words = f"{named(scores)}, on {len(answers)} of {n} rows that did not train (seed {seed})"
    return block("held out", words, test, answers), warnings(test, answers, scores, weighed)


def _cross_validated(
    sample: Sample, tested: Sequence[Fold], options: argparse.Namespace, seed: int
) -> tuple[str, bool, list[Hint]]:
    """What machines that trained on all folds but one are worth on that one, and whether all were certified."""
    found: list[dict[str, float]] = []
    rows, answers = [], []
    gaps, certified = [], 0
    for number, split in enumerate(tested, 1):
        train, test = parts(sample, split, options)
        try:
            problem = stated(train, options)
            result = solved(problem, options)
        except QPSVMError as error:
            kind = SolverError if isinstance(error, SolverError) else DataError
            raise kind(f"without fold {number} of {len(tested)}: {error}") from error
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        model = train.model(result, problem)
        answer = predicted(model, test.table.X)
        found.append(figures(test, answer, model.metadata.get("quantile")))
        gaps.append(result.gap)
        certified += result.status is Status.OPTIMAL
        rows.append(split.test)
        answers.append(answer)
    names = [name for name in found[0] if all(name in each for each in found)]
    mean = {name: float(np.mean([each[name] for each in found])) for name in names}
    spread = {name: float(np.std([each[name] for each in found])) for name in names}
    order = np.argsort(np.concatenate(rows))
    all_tested = some_rows(sample, np.concatenate(rows)[order])
    answer = np.concatenate(answers)[order]
    words = f"{named(mean, spread)} (seed {seed}; {certified} of {len(gaps)} optimal, largest gap {max(gaps):.1e})"
    said = block(f"{len(gaps)} folds", words, all_tested, answer)
    return said, certified == len(gaps), warnings(all_tested, answer, mean, bool(options.class_weight))
