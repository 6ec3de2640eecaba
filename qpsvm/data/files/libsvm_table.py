"""Build a table of samples and labels from a LIBSVM text (`build_libsvm_table`)."""

from __future__ import annotations

import numpy as np

from qpsvm.data.files.encoded_table import NewRows
from qpsvm.data.files.encoding import Encoding
from qpsvm.data.files.libsvm import read_libsvm
from qpsvm.data.files.source import FilePath


def build_libsvm_table(path: FilePath, content: bytes, known: Encoding | None, drop_missing: bool) -> NewRows:
    """Build a table from a LIBSVM text, whose groups are its qid if every line has one. Raises DataError.

    known: The encoding of the training rows; None if these are the training rows.
    """
    rows = read_libsvm(path, content, drop_missing, known)
    n = len(rows.is_kept)
    places = np.flatnonzero(rows.is_kept)
    encoding = known or Encoding("libsvm", None, (), rows.X.shape[1], first_index=rows.first_index)
    has_some_groups = rows.groups is None and rows.n_grouped
    notes = (f"only {rows.n_grouped} lines have a qid, which is ignored",) if has_some_groups else ()
    return NewRows(rows.X, rows.y, encoding, n - len(rows.y), notes, groups=rows.groups, places=places, n=n)
