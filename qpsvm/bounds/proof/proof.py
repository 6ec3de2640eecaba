"""State what is proven about the floats of a result, as numbers and as sentences (`Proof`, `Proofs`, `Claim`)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from qpsvm.base.arrays.formatting import build_repr, format_upper_bound
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.html import Cell, render_table

#: Outcome of a claim.
Verdict = Literal["proven", "refuted", "open"]


@dataclass(frozen=True)
class Claim:
    """One statement about the floats of a result, and its verdict.

    Attributes
    ----------
    kind : str
        Subject of the claim: "feasible", "primal", "dual", "gap", "optimal", "kernel", ….
    verdict : "proven", "refuted" or "open"
    text : str
        A sentence.
    value : float or None
        The number in the sentence; None without one.

    See Also
    --------
    Proof : A list of claims.

    Examples
    --------
    The α of this result is far from optimal, so the claim that it is optimal is refuted, not only left open:

    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> claim = problem.at([0.25, 0.25, 0.25, 0.25]).verify(tol=1e-6).claims[-1]
    >>> print(claim.kind, claim.verdict, claim.value)
    optimal refuted 1e-06
    """

    kind: str
    verdict: Verdict
    text: str
    value: float | None = None

    def __str__(self) -> str:
        return f"{self.verdict}: {self.text}"


@dataclass(frozen=True, eq=False)
class Proof:
    """A theorem about the floats of a result: proven bounds of P, D and the gap.

    Every bound includes all rounding errors of IEEE 754 arithmetic, in any order of summation.

    Attributes
    ----------
    title : str
        Name of the machine.
    gap : float
        Upper bound of (P − D)/max(|P|, |D|); infinite if nothing is proven.
    least_gap : float
        Lower bound of it.
    primal, dual : float
        Upper bound of P at (w, b, …), and lower bound of D at α, in the units of the objective: the optimal value is
        between them.
    difference : float
        Upper bound of P − D, in the units of the objective.
    remains : float
        Upper bound of the gap with the best b for this w, a rational number that in general is not a float; equal to
        `gap` if it is not known.
    alpha : ndarray, shape (m,)
        α, changed in its last digits so that the box and every equality hold exactly.
    exactly : bool
        Whether the gap was computed in rational numbers: then it is the exact gap, rounded up.
    claims : tuple of Claim
    assumptions : tuple of str
        Unproven assumptions.
    record : mapping
        Data of the machine for a proof file: see `save`.

    See Also
    --------
    SVMResult.verify : Proves bounds for a result.
    Problem.prove : The same, for a result of this problem.
    Claim : One of its statements.

    Examples
    --------
    >>> import qpsvm
    >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
    >>> proof = result.verify(tol=1e-6)
    >>> proof.gap < 1e-14, proof.exactly, bool(proof)
    (True, True, True)
    >>> for claim in proof.claims:
    ...     print(claim.verdict, claim.kind)
    proven feasible
    proven dual
    proven primal
    proven gap
    proven optimal
    """

    title: str
    gap: float
    least_gap: float
    primal: float
    dual: float
    difference: float
    alpha: FloatArray
    exactly: bool
    claims: tuple[Claim, ...]
    remains: float
    assumptions: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        displayed = {name: value for name, value in vars(self).items() if name != "record"}
        return build_repr("Proof", **displayed)

    def __str__(self) -> str:
        lines = [self.title, *(f"  {claim.verdict:8}  {claim.text}" for claim in self.claims)]
        lines += [f"  assumed   {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [[Cell(claim.verdict), Cell(claim.text)] for claim in self.claims]
        rows += [[Cell("assumed"), Cell(assumption)] for assumption in self.assumptions]
        return render_table(rows, title=self.title)

    def __bool__(self) -> bool:
        """Return whether every claim is proven."""
        return all(claim.verdict == "proven" for claim in self.claims)

    def save(
        self, path: str | os.PathLike[str], data: str | os.PathLike[str] | None = None, target: str | None = None
    ) -> None:
        """Write the proof to a file that can be checked without this library.

        `python -m qpsvm verify proof.json --data FILE` checks it, and so does `qpsvm/bounds/proof/checker.py` alone.
        The file contains the machine, α as integers, w and b, every bound, a digest of the values of the samples, and a
        checksum of its bytes. The check needs the samples: as a CSV file with a header, with the features in order and
        the target in the last column or a named one, as LIBSVM text, or as a .npy file. Numbers in text have to be
        written so that they are read as the same floats, as Python, pandas and `numpy.savetxt` do by default.

        Parameters
        ----------
        path : str or path-like
            The file; it is replaced atomically.
        data : str or path-like, optional
            A file with these samples. It is read and compared with them. Checking a proof that names a data file fails
            with any other file.
        target : str, optional
            Name of the target column in that file; by default the last column.

        Raises
        ------
        UnsupportedError
            Nothing is proven, or a checker cannot compute the values of the kernel.
        DataError, FileFormatError
            The data file has other values, or cannot be read.
        FileAccessError, ParameterTypeError
            The file cannot be written.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "proof.json")
        ...     result.verify().save(path)
        ...     print(path.read_text().splitlines()[1])
        "format": "qpsvm proof",
        """
        from qpsvm.bounds.proof.file import save  # files are written on request only

        save(self, path, data, target)


@dataclass(frozen=True, eq=False)
class Proofs:
    """Proofs of several machines, one `Proof` each, in their order.

    Attributes
    ----------
    parts : tuple of Proof

    See Also
    --------
    Proof : The proof of one machine.

    Examples
    --------
    >>> from qpsvm.estimators import SVC
    >>> machine = SVC(kernel="linear").fit([[0.0], [1.0], [2.0], [4.0]], ["a", "b", "c", "c"])
    >>> print(machine.results_.verify(tol=1e-18))
    3 machines, ... proven: no relative gap is more than ...
    """

    parts: tuple[Proof, ...]

    @property
    def gap(self) -> float:
        """Upper bound of the relative gap of every machine."""
        return max((proof.gap for proof in self.parts), default=math.inf)

    @property
    def proven(self) -> int:
        """Number of machines with every claim proven."""
        return sum(map(bool, self.parts))

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, k: int) -> Proof:
        return self.parts[k]

    def __iter__(self) -> Iterator[Proof]:
        return iter(self.parts)

    def __bool__(self) -> bool:
        """Return whether every claim of every machine is proven."""
        return self.proven == len(self)

    def __str__(self) -> str:
        count = "1 machine" if len(self) == 1 else f"{len(self)} machines"
        lines = [f"{count}, {self.proven} proven: no relative gap is more than {format_upper_bound(self.gap)}"]
        for k, proof in enumerate(self.parts):
            if not proof:
                lines += [f"  machine {k}: {claim}" for claim in proof.claims if claim.verdict != "proven"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Proofs: {str(self).splitlines()[0]}>"


def without_problem(result: Any) -> dict[str, Any]:
    """Return the attributes of a result to pickle: all but the problem, which holds the samples."""
    return {name: value for name, value in vars(result).items() if name not in ("problem", "_near_optimum")}
