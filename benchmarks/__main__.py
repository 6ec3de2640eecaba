"""`python -m benchmarks`: measure, report, list. Threads are set before NumPy is loaded."""

from __future__ import annotations

from benchmarks.threads import one_thread

one_thread()

from benchmarks.cli import main  # noqa: E402  (after the threads)

if __name__ == "__main__":
    raise SystemExit(main())
