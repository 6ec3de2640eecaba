"""Prove theorems about the floating-point values of a result; proof files, and their checker."""

from qpsvm.bounds.proof.proof import Claim, Proof

__all__ = ["Claim", "Proof"]
