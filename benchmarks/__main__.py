"""`python -m benchmarks`: measure, report, list. Threads are set before NumPy is loaded."""

from __future__ import annotations

from benchmarks.threads import use_one_thread

use_one_thread()

from benchmarks.cli import main  # noqa: E402  (after the threads)

if __name__ == "__main__":
    raise SystemExit(main())
