"""`python -m benchmarks`: measure, report, list. Threads are set before NumPy is loaded."""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from benchmarks.cli import main  # noqa: E402  (after the threads)

if __name__ == "__main__":
    raise SystemExit(main())
