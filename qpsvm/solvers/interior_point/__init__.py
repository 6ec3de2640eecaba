"""Mehrotra's predictor-corrector for boxes, few equality rows and low rank."""
