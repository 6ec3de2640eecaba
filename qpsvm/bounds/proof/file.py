"""Write a proof to a file for the checker (`save`): claims, numbers, and a checksum.

    {
    "format": "qpsvm proof",
    "version": 1,
    "about": …,                      how to check it
    "machine": {"name", "parameters", "kernel", and if there are any: "classes", "weights", "pairs", "rows"},
    "data": {"rows", "values"},
    "file": {}, or how it is read: {"kind", "target", "columns": [[name, categories or null, {"rare", "date", "origin",
            "fill", "missing", "unit"}], …], "na", "decimal", "encoding", …}, with its "name" and "sha256" if known,
    "alpha": {"exponent": e, "integers": [j, …], "others": [[k, p, q], …]},      α_k = j_k 2^e, but p/q for the others
    "hulls": {"u": [[i, p, q], …], "v": …},                                      instead, if no plane separates
    "plane": {"w" or "coef", and "multipliers"; or "centre", or "coef", and "radius"},  as in the result;
                                     for all-in-one machines w or coef of each class, and "b"
    "claims": [{"claim", "bound"}, …],
    "assumptions": […],
    "seal": …
    }

The file is JSON with one item per line, and without other keys: the tables of `bounds/proof/checker.py` define the
entries of each machine, kernel and claim. Floats are written so that they are read as the same floats. The seal is the
SHA-256 of all bytes before `"seal"`. The checker reads the file by itself, and computes everything again.

"data" identifies the samples, in whatever file they are: "values" is the SHA-256 of little-endian IEEE doubles, which
are, for each sample, the number of its nonzero entries, the index (from 0) and the value of each of these, and the
target (−1 or +1 for two classes, 0 without a target). So dense and sparse samples of the same numbers have one digest.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import IN_CACHE, UNDERFLOW
from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.rationals import as_integers
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.atomic_files import as_path_text, open_output
from qpsvm.base.errors import DataError, FileFormatError, UnsupportedError
from qpsvm.bounds.proof import checker
from qpsvm.bounds.proof.feasible import FeasibleAlpha
from qpsvm.data.rows import RowSource

#: The "about" entry of a file.
ABOUT = (
    "What is claimed of alpha and of the plane is a theorem about exactly these numbers and the data. To check it: "
    "python -m qpsvm verify THIS --data DATA; or, with nothing but Python, qpsvm/bounds/proof/checker.py"
)


@dataclass(frozen=True, eq=False)
class MachineRecord:
    """A machine, its samples and the primal point of its result, for a file.

    machine: The entry "machine".
    X (n, d): All samples; for a precomputed kernel its matrix.
    target (n,): Targets.
    plane: The entry "plane", empty if no plane separates: w, its coefficients, or centre and radius of a ball, and the
        multipliers, as the floats of the result.
    obstacle: Reason why no file can be written; usually empty.
    """

    machine: Mapping[str, Any]
    X: RowSource
    target: FloatArray
    plane: Mapping[str, Any]
    obstacle: str = ""

    def __repr__(self) -> str:
        return build_repr("MachineRecord", **vars(self))


def save(
    proof: Any, path: str | os.PathLike[str], data: str | os.PathLike[str] | None, target: str | None,
    reading: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write a proof to a file, see `Proof.save`.

    reading: How the data file was converted to samples, as in the entry "file"; None for the defaults of the checker,
        and then the file is read and compared with the samples.

    Raises UnsupportedError, FileFormatError, DataError, FileAccessError, ParameterTypeError.
    """
    weights = _build_weights(proof)
    record: MachineRecord = proof.record["stated"]()
    if record.obstacle:
        raise UnsupportedError(f"no proof file: {record.obstacle}")
    digest = compute_digest(record.X, record.target)
    parts: dict[str, Any] = {"about": ABOUT, "machine": record.machine, "data": {"rows": record.X.n, "values": digest}}
    parts["file"] = dict(reading or {})
    if data is not None:
        name = as_path_text(data)
        parts["file"] = {**_identify_file(name), **(reading or ({} if target is None else {"target": target}))}
        if reading is None:
            _check_samples(name, parts["file"], record.machine, digest)
    parts |= {**weights, "plane": record.plane} if record.plane else weights
    parts |= {"claims": _list_claims(proof, record.machine["name"]), "assumptions": proof.assumptions}
    content = _encode_parts(parts)
    try:
        checker.parse_proof(content)
    except (checker.UnusableError, ValueError) as error:
        raise UnsupportedError(f"no proof file: the checker could not use it, for {error}") from error
    with open_output(path) as file:
        file.write(content)


def _encode_parts(parts: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file with these entries: its head, the entries, and the seal."""
    body = checker.HEAD.decode() + "".join(f"{json.dumps(key)}: {_format_part(part)},\n" for key, part in parts.items())
    content = body.encode()
    return content + checker.SEAL + hashlib.sha256(content).hexdigest().encode() + b'"\n}\n'


def _format_part(part: Any) -> str:
    """Return a part as JSON, with one line per item."""
    if isinstance(part, Mapping) and part:
        return "{\n" + ",\n".join(f"  {json.dumps(key)}: {_to_json(value)}" for key, value in part.items()) + "\n}"
    if isinstance(part, (list, tuple)) and part:
        return "[\n" + ",\n".join(f"  {_to_json(value)}" for value in part) + "\n]"
    return _to_json(part)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _build_weights(proof: Any) -> dict[str, Any]:
    """Build the entry "alpha", or "hulls" with convex weights if the hulls meet. Raises UnsupportedError."""
    record = proof.record
    has_machine = "stated" in record
    proven = {claim.kind for claim in proof.claims if claim.verdict == "proven"}
    if has_machine and "point" in record:
        return {"alpha": _encode_alpha(record["point"])}
    if record.get("enclosed"):
        raise UnsupportedError(
            "no proof file: the weights of the proof are enclosed, and a file has exact ones: print it"
        )
    if has_machine and {"convex", "hulls", "separable"} <= proven:
        return {"hulls": {side: [[i, w.numerator, w.denominator] for i, w in record[side].items()] for side in "uv"}}
    if has_machine or not proven:
        raise UnsupportedError("there is nothing proven that a file could hold: print the proof to see why")
    raise UnsupportedError("a proof of this kind goes into no file yet: print it, or look at its record")


def _encode_alpha(point: FeasibleAlpha) -> dict[str, Any]:
    """Encode α as integers times a power of 2, and its carriers, entries that need fractions, as such."""
    floats = point.alpha.copy()
    floats[list(point.carriers)] = 0.0
    integers, exponent = as_integers(floats)
    shift = point.exponent - exponent
    fractions = [[int(k), value.numerator, value.denominator] for k, value in point.carriers.items()]
    return {"exponent": point.exponent, "integers": [j >> shift for j in integers], "others": fractions}


def _list_claims(proof: Any, machine: str) -> list[dict[str, Any]]:
    """Return the proven claims as numbers, without sentences."""
    if "point" not in proof.record:
        return [{"claim": "the hulls meet"}]
    proven = {claim.kind for claim in proof.claims if claim.verdict == "proven"}
    is_zero = proof.record["bounds"].zero_size > 0.0
    gap_name = "gap of zero at most" if is_zero else "gap at most"
    bounds = {"primal at most": proof.primal, "dual at least": proof.dual, gap_name: proof.gap}
    if any(claim.verdict == "refuted" for claim in proof.claims):
        bounds["gap at least"] = proof.least_gap
    if machine not in checker.WITHOUT_DISTANCE:
        bounds["distance at most"] = math.sqrt(2.0 * proof.difference) * (1.0 + 4.0 * UNIT) + UNDERFLOW  # (OPTIMA.1)
    claims: list[dict[str, Any]] = [{"claim": "feasible"}] if "feasible" in proven else []
    claims += [{"claim": name, "bound": bound} for name, bound in bounds.items() if math.isfinite(bound)]
    return claims + (_list_remaining_gaps(proof, proven) if math.isfinite(proof.remains) else [])


def _list_remaining_gaps(proof: Any, proven: set[str]) -> list[dict[str, Any]]:
    """Return the claims of the gap that remains with the best b, or with levels that all rows satisfy."""
    b = proof.record.get("b")
    lowered = proof.record.get("lowered")
    claims = []
    if "intercept" in proven and b is not None:
        best = [b.numerator, b.denominator]
        claims.append({"claim": "gap with the best b at most", "bound": proof.remains, "b": best})
    if "rows" in proven and lowered is not None:
        pairs = [[k, float(lowered[k])] for k in np.flatnonzero(lowered).tolist()]
        claims.append({"claim": "gap with lower levels at most", "bound": proof.remains, "lower": pairs})
    return claims


def compute_digest(X: RowSource, target: FloatArray) -> str:
    """Return the SHA-256 of samples X (n, d) and target (n,), the entry "values", in one pass over the rows."""
    sha256 = hashlib.sha256()
    for rows, samples in _iter_tiles(X):
        sha256.update(_encode_samples(samples, target[rows]))
    return sha256.hexdigest()


def _iter_tiles(X: RowSource) -> Iterator[tuple[slice, sp.csr_array]]:
    """Yield all rows in order, in tiles that fit in the cache, without stored zeros."""
    for block in X.blocks():
        step = max(IN_CACHE // max(block.d, 1), 1) if not X.is_sparse else IN_CACHE
        for start in range(0, block.n, step):
            tile = slice(start, min(start + step, block.n))
            matrix: Matrix = block.take(tile)
            rows = sp.csr_array(matrix)
            rows.eliminate_zeros()
            rows.sort_indices()
            yield slice(block.rows.start + tile.start, block.rows.start + tile.stop), rows


def _encode_samples(rows: sp.csr_array, target: FloatArray) -> bytes:
    """Return the bytes to hash of some rows (k, d) and their targets (k,): count, index, value, …, target for each."""
    counts = np.diff(rows.indptr).astype(np.int64)
    ends = np.cumsum(2 * counts + 2)
    starts = ends - (2 * counts + 2)
    doubles = np.empty(int(ends[-1]) if len(ends) else 0, dtype="<f8")
    doubles[starts], doubles[ends - 1] = counts, target
    rank_in_row = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], counts)
    positions = np.repeat(starts, counts) + 1 + 2 * rank_in_row
    doubles[positions], doubles[positions + 1] = rows.indices, rows.data
    return doubles.tobytes()


def _identify_file(name: str) -> dict[str, Any]:
    """Return the name of a file and the SHA-256 of its bytes. Raises FileFormatError."""
    try:
        with open(name, "rb") as file:
            return {"name": os.path.basename(name), "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError as error:
        raise FileFormatError(f"{name} cannot be read: {error.strerror or error}") from error


def _check_samples(name: str, file_info: Mapping[str, Any], machine: Mapping[str, Any], digest: str) -> None:
    """Check that a data file has exactly the samples of this digest. Raises FileFormatError, DataError."""
    try:
        rows, target, _ = checker.read_samples(checker.read_content(name), file_info, None, machine)
    except (checker.UnusableError, LookupError, TypeError, ValueError) as error:
        raise FileFormatError(f"{name} cannot be read as samples: {error}") from error
    if checker.compute_digest(rows, target) != digest:
        raise DataError(
            f"{name} holds other values than the samples of the proof: it is to have their numbers, all columns in "
            "order, and the target in the column that `target` names, or the last one; leave `data` out to save it "
            "without a file"
        )
