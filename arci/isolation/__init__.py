"""Where guests run: `process`, `docker`, `fake`, behind the one small interface of `base`."""
