"""The contract of a back end as named, runnable checks: on the fake, on processes, on engines."""
