"""What `arci doctor` finds out about a place where trials would run, each thing with its remedy."""
