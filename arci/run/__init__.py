"""From planned trials to records: one trial, all trials, preflight, progress. Imports nothing eagerly."""
