# Every target does its own set-up. PYTHON picks the interpreter (3.11 or newer).
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test lint fmt bench mutants docs signatures versions clean

run: $(READY) ## the order desk: a chat on a terminal, four requests elsewhere
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/backstay chat examples/order_desk/app.py; \
	else $(BIN)/python -m examples.order_desk.demo; fi

test: $(READY)
	@$(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)

lint: $(READY)
	$(BIN)/ruff check src tests examples bench
	$(BIN)/ruff format --check src tests examples bench
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fmt: $(READY)
	$(BIN)/ruff check --fix src tests examples bench
	$(BIN)/ruff format src tests examples bench

bench: $(READY)
	@$(BIN)/python -m bench $(ARGS)

mutants: $(READY) ## small mistakes in the boundary that no near test notices; ARGS="--only judge --minutes 10", --help
	@$(BIN)/python -m bench.mutants $(ARGS)

docs: $(READY) ## the pages are Markdown; this checks every link and runs every example
	@$(BIN)/python -m pytest tests/docs $(ARGS)

signatures: $(READY) ## 2,000 generated argument sets for each shape of signature; prints the table of docs/writing-a-tool.md
	@BACKSTAY_EXAMPLES=2000 $(BIN)/python -m pytest -n auto tests/core/test_schema_properties.py $(ARGS)
	@$(BIN)/python tests/core/signatures.py

VERSIONS ?= python3.11 python3.12 python3.13
versions: ## schemas, tools and the cases under each Python there is, in environments of their own
	@for p in $(VERSIONS); do "$$p" -c 'import venv, ensurepip' >/dev/null 2>&1 || { echo "$$p: not here"; continue; }; \
		v=.venv-$$("$$p" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		test -x $$v/bin/python || "$$p" -m venv $$v; \
		$$v/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' 2>&1 | grep -v '^WARNING: Location'; \
		echo "$$v"; $$v/bin/python -m pytest -n auto -p no:cacheprovider tests/core tests/tools tests/cases $(ARGS) || exit 1; done

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -q && apt-get install -y -q python3 python3-venv; \
		else echo "Python 3.11 or newer with venv is needed: on Debian, apt-get install python3 python3-venv" >&2; exit 1; fi; }
	@test -x $(BIN)/python || $${PYTHON_FOR_VENV:-$$(for p in $(PYTHON) python3; do echo $$p; break; done)} -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' 2>&1 | grep -v '^WARNING: Location' || true
	@$(BIN)/python -c 'import backstay, pytest'
	@$(BIN)/backstay model pull >/dev/null
	@touch $@

clean:
	rm -rf .venv .venv-peer* .venv-3.* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .backstay
