"""Write proofs (`solve --proof`: `prove_result`) and check them with the stand-alone checker (`verify`: `run`).

A proof file states claims about a result, the data that they concern, and how the data file became samples. The checker
reads both files again, and does not use the rest of the library.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qpsvm.base.errors import FileFormatError, MissingFileError, ParameterError, QPSVMError, UnsupportedError
from qpsvm.bounds.proof import checker
from qpsvm.bounds.proof.file import save
from qpsvm.bounds.proof.proof import Proof
from qpsvm.data.files import Column, StandardInput
from qpsvm.faces.cli.data import Dataset, parse_source
from qpsvm.faces.cli.shell import find_command
from qpsvm.faces.cli.ticker import Ticker
from qpsvm.result.svm_result import SVMResult

#: Extensions of files that the checker cannot read.
UNREADABLE_ENDINGS = (".parquet", ".feather", ".arrow")
#: Names of the file formats that it reads.
FORMAT_NAMES = {"csv": "CSV", "libsvm": "LIBSVM", "npy": ".npy"}


def check_proof_options(options: argparse.Namespace) -> None:
    """Refuse options that a proof cannot cover. Raises ParameterError."""
    if options.proof is None:
        return
    if options.test_size is not None:
        raise ParameterError(
            "--proof covers a machine trained on all rows of the file: leave --proof or --test-size out"
        )
    if options.scheduler is not None:
        raise ParameterError("--proof covers rows that this process reads: leave --proof or --scheduler out")


def prove_result(result: SVMResult, dataset: Dataset, options: argparse.Namespace) -> Proof:
    """Prove what holds for a result, print it and write the proof file."""
    with Ticker(f"proving the result for {dataset.table.X.shape[0]} rows", options.verbose):
        proof = result.verify(tol=options.tol)
    _write_proof(proof, "the result", dataset, options)
    return proof


@contextmanager
def write_error_proof(dataset: Dataset, options: argparse.Namespace) -> Iterator[None]:
    """Write the proof of an error of the block that can prove itself, such as infeasibility, if one is requested."""
    try:
        yield
    except QPSVMError as error:
        verify = getattr(error, "verify", None)
        if options.proof is not None and verify is not None:
            _write_proof(verify(), "the error", dataset, options)
        raise


def _write_proof(proof: Proof, what: str, dataset: Dataset, options: argparse.Namespace) -> None:
    """Print a proof, and write its file."""
    print(f"proof of {what} of this {proof}")
    file = _find_data_file(options)
    try:
        save(proof, options.proof, file, None, describe_encoding(dataset, options))
    except UnsupportedError as error:
        print(f"  not written {error}", flush=True)
        return
    command = find_command("verify", options.proof, "--data", file or "DATA")
    if file:
        note = ""
    else:
        note = f", with DATA the same table in one {FORMAT_NAMES[dataset.table.encoding.format]} file, with all digits"
    print(f"  written     {options.proof}; to check it: {command}{note}", flush=True)


def _find_data_file(options: argparse.Namespace) -> str | None:
    """Return the file of the data, if the checker can read it."""
    source = parse_source(options.file)
    if isinstance(source, (StandardInput, tuple)) or not Path(source).is_file():
        return None
    return None if source.lower().endswith(UNREADABLE_ENDINGS) else source


def describe_encoding(dataset: Dataset, options: argparse.Namespace) -> dict[str, Any]:
    """Describe how the file became samples, in the format of the checker."""
    encoding = dataset.table.encoding
    record: dict[str, Any] = {"kind": encoding.format}
    if encoding.format == "libsvm":
        record["first_index"] = encoding.first_index
    else:
        record["columns"] = [_describe_column(column) for column in encoding.columns]
        texts = {"na": list(encoding.na_values), "decimal": encoding.decimal, "encoding": options.encoding}
        record |= {name: value for name, value in texts.items() if value}
        if dataset.table.y is not None:
            record["target"] = encoding.target or options.target
    if dataset.table.dropped:
        described = {*(column.name for column in encoding.columns), record.get("target")}
        record["drop_missing"] = [name for name in dataset.table.required_columns if name not in described]
    if encoding.mean is not None and encoding.scale is not None:
        record["mean"], record["scale"] = encoding.mean.tolist(), encoding.scale.tolist()
    if dataset.classes is not None:
        negative, positive = dataset.classes.tolist()
        if dataset.against is not None:
            record["labels"] = [None, dataset.positive]
        else:
            record["labels"] = [negative, positive]
    return record


def _describe_column(column: Column) -> list[Any]:
    """Describe a column in the format of the checker."""
    more: dict[str, Any] = {"rare": list(column.rare)} if column.rare else {}
    if column.date is not None:
        more |= {"date": column.date, "origin": column.origin}
    if column.fill is not None:
        more |= {"fill": column.fill}
    if column.unit:
        more |= {"unit": column.unit}
    if column.indicator:
        more |= {"missing": "has a feature"}
    return [column.name, column.categories, *([more] if more else [])]


def run(options: argparse.Namespace) -> int:
    """Print the verdict on each claim; return 0 if all are confirmed and sufficient, otherwise 1."""
    for path in (options.proof, options.data):
        if not Path(path).exists():
            raise MissingFileError(f"{path} does not exist (relative to {Path.cwd()})")
    lines: list[str] = []
    try:
        with Ticker(f"checking {options.proof}", options.verbose):
            code = checker.check(
                options.proof, options.data, options.target, lines.append, options.tol, options.without
            )
    except checker.UnusableError as error:
        raise FileFormatError(str(error)) from error
    print("\n".join(lines))
    print(f"{options.proof}: {_summarise_verdicts(lines, code, options.tol)}")
    return code


def _summarise_verdicts(lines: list[str], code: int, tol: float) -> str:
    """Summarise the verdicts on the claims, one line each, in one sentence."""
    if not code:
        return "every claim is confirmed, in exact arithmetic"
    if not any(line.startswith("REFUTED") for line in lines):
        return "not confirmed: a claim is open or missing"
    if all("the tolerance" in line for line in lines if line.startswith(("REFUTED", "open"))):
        return f"its claims are confirmed, but its gap is above --tol {tol:g}"
    return "refuted: this is not a proof for these data"
