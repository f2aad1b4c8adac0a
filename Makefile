# `make demo` and `make test` need Python 3.11+ and make only; they set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Of the made-up examples of test-all: the same seed makes the same ones; make SEED=$$RANDOM test-all makes others.
SEED ?= 1
FUZZ_SECONDS ?= 60
DAMAGE ?= 1000
# What `make damage` damages: bytes, or structure.
KIND ?= bytes
MODELS ?= examples/digits/digits.tflite
C_FILES = $(shell git ls-files '*.c' '*.h')

# Of `make mutate`: the files whose preconditions are taken away; without any, those that tests/mutation/plan.toml names.
FILES ?=

.PHONY: help demo test test-all fuzz damage mutate check format docs clean

help:
	@echo "make demo      compile the digits example for Cortex-M4 and run it on the emulated core"
	@echo "make test      the tests, under 5 minutes"
	@echo "make test-all  every test, with more examples (what CI runs)"
	@echo "make mutate    which test notices when a precondition goes: make mutate FILES=src/arenite/passes/dce.py"
	@echo "make fuzz      fuzzes the readers of files and texts, FUZZ_SECONDS=60 each"
	@echo "make damage    compiles DAMAGE=1000 damaged copies of each of MODELS='a.tflite b.tflite', KIND=bytes or structure"
	@echo "make check     types, style, C warnings"
	@echo "make docs      regenerate docs/ops.md and docs/remarks.md"

$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Arenite needs Python 3.11 or newer; say which with: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/sim.stamp: $(VENV)/python.stamp pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[sim]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/python.stamp pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/sim.stamp

demo: $(VENV)/sim.stamp
	$(BIN)/python examples/digits/demo.py

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto --dist loadfile --max-worker-restart 0

test-all: $(VENV)/dev.stamp
	ARENITE_PROFILE=ci $(BIN)/python -m pytest -m '' -n 2 --dist loadfile --max-worker-restart 0 --hypothesis-seed=$(SEED)

mutate: $(VENV)/dev.stamp
	PYTHONPATH=tests $(BIN)/python -m mutation $(FILES)

fuzz: $(VENV)/dev.stamp
	PYTHONPATH=tests $(BIN)/python -m fuzz tflite-reader --seconds $(FUZZ_SECONDS)
	PYTHONPATH=tests $(BIN)/python -m fuzz text-parser --seconds $(FUZZ_SECONDS)

damage: $(VENV)/dev.stamp
	PYTHONPATH=tests $(BIN)/python -m hostile --kind $(KIND) --count $(DAMAGE) --write build/damaged $(MODELS)

check: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_FILES)

docs: $(VENV)/dev.stamp
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
