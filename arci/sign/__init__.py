"""Signatures over sealed runs: what is signed, by which keys, and whether it holds. See docs/how-to/sign-a-run.md."""
