"""The six steps of `arci demo`: from two agents that look alike to a failure that is reduced, replayed and repaired."""
