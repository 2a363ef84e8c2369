# make demo    a first motion: solves a task, shows the result, says where the report is
# make test    lint, types, import directions, docs, then the tests
# make bench   speed against Pinocchio and CasADi
# make verify  the tests again with their long checks
# make web     the script of the report again, after a change in web/src
# make docs    the pages, in build/docs
# make clean   remove all that the above made
#
# Each makes .venv first if it is missing or older than pyproject.toml: `demo` with predyn alone, the
# others with its tools too.
# Another interpreter: make demo PYTHON=python3.12

PYTHON ?= python3
PY := .venv/bin/python
PREDYN := .venv/has-predyn
READY := .venv/has-tools
BUNDLE := src/predyn/view/page.js
PYTEST := $(PY) -m pytest -n 2 --dist loadfile

.PHONY: demo test bench verify web docs clean
.DELETE_ON_ERROR:

demo: $(BUNDLE)
	@echo "Solving two-link-lifting. The first run ever compiles its kernels: half a minute"
	@$(PY) -m predyn solve two-link-lifting --out build/demo
	@echo
	@echo "Open in a browser: $(CURDIR)/build/demo/report.html"

test: $(READY) $(BUNDLE)
	$(PY) -m ruff check --quiet .
	$(PY) -m ruff format --quiet --check .
	$(PY) -m mypy --no-error-summary
	.venv/bin/lint-imports --no-cache
	$(PY) web/bundle.py --check
	$(PY) -m mkdocs build --strict --site-dir build/docs
	$(PYTEST)

bench: $(READY)
	$(PY) benchmarks/run.py

verify: $(READY) $(BUNDLE)
	PREDYN_VERIFY=1 PREDYN_MUTANTS=10000 $(PYTEST)

web: $(READY)
	$(PY) web/bundle.py --check

docs: $(READY)
	$(PY) -m mkdocs build --strict --site-dir build/docs

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .mypy_cache .import_linter_cache
	rm -rf web/node_modules src/predyn/view/page.js src/predyn/view/page.css src/predyn/view/study.js src/predyn/view/study.css src/predyn/view/page-licenses.txt
	find src tests docs examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(PREDYN): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "predyn needs Python 3.11 or newer, and $(PYTHON) is: $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another interpreter, for example: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Making .venv and installing predyn (half a minute, once)"
	@$(PYTHON) -m venv --clear .venv
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(READY): $(PREDYN)
	@echo "Installing the tools for tests, benchmarks and pages (a minute or two, once)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Built during the installation too; this is for changes in web/ after it.
$(BUNDLE): $(wildcard web/*.* web/src/*.* web/src/*/*.*) | $(PREDYN)
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@
