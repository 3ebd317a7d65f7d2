"""A recorded failure as one file that travels: packed from a run store, read as hostile, loaded on another engine."""
