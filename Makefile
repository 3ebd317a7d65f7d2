# `make demo` and `make test` do all the set-up they need; everything here is idempotent.
.PHONY: setup venv engine test demo bench lint clean

BIN := .venv/bin

setup: venv engine
	@$(BIN)/arci images build

venv:
	@sh scripts/setup.sh

engine: venv
	@sh scripts/engine.sh

test: setup
	$(BIN)/python -m pytest $(PYTEST_ARGS)

demo: setup
	@sh scripts/demo.sh

bench: setup
	$(BIN)/python -m bench

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy bench scripts/*.py hatch_build.py images/seal.py
	$(BIN)/mypy --explicit-package-bases examples
	MYPYPATH=tests:tests/unit $(BIN)/mypy tests/*.py tests/unit
	MYPYPATH=tests:tests/docker $(BIN)/mypy tests/docker
	MYPYPATH=tests:tests/boundary $(BIN)/mypy tests/boundary

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
