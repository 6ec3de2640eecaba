"""Run `solve`: one problem, its certificate, its score on held-out rows, and a model file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any, NamedTuple

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
from qpsvm.faces.cli.commands.plot import choose_picture, require_picture, write_picture
from qpsvm.faces.cli.commands.verify import check_options, prove_result, write_error_proof
from qpsvm.faces.cli.data import Dataset, parse_source, print_columns, read_dataset
from qpsvm.faces.cli.data_files import describe_source
from qpsvm.faces.cli.distributed import describe_dataset, open_cluster, read_distributed
from qpsvm.faces.cli.options import build_settings
from qpsvm.faces.cli.probabilities import add_probabilities, check_probability, check_samples
from qpsvm.faces.cli.problem_options import apply_defaults
from qpsvm.faces.cli.scores import (
    compute_scores,
    describe_training_scores,
    find_warnings,
    format_block,
    format_notes,
    format_scores,
)
from qpsvm.faces.cli.several import MulticlassProblem, choose_problem, predict_rows
from qpsvm.faces.cli.splits import SEED, draw_dataset_folds, draw_held_out, restrict_rows, split_dataset
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.faces.cli.ticker import Ticker
from qpsvm.machines import Problem
from qpsvm.many.grid.folds import Fold
from qpsvm.program.status import Status
from qpsvm.result.hints import Hint
from qpsvm.result.model import NEAR_KEY, Model
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: Exit codes by status; any other status gives 1.
EXIT_CODES = {Status.OPTIMAL: 0, Status.INTERRUPTED: 130}


class SplitDataset(NamedTuple):
    """The rows to train on, and those held out.

    training, held_out: With columns as the machine takes them, computed from the training rows; both are all rows if
        none is held out.
    raw_training: The training rows before that, from which the folds are drawn.
    folds: Of a cross-validation; None without one.
    n_rows, n_training: Number of all rows, and of the training rows.
    """

    training: Dataset
    held_out: Dataset
    raw_training: Dataset
    folds: list[Fold] | None
    n_rows: int
    n_training: int


def _read_split_dataset(options: argparse.Namespace, seed: int) -> SplitDataset:
    """Read the rows, and split them as requested."""
    is_split = options.test_size is not None or options.cv is not None
    whole = read_dataset(options, raw=is_split)
    n = whole.table.X.shape[0]
    if not is_split:
        return SplitDataset(whole, whole, whole, None, n, n)
    everything = Fold(np.arange(n), np.arange(0))
    split = everything if options.test_size is None else draw_held_out(whole, options.test_size, seed)
    raw_training = restrict_rows(whole, split.train)
    folds = None if options.cv is None else list(draw_dataset_folds(raw_training, options.cv, seed))
    training, held_out = split_dataset(whole, split, options)
    print_columns(training.table)
    return SplitDataset(training, held_out, raw_training, folds, n, len(split.train))


def run(options: argparse.Namespace) -> int:
    """Solve, print the summary and the scores, draw, and save the model."""
    apply_defaults(options)
    _check_options(options)
    require_writable(options.save)
    require_writable(options.proof)
    if options.scheduler is not None:
        return _solve_on_cluster(options)
    require_picture(options.plot)
    seed = SEED if options.seed is None else options.seed
    data = _read_split_dataset(options, seed)
    sample = data.training
    problem = choose_problem(sample, options)
    check_samples(problem, options)
    draw = None if options.plot is None else choose_picture(problem, sample.table.names, options.axes)
    with write_error_proof(sample, options):
        result = solve_or_raise(problem, options)
    model = sample.build_model(result, problem)
    print(result.summary(notes=False))
    answers = None  # without a target the summary counts the vectors inside and outside
    if sample.target_kind != "none":
        answers = predict_rows(model, sample.table.X)
        print(f"  training    {describe_training_scores(sample, answers, model.metadata.get('quantile'))}")
    code, hints, weighed = EXIT_CODES.get(result.status, 1), list[Hint](), bool(options.class_weight)
    if options.probability:
        fold_options = argparse.Namespace(**vars(options))
        fold_options.gamma = getattr(problem.kernel, "gamma", options.gamma)  # that of all rows, in every fold
        model, said = add_probabilities(
            sample, problem, result, model, lambda rows: solve_or_raise(rows.build_problem(fold_options), fold_options)
        )
        print(said)
    if options.test_size is not None:
        said, hints = _score_held_out(data.held_out, model, data.n_rows, seed, weighed)
        print(said)
    if draw is not None:
        write_picture(draw(result), options.plot)
        print(f"  drawn       {options.plot}")
    if options.bounds:
        model, said = _add_bounds(model, result)
        print(said)
    _save_model(model, options, "" if options.test_size is None else f", trained on {data.n_training} rows")
    if options.proof is not None and not prove_result(result, sample, options):
        code = code or 1
    if data.folds is not None and result.status is not Status.INTERRUPTED:
        said, certified, more = _score_folds(data.raw_training, data.folds, options, seed)
        print(said)
        code, hints = code or (0 if certified else 1), [*hints, *more]
    if sample.target_kind == "labels" and answers is not None:
        hints += find_warnings(sample, answers, {}, weighed)
    if last := format_notes(hints, result.list_hints(sample.table.names)):
        print(last)
    return code


def _add_bounds(model: Model, result: SVMResult) -> tuple[Model, str]:
    """Return the model with the distance to its optimum, and the line that is printed. Raises UnsupportedError."""
    near = result.build_near_function()
    low, high = near.shift
    said = f"  proven      ‖w − w*‖ ≤ {near.radius:.2g}, b* − b in [{low:.2g}, {high:.2g}], rounding included"
    return replace(model, metadata={**model.metadata, NEAR_KEY: near.record()}), said


def _solve_on_cluster(options: argparse.Namespace) -> int:
    """Solve on the workers of a cluster, print the summary and save the model."""
    with open_cluster(options.scheduler, options.verbose):
        with Ticker("reading on the workers", options.verbose):
            sample = read_distributed(options)
            problem = sample.build_problem(options)
        print(describe_dataset(describe_source(parse_source(options.file)), sample, problem))
        result = solve_or_raise(problem, options)
        print(result.summary())
        _save_model(sample.build_model(result, problem), options)
    return EXIT_CODES.get(result.status, 1)


def _save_model(model: Model, options: argparse.Namespace, note: str = "") -> None:
    """Write the model, if requested."""
    if options.save is not None:
        model.save(options.save)
        print(f"  saved       {options.save}{note}", flush=True)


def _check_options(options: argparse.Namespace) -> None:
    """Refuse options that would be ignored."""
    if options.seed is not None and options.test_size is None and options.cv is None:
        raise ParameterError("--seed is for the rows drawn by --test-size or --cv: add one of them, or leave it out")
    if options.axes is not None and options.plot is None:
        raise ParameterError("--axes is for the picture drawn by --plot: add --plot FILE, or leave --axes out")
    if options.bounds and options.scheduler is not None:
        raise ParameterError("--bounds needs the samples in this process: leave --bounds or --scheduler out")
    check_probability(options)
    check_options(options)


def solve_or_raise(problem: Problem | MulticlassProblem, options: argparse.Namespace) -> Any:
    """Solve, and return the result whatever its status. Raises QPSVMError."""
    if isinstance(problem, MulticlassProblem):
        return problem.solve()
    stored = isinstance(problem.X, RowSource)
    with Ticker(f"solving for {problem.n} rows", options.verbose) if stored else nullcontext():
        result = solve(problem, options.backend, options.form, **build_settings(options))
    if result.error is not None:
        raise _append_proof(result.error)
    return result


def _append_proof(error: QPSVMError) -> QPSVMError:
    """Append to an error what is proven about it, if that fits in one sentence."""
    if isinstance(error, (NotSeparableError, InfeasibleConstraintsError)):
        with suppress(UnsupportedError):
            proof = error.verify()
            said = {claim.kind: claim.text for claim in proof.claims}
            if proof:
                error.args = (f"{error}. Proven: {said.get('hulls', proof.claims[-1].text)}",)
    return error


def _score_held_out(test_data: Dataset, model: Model, n: int, seed: int, is_weighted: bool) -> tuple[str, list[Hint]]:
    """Score the model on the held-out rows; return text and hints."""
    answers = predict_rows(model, test_data.table.X)
    scores = compute_scores(test_data, answers, model.metadata.get("quantile"))
    words = f"{format_scores(scores)}, on {len(answers)} of {n} rows, not used for training (seed {seed})"
    return format_block("held out", words, test_data, answers), find_warnings(test_data, answers, scores, is_weighted)


def _score_folds(
    dataset: Dataset, tested: Sequence[Fold], options: argparse.Namespace, seed: int
) -> tuple[str, bool, list[Hint]]:
    """Score the machines of all folds on their held-out rows, and return whether all are certified."""
    found: list[dict[str, float]] = []
    rows, answers = [], []
    gaps, certified = [], 0
    for number, split in enumerate(tested, 1):
        train, test = split_dataset(dataset, split, options)
        try:
            problem = choose_problem(train, options)
            result = solve_or_raise(problem, options)
        except QPSVMError as error:
            kind = SolverError if isinstance(error, SolverError) else DataError
            raise kind(f"training without fold {number} of {len(tested)}: {error}") from error
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        model = train.build_model(result, problem)
        answer = predict_rows(model, test.table.X)
        found.append(compute_scores(test, answer, model.metadata.get("quantile")))
        gaps.append(result.gap)
        certified += result.status is Status.OPTIMAL
        rows.append(split.test)
        answers.append(answer)
    names = [name for name in found[0] if all(name in each for each in found)]
    mean = {name: float(np.mean([each[name] for each in found])) for name in names}
    spread = {name: float(np.std([each[name] for each in found])) for name in names}
    order = np.argsort(np.concatenate(rows))
    all_tested = restrict_rows(dataset, np.concatenate(rows)[order])
    answer = np.concatenate(answers)[order]
    words = (
        f"{format_scores(mean, spread)} (seed {seed}; {certified} of {len(gaps)} optimal, largest gap {max(gaps):.1e})"
    )
    said = format_block(f"{len(gaps)} folds", words, all_tested, answer)
    return said, certified == len(gaps), find_warnings(all_tested, answer, mean, bool(options.class_weight))
