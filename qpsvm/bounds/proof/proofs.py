"""The proofs of many machines side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from qpsvm.base.arrays.words import at_most
from qpsvm.bounds.proof.proof import Proof


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
        """Of no machine the relative gap is more than this."""
        return max((proof.gap for proof in self.parts), default=math.inf)

    @property
    def proven(self) -> int:
        """Of how many machines every claim is proven."""
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
        lines = [f"{count}, {self.proven} proven: no relative gap is more than {at_most(self.gap)}"]
        for k, proof in enumerate(self.parts):
            if not proof:
                lines += [f"  machine {k}: {claim}" for claim in proof.claims if claim.verdict != "proven"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Proofs: {str(self).splitlines()[0]}>"
