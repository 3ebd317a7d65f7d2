"""Hostile agents, each with the claim that it breaks, run as real trials on a user's engine beside honest ones."""
