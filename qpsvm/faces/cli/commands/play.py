"""`play`: a page on which samples are dragged and the mathematics follows."""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.errors import UnsupportedError
from qpsvm.faces.cli.data import Sample, read
from qpsvm.faces.cli.options import OF_FILES, problem_of, refuse_given, settle
from qpsvm.faces.play.catalogue import MACHINES
from qpsvm.faces.play.request import MOST_NUMBERS, MOST_POINTS
from qpsvm.faces.play.server import serve
from qpsvm.faces.play.start import TARGET, Start, default_start, start_of
from qpsvm.machines import registry


def run(options: argparse.Namespace) -> int:
    """Serve the page, with the samples of a file or a scene, until Ctrl-C."""
    if options.variant in registry.ALL_IN_ONE:
        raise UnsupportedError(
            f"the page drags samples of two classes, and {options.variant} is of several in one program: take another "
            "--variant, and of a file one class against all others by --positive LABEL"
        )
    settle(options)
    serve(_start(options), options.port, not options.no_browser)
    return 0


def _start(options: argparse.Namespace) -> Start:
    """What the page shows first. Raises ParameterError."""
    if options.file is None:
        refuse_given(options, (*OF_FILES, "axes"), "is about a file: name one by --data FILE")
        state = default_start(options.variant).state
        X, *target = MACHINES[state.machine].data(state.points, state.labels)
        return start_of(problem_of(X, target[0] if target else None, options))
    sample = read(options)
    rows = some_rows(sample)
    n = sample.table.X.shape[0]
    if len(rows) < n:
        print(f"  note        the page shows {len(rows)} of {n} rows, evenly spaced in each class")
    start = start_of(sample.problem(options, rows))
    low, high = start.classes if sample.classes is None else map(str, sample.classes)
    names = sample.table.names
    if names is not None and start.state.points.shape[1] > len(names):
        names = (*names, TARGET)  # a regression's, which is the last coordinate of its points
    start = Start(start.state, names, (low, high))
    return start if options.axes is None else start.on_axes(options.axes)


def some_rows(sample: Sample) -> NDArray[np.intp]:
    """As many rows as a page takes, evenly spaced in each class: all of them where they are few enough."""
    n, d = sample.table.X.shape
    most = max(min(MOST_POINTS, MOST_NUMBERS // max(d, 1)), 2)
    if n <= most:
        return np.arange(n)
    if sample.learnt != "labels" or sample.y is None:
        return np.linspace(0, n - 1, most).round().astype(int)
    kept = []
    for label in np.unique(sample.y):
        members = np.flatnonzero(sample.y == label)
        count = max(round(most * len(members) / n) - 1, 1)
        kept.append(members[np.linspace(0, len(members) - 1, count).round().astype(int)])
    return np.sort(np.concatenate(kept))
