"""From a manifest and records to a verdict: pure and total. `decide.decide` is the gate."""
