"""Rigorous verification: theorems about the floats of a result, proof files, and their small checker."""

from qpsvm.bounds.proof.proof import Claim, Proof

__all__ = ["Claim", "Proof"]
