"""Intervals for pass rates, the gate's rule over them, and the exact probabilities of its verdicts. Pure."""
