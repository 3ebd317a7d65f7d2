# `make demo` and `make test` do all the set-up they need; everything here is idempotent.
.PHONY: setup venv engine test demo bench matrix lint clean

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

# Clients x era x transport, all on the engine; MATRIX="raw inspector" runs those alone. Writes docs/reference/clients.md.
matrix: setup
	PYTHONPATH=tests $(BIN)/python -m matrix $(MATRIX)

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy bench scripts/*.py hatch_build.py images/seal.py
	MYPYPATH=examples/python_sdk/agent:examples/pydantic_ai/agent $(BIN)/mypy --explicit-package-bases examples
	MYPYPATH=tests:tests/unit $(BIN)/mypy tests/*.py tests/unit
	MYPYPATH=tests:tests/docker $(BIN)/mypy tests/docker
	MYPYPATH=tests $(BIN)/mypy tests/matrix/*.py tests/matrix/world/*.py
	MYPYPATH=tests/servers/agent $(BIN)/mypy --explicit-package-bases tests/servers
	MYPYPATH=tests:tests/boundary $(BIN)/mypy tests/boundary

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
