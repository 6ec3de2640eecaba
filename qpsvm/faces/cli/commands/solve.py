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
from qpsvm.faces.cli.commands.verify import check_proof_options, prove_result, write_error_proof
from qpsvm.faces.cli.data import Dataset, parse_source, print_columns, read_dataset
from qpsvm.faces.cli.data_files import describe_source
from qpsvm.faces.cli.distributed import describe_dataset, open_cluster, read_distributed
from qpsvm.faces.cli.multiclass import MulticlassProblem
from qpsvm.faces.cli.options import build_settings
from qpsvm.faces.cli.predicted_labels import predict_rows
from qpsvm.faces.cli.probabilities import add_probabilities, check_probability, check_samples
from qpsvm.faces.cli.problem_choice import choose_problem
from qpsvm.faces.cli.problem_options import apply_defaults
from qpsvm.faces.cli.scores import (
    describe_training_scores,
    find_warnings,
    format_block,
    format_notes,
    format_scores,
    score_dataset,
)
from qpsvm.faces.cli.splits import DEFAULT_SEED, draw_dataset_folds, draw_held_out, restrict_rows, split_dataset
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

    training, held_out: Encoded by what is learnt from the training rows. `held_out` is used with --test-size only.
    raw_training: The training rows before the encoding, from which the folds are drawn.
    folds: The folds of a cross-validation; None without one.
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
    dataset = read_dataset(options, raw=is_split)
    n = dataset.table.X.shape[0]
    if not is_split:
        return SplitDataset(dataset, dataset, dataset, folds=None, n_rows=n, n_training=n)
    everything = Fold(train=np.arange(n), test=np.arange(0))
    if options.test_size is None:
        split = everything
    else:
        split = draw_held_out(dataset, options.test_size, seed)
    raw_training = restrict_rows(dataset, split.train)
    if options.cv is None:
        folds = None
    else:
        folds = list(draw_dataset_folds(raw_training, options.cv, seed))
    training, held_out = split_dataset(dataset, split, options)
    print_columns(training.table)
    return SplitDataset(training, held_out, raw_training, folds, n_rows=n, n_training=len(split.train))


def run(options: argparse.Namespace) -> int:
    """Solve in this process or on a cluster; return the exit code."""
    apply_defaults(options)
    _check_options(options)
    require_writable(options.save)
    require_writable(options.proof)
    if options.scheduler is None:
        return _solve_here(options)
    return _solve_on_cluster(options)


def _solve_here(options: argparse.Namespace) -> int:
    """Solve, print the summary and the scores, draw, save the model and the proof; return the exit code."""
    require_picture(options.plot)
    seed = DEFAULT_SEED if options.seed is None else options.seed
    data = _read_split_dataset(options, seed)
    training = data.training
    problem = choose_problem(training, options)
    check_samples(problem, options)
    if options.plot is None:
        draw = None
    else:
        draw = choose_picture(problem, training.table.names, options.axes)
    with write_error_proof(training, options):
        result = solve_or_raise(problem, options)
    model = training.build_model(result, problem)
    print(result.summary(notes=False))
    is_weighted = bool(options.class_weight)
    training_hints = _score_training(training, model, is_weighted)
    if options.probability:
        model = _add_probabilities(model, training, problem, result, options)
    hints: list[Hint] = []
    if options.test_size is not None:
        hints = _score_held_out(data.held_out, model, data.n_rows, seed, is_weighted)
    if draw is not None:
        write_picture(draw(result), options.plot)
        print(f"  drawn       {options.plot}")
    if options.bounds:
        model = _add_bounds(model, result)
    _save_model(model, options, "" if options.test_size is None else f", trained on {data.n_training} rows")
    is_proven = options.proof is None or bool(prove_result(result, training, options))
    all_folds_optimal = True
    if data.folds is not None and result.status is not Status.INTERRUPTED:
        all_folds_optimal, fold_hints = _score_folds(data.raw_training, data.folds, options, seed)
        hints += fold_hints
    if notes := format_notes(hints, training_hints, result.list_hints(training.table.names)):
        print(notes)
    return EXIT_CODES.get(result.status, 1) or int(not (is_proven and all_folds_optimal))


def _score_training(training: Dataset, model: Model, is_weighted: bool) -> list[Hint]:
    """Print the scores on the training rows; return hints on predicted labels.

    Without a target nothing is printed: the summary of the result counts the samples inside and outside.
    """
    if training.target_kind == "none":
        return []
    predicted = predict_rows(model, training.table.X)
    print(f"  training    {describe_training_scores(training, predicted, model.metadata.get('quantile'))}")
    if training.target_kind != "labels":  # hints on predicted numbers are for rows that were not used for training
        return []
    return find_warnings(training, predicted, scores={}, is_weighted=is_weighted)


def _add_probabilities(
    model: Model, training: Dataset, problem: Any, result: SVMResult, options: argparse.Namespace
) -> Model:
    """Return the model with calibrated probabilities, and print their scores."""
    gamma = getattr(problem.kernel, "gamma", options.gamma)  # "scale" would be another number in each fold
    fold_options = argparse.Namespace(**{**vars(options), "gamma": gamma})
    model, text = add_probabilities(
        training, problem, result, model, lambda rows: solve_or_raise(rows.build_problem(fold_options), fold_options)
    )
    print(text)
    return model


def _add_bounds(model: Model, result: SVMResult) -> Model:
    """Return the model with bounds on its distance from the optimum, and print them. Raises UnsupportedError."""
    near = result.build_near_function()
    low, high = near.shift
    print(f"  proven      ‖w − w*‖ ≤ {near.radius:.2g}, b* − b in [{low:.2g}, {high:.2g}], rounding included")
    return replace(model, metadata={**model.metadata, NEAR_KEY: near.record()})


def _solve_on_cluster(options: argparse.Namespace) -> int:
    """Solve on the workers of a cluster, print the summary and save the model; return the exit code."""
    with open_cluster(options.scheduler, options.verbose):
        with Ticker("reading on the workers", options.verbose):
            dataset = read_distributed(options)
            problem = dataset.build_problem(options)
        print(describe_dataset(describe_source(parse_source(options.file)), dataset, problem))
        result = solve_or_raise(problem, options)
        print(result.summary())
        _save_model(dataset.build_model(result, problem), options)
    return EXIT_CODES.get(result.status, 1)


def _save_model(model: Model, options: argparse.Namespace, note: str = "") -> None:
    """Write the model, if requested."""
    if options.save is not None:
        model.save(options.save)
        print(f"  saved       {options.save}{note}", flush=True)


def _check_options(options: argparse.Namespace) -> None:
    """Check that no option would be ignored. Raises ParameterError."""
    if options.seed is not None and options.test_size is None and options.cv is None:
        raise ParameterError("--seed is for the rows drawn by --test-size or --cv: add one of them, or leave it out")
    if options.axes is not None and options.plot is None:
        raise ParameterError("--axes is for the picture drawn by --plot: add --plot FILE, or leave --axes out")
    if options.bounds and options.scheduler is not None:
        raise ParameterError("--bounds needs the samples in this process: leave --bounds or --scheduler out")
    check_probability(options)
    check_proof_options(options)


def solve_or_raise(problem: Problem | MulticlassProblem, options: argparse.Namespace) -> Any:
    """Solve, and return the result, optimal or not. Raises the error of the result, if it has one: a QPSVMError."""
    if isinstance(problem, MulticlassProblem):
        return problem.solve()
    is_stored = isinstance(problem.X, RowSource)
    with Ticker(f"solving for {problem.n} rows", options.verbose) if is_stored else nullcontext():
        result = solve(problem, backend=options.backend, form=options.form, **build_settings(options))
    if result.error is not None:
        raise _append_proof(result.error)
    return result


def _append_proof(error: QPSVMError) -> QPSVMError:
    """Append the claim that is proven to an error of infeasible data; return other errors unchanged."""
    if isinstance(error, (NotSeparableError, InfeasibleConstraintsError)):
        with suppress(UnsupportedError):
            proof = error.verify()
            claims = {claim.kind: claim.text for claim in proof.claims}
            if proof:  # every claim is proven; the last one is the conclusion, but "hulls" says more
                error.args = (f"{error}. Proven: {claims.get('hulls', proof.claims[-1].text)}",)
    return error


def _score_held_out(held_out: Dataset, model: Model, n_rows: int, seed: int, is_weighted: bool) -> list[Hint]:
    """Score the model on the held-out rows of `n_rows`, and print the scores; return hints."""
    predicted = predict_rows(model, held_out.table.X)
    scores = score_dataset(held_out, predicted, model.metadata.get("quantile"))
    text = f"{format_scores(scores)}, on {len(predicted)} of {n_rows} rows, not used for training (seed {seed})"
    print(format_block("held out", text, held_out, predicted))
    return find_warnings(held_out, predicted, scores, is_weighted)


def _score_folds(
    dataset: Dataset, folds: Sequence[Fold], options: argparse.Namespace, seed: int
) -> tuple[bool, list[Hint]]:
    """Train without each fold, score on its rows, and print the mean scores.

    Returns whether all results are optimal, and hints.
    """
    fold_scores: list[dict[str, float]] = []
    rows, predictions = [], []
    gaps = []
    n_optimal = 0
    for number, split in enumerate(folds, 1):
        train, test = split_dataset(dataset, split, options)
        try:
            problem = choose_problem(train, options)
            result = solve_or_raise(problem, options)
        except QPSVMError as error:
            kind = SolverError if isinstance(error, SolverError) else DataError  # which decides the exit code
            raise kind(f"training without fold {number} of {len(folds)}: {error}") from error
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        model = train.build_model(result, problem)
        predicted = predict_rows(model, test.table.X)
        fold_scores.append(score_dataset(test, predicted, model.metadata.get("quantile")))
        gaps.append(result.gap)
        n_optimal += result.status is Status.OPTIMAL
        rows.append(split.test)
        predictions.append(predicted)
    names = [name for name in fold_scores[0] if all(name in scores for scores in fold_scores)]
    mean = {name: float(np.mean([scores[name] for scores in fold_scores])) for name in names}
    spread = {name: float(np.std([scores[name] for scores in fold_scores])) for name in names}
    order = np.argsort(np.concatenate(rows))
    all_tested = restrict_rows(dataset, np.concatenate(rows)[order])
    predicted = np.concatenate(predictions)[order]
    certificates = f"{n_optimal} of {len(gaps)} optimal, largest gap {max(gaps):.1e}"
    text = f"{format_scores(mean, spread)} (seed {seed}; {certificates})"
    print(format_block(f"{len(gaps)} folds", text, all_tested, predicted))
    return n_optimal == len(gaps), find_warnings(all_tested, predicted, mean, bool(options.class_weight))
