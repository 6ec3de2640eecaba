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
    X, y, first, keep, qid = read_libsvm(path, content, drop_missing, known)
    n = len(keep)
    encoding = known or Encoding("libsvm", None, (), X.shape[1], first_index=first)
    places, dropped = np.flatnonzero(keep), n - len(y)
    if len(qid) == len(y):
        return NewRows(X, y, encoding, dropped, groups=qid, places=places, n=n)
    notes = (f"only {len(qid)} lines have a qid, which is ignored",) if len(qid) else ()
    return NewRows(X, y, encoding, dropped, notes, places=places, n=n)
