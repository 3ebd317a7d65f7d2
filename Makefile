# `make demo` and `make test` do all the set-up they need; everything here is idempotent.
.PHONY: setup venv engine browser test demo bench steady matrix models lint clean

BIN := .venv/bin

setup: venv engine
	@$(BIN)/arci images build

venv:
	@sh scripts/setup.sh

engine: venv
	@sh scripts/engine.sh

# For the tests that look at the HTML report.
browser:
	@sh scripts/chromium.sh

# PYTEST_ARGS="tests/unit -k gate" runs what it says and nothing else.
test: setup browser
	$(BIN)/python -m pytest $(PYTEST_ARGS)

demo: setup
	@sh scripts/demo.sh

bench: setup
	$(BIN)/python -m bench

# What a run of 1,000 trials in containers holds after the first 50 and at its end.
steady: setup
	$(BIN)/python -m bench.steady

# Clients x era x transport, all on the engine; MATRIX="raw inspector" runs those alone. Writes docs/reference/clients.md.
matrix: setup
	PYTHONPATH=tests $(BIN)/python -m matrix $(MATRIX)

# Packages that call models, sessions and faults; MODELS="langchain openai-node" runs those alone. Writes docs/reference/models.md.
models: setup
	PYTHONPATH=tests $(BIN)/python -m models $(MODELS)

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy bench scripts/*.py hatch_build.py images/seal.py
	MYPYPATH=examples/python_sdk/agent:examples/pydantic_ai/agent:examples/langchain_retry $(BIN)/mypy --explicit-package-bases examples
	MYPYPATH=tests:tests/unit $(BIN)/mypy tests/*.py tests/unit
	MYPYPATH=tests:tests/docker $(BIN)/mypy tests/docker
	MYPYPATH=tests $(BIN)/mypy tests/matrix/*.py tests/matrix/world/*.py
	MYPYPATH=tests $(BIN)/mypy tests/models/*.py tests/models/world/*.py
	MYPYPATH=tests:tests/engines $(BIN)/mypy tests/engines
	MYPYPATH=tests:tests/browser $(BIN)/mypy tests/browser/*.py
	MYPYPATH=tests/servers/agent $(BIN)/mypy --explicit-package-bases tests/servers
	MYPYPATH=tests:tests/boundary $(BIN)/mypy tests/boundary
	MYPYPATH=tests:tests/containment $(BIN)/mypy tests/containment

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
