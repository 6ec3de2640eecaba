"""State what is proven of the numbers of a result, as numbers and as sentences (`Proof`).

A result that is asked for a proof: it keeps its problem for that, and leaves it behind where it goes into a file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from qpsvm.base.arrays.formatting import build_repr, format_upper_bound
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.html import Cell, render_table

#: What became of a claim.
Verdict = Literal["proven", "refuted", "open"]


@dataclass(frozen=True)
class Claim:
    """One statement about the numbers, and what is known of it.

    Attributes
    ----------
    kind : str
        "feasible", "primal", "dual", "gap", "optimal", "kernel", …: what it is about.
    verdict : "proven", "refuted" or "open"
    text : str
        A sentence.
    value : float or None
        The number in it.

    See Also
    --------
    Proof : What has claims.

    Examples
    --------
    The α of this result is far from optimal, and that it is not is refuted, not only left open:

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
    """A theorem about the floats of a result: α as integers, and w, b and the rest as the floats that they are.

    Every bound is true for IEEE 754 arithmetic whatever was rounded, and in whatever order a BLAS adds.

    Attributes
    ----------
    title : str
        The machine.
    gap : float
        (P − D)/max(|P|, |D|) is at most this; infinite where nothing is proven.
    least_gap : float
        And at least this: a claim of less is refuted.
    primal, dual : float
        P of (w, b, …) is at most the one, D of α at least the other: the optimal value is between them. In the units of
        the objective.
    difference : float
        P − D is at most this, in the units of the objective.
    remains : float
        What of the gap remains with the best b for this w, which is a rational number and in general no float; `gap`
        itself where that is not known.
    alpha : ndarray, shape (m,)
        The α that it is a proof of, up to its last digits: what keeps the box and every equality exactly.
    exactly : bool
        Whether the gap was computed in rational numbers, so that it is no bound, but the number, rounded up.
    claims : tuple of Claim
    assumptions : tuple of str
        What is taken for granted beside the arithmetic.
    record : mapping
        What a proof file holds of the machine: see `save`.

    See Also
    --------
    SVMResult.verify : What makes one.
    Problem.prove : The same, of a result of this problem.
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
        shown = {name: part for name, part in vars(self).items() if name != "record"}
        return build_repr("Proof", **shown)

    def __str__(self) -> str:
        lines = [self.title, *(f"  {claim.verdict:8}  {claim.text}" for claim in self.claims)]
        lines += [f"  assumed   {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [[Cell(claim.verdict), Cell(claim.text)] for claim in self.claims]
        rows += [[Cell("assumed"), Cell(assumption)] for assumption in self.assumptions]
        return render_table(rows, title=self.title)

    def __bool__(self) -> bool:
        """Whether no claim is refuted, and none open."""
        return all(claim.verdict == "proven" for claim in self.claims)

    def save(
        self, path: str | os.PathLike[str], data: str | os.PathLike[str] | None = None, target: str | None = None
    ) -> None:
        """Write the proof to a file that anyone can check, without this library if they like.

        `python -m qpsvm verify proof.json --data FILE` checks it, and so does
        `qpsvm/bounds/proof/checker.py` alone. The file
        has the machine, α as integers, w and b, every bound, a digest of the values of the samples, and a seal over its
        bytes. Whoever checks it needs the samples: as a CSV file with a header, with the features in order and the
        target in the last column or in one that they name, as LIBSVM text, or as a .npy file. Numbers in text have to
        be written so that they are read as the same floats: Python, pandas and `numpy.savetxt` do so unless told
        otherwise.

        Parameters
        ----------
        path : str or path-like
            The file, replaced whole or not at all.
        data : str or path-like, optional
            A file with these samples. It is read again and compared; a proof that names it is refuted by any other.
        target : str, optional
            Its column of the target; by default the last.

        Raises
        ------
        UnsupportedError
            Nothing is proven, or a kernel has values that no checker could compute.
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
    """What is proven of many machines: one `Proof` each, in their order.

    Attributes
    ----------
    parts : tuple of Proof

    See Also
    --------
    Proof : Of one machine.

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
        """Whether no claim of any machine is refuted, and none open."""
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
    """The state of a result that goes into a file: all but the problem, whose samples do not belong there."""
    return {name: value for name, value in vars(result).items() if name not in ("problem", "_near_optimum")}
