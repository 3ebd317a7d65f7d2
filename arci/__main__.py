"""`python -m arci`."""

from arci.cli import main

main()
