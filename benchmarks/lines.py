"""The record of a benchmark: a file of JSON lines, one a measurement, that says which machine made it.

Kinds of lines: "machine" (once a session), "begin" (a solver begins a task: what it did there before is void), "run"
(one solver on one task at one tolerance), "done" (it has nothing more to do there).
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import importlib.metadata
import json
import lzma
import math
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Line = dict[str, Any]
PACKAGES = (
    "qpsvm", "numpy", "scipy", "scikit-learn", "libsvm-official", "liblinear-official", "qpsolvers", "piqp",
    "proxsuite", "clarabel", "osqp", "scs", "highspy", "qpalm", "daqp", "cvxopt", "cvxpy", "scikit-learn-intelex",
    "daal", "rehline", "snapml", "torchkm", "torch",
)  # fmt: skip


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Write one line; at once, so that an interrupt loses nothing."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({key: _to_plain(value) for key, value in line.items()}, ensure_ascii=False) + "\n")


def _to_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _to_plain(part) for key, part in value.items()}
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    return value


def read_lines(paths: Iterable[Path]) -> list[Line]:
    """Read all lines of some files, plain or packed by xz; a line that an interrupt truncated is left out."""
    found = []
    for path in paths:
        if path.suffix == ".xz":
            content = lzma.decompress(path.read_bytes())
        else:
            content = path.read_bytes()
        for text in content.decode("utf-8").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                found.append(json.loads(text))
    return found


def read_runs(paths: Iterable[Path]) -> list[Line]:
    """The measurements. Of those with the same key the last one counts, at the place of the first.

    "engine" is None in lines that were written before it was recorded.
    """
    kept: dict[tuple[Any, ...], Line] = {}
    for line in read_lines(paths):
        if line["kind"] == "begin":
            kept = {key: run for key, run in kept.items() if key[:3] != get_pair_key(line)}
        if line["kind"] == "run":
            kept[(*get_pair_key(line), line.get("tol"), line.get("max_iter"))] = {"engine": None, **line}
    return list(kept.values())


def read_machines(paths: Iterable[Path]) -> list[Line]:
    """The machines, each once."""
    return list({line["id"]: line for line in read_lines(paths) if line["kind"] == "machine"}.values())


def read_done_pairs(path: Path) -> set[tuple[str, str, str]]:
    """Read the pairs that need no further measurement."""
    if path.exists():
        return {get_pair_key(line) for line in read_lines([path]) if line["kind"] == "done"}
    return set()


def join_records(paths: Sequence[Path], to: Path, suites: Iterable[str] = ()) -> int:
    """One packed record of several: what counts, and the machines that it was made on.

    Parameters
    ----------
    paths : sequence of Path
        What a later one holds of a solver on a task replaces what an earlier one does.
    to : Path
        Ends in .xz; may be one of those that are read.
    suites : iterable of str
        Those to take from the first record anew only: its own lines of them are left out. For another processor.

    Returns
    -------
    int
        The number of measurements.
    """
    left_out = {get_pair_key(line) for line in read_runs(paths[:1]) if line["suite"] in suites}
    renewed = {get_pair_key(line) for line in read_runs(paths[1:])}
    runs = [run for run in read_runs(paths) if get_pair_key(run) not in left_out or get_pair_key(run) in renewed]
    used = {run["machine"] for run in runs}
    kept = [*(machine for machine in read_machines(paths) if machine["id"] in used), *runs]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
    to.write_bytes(lzma.compress(text.encode("utf-8"), preset=9))
    return len(runs)


def group_processors(runs: Iterable[Line], known: Iterable[Line]) -> dict[str, set[str]]:
    """The kinds of processor that each suite was measured on: with two, a ratio of times compares these as well."""
    kinds = {machine["id"]: str(machine["cpu"]) for machine in known}
    found: dict[str, set[str]] = {}
    for run in runs:
        found.setdefault(run["suite"], set()).add(kinds[run["machine"]])
    return found


def get_pair_key(line: Line) -> tuple[str, str, str]:
    """Suite, task and solver."""
    return line["suite"], line["task"], line["solver"]


def describe_machine() -> Line:
    """Describe the machine on which the figures are measured."""
    facts: Line = {
        "kind": "machine",
        "cpu": _find_processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "os": platform.platform(),
        "python": platform.python_version(),
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")),
        "commit": _find_commit(),
        "versions": {name: version for name in PACKAGES if (version := find_version(name)) is not None},
    }
    facts["id"] = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:8]
    facts["date"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return facts


def find_version(package: str) -> str | None:
    """The installed version of a distribution."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _find_processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _find_commit() -> str | None:
    """The commit of this repository, with a plus where files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
        return found.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
