"""Run `play`: serve the live page."""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.errors import UnsupportedError
from qpsvm.faces.cli.data import Dataset, read_dataset
from qpsvm.faces.cli.problem_options import FILE_OPTIONS, apply_defaults, build_problem, refuse_options
from qpsvm.faces.play.machine_catalogue import MACHINES
from qpsvm.faces.play.request import MAX_NUMBERS, MAX_POINTS
from qpsvm.faces.play.server import serve
from qpsvm.faces.play.start import TARGET, Start, build_start, choose_default_start
from qpsvm.machines import registry


def run(options: argparse.Namespace) -> int:
    """Serve the page, with the samples of a file or a scene, until Ctrl-C."""
    if options.variant in registry.ALL_IN_ONE:
        raise UnsupportedError(
            f"the page shows samples of two classes, but {options.variant} trains several in one program: use another "
            "--variant, and for a file train one class against all others with --positive LABEL"
        )
    apply_defaults(options)
    serve(_build_start(options), options.port, not options.no_browser)
    return 0


def _build_start(options: argparse.Namespace) -> Start:
    """Build the initial state of the page. Raises ParameterError."""
    if options.file is None:
        refuse_options(options, (*FILE_OPTIONS, "axes"), "needs a file: add --data FILE, or leave it out")
        state = choose_default_start(options.variant).state
        X, *target = MACHINES[state.machine].build_arguments(state.points, state.labels)
        return build_start(build_problem(X, target[0] if target else None, options))
    sample = read_dataset(options)
    rows = select_page_rows(sample)
    n = sample.table.X.shape[0]
    if len(rows) < n:
        print(f"  note        the page shows {len(rows)} of {n} rows, evenly spaced in each class")
    start = build_start(sample.build_problem(options, rows))
    low, high = start.classes if sample.classes is None else map(str, sample.classes)
    names = sample.table.names
    if names is not None and start.state.points.shape[1] > len(names):
        names = (*names, TARGET)  # the target of a regression is the last coordinate of its points
    start = Start(start.state, names, (low, high))
    return start if options.axes is None else start.on_axes(options.axes)


def select_page_rows(dataset: Dataset) -> NDArray[np.intp]:
    """Select as many rows as a page can show, evenly spaced in each class; all of them if they are few enough."""
    n, d = dataset.table.X.shape
    most = max(min(MAX_POINTS, MAX_NUMBERS // max(d, 1)), 2)
    if n <= most:
        return np.arange(n)
    if dataset.target_kind != "labels" or dataset.y is None:
        return np.linspace(0, n - 1, most).round().astype(int)
    kept = []
    for label in np.unique(dataset.y):
        members = np.flatnonzero(dataset.y == label)
        count = max(round(most * len(members) / n) - 1, 1)
        kept.append(members[np.linspace(0, len(members) - 1, count).round().astype(int)])
    return np.sort(np.concatenate(kept))
