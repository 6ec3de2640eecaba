"""Machines and results in rational numbers: the programs that proofs are about."""
