# Every target works in a fresh clone: the virtual environment is made on demand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# constraints: the versions of frameworks that the tests know
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint .ci/constraints.txt
# one process per processor; a process that is done takes tests from the others
PARALLEL := -n auto --dist worksteal
# some hundred processes that tests begin read compiled Python, which starts them a quarter sooner
export PYTHONDONTWRITEBYTECODE :=
# the tests of a minute: the rules of the house, the language, the mathematics, all FileCheck files
QUICK := tests/house/test_architecture.py tests/house/test_filecheck_files.py tests/language \
	tests/interpreter tests/passes/polyhedral tests/passes/analysis/test_element_counts.py \
	tests/test_constructs.py tests/test_failures.py lit_tests
.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/core: pyproject.toml
	@echo "making $(VENV) and installing tadc (about half a minute the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -e .
	@touch $@

$(VENV)/test: $(VENV)/core
	@echo "installing what the tests need"
	@$(PIP) -e '.[test]'
	@touch $@

$(VENV)/lint: $(VENV)/test
	@echo "installing the linters"
	@$(PIP) -e '.[test,lint]'
	@touch $@

$(VENV)/docs: $(VENV)/test
	@echo "installing what the site is built with"
	@$(PIP) -e '.[test,docs]'
	@touch $@

.PHONY: demo
demo: $(VENV)/core ## derive and verify the example of the paper
	@cat examples/paper.tad
	@echo; echo "its derivatives, as a program of the same language:"; echo
	@$(BIN)/tadc derive examples/paper.tad
	@echo
	@$(BIN)/tadc check examples/paper.tad

.PHONY: check
check: lint quick ## before a commit, in a minute or two: the linters and the quick tests

.PHONY: quick
quick: $(VENV)/test
	@$(BIN)/python -m pytest $(PARALLEL) $(QUICK)

.PHONY: test
test: $(VENV)/test ## run every test
	@$(BIN)/python -m pytest $(PARALLEL)

.PHONY: campaign
campaign: $(VENV)/test ## run every test, each on all of its random programs
	@TADC_CAMPAIGN=1 $(BIN)/python -m pytest $(PARALLEL)

.PHONY: fuzz
fuzz: $(VENV)/test ## random programs and malformed input for a minute, or as FUZZ='--seconds 600' says
	@$(BIN)/python -m tests.fuzz $(FUZZ)

.PHONY: lit
lit: $(VENV)/test ## run the FileCheck files under lit
	@$(BIN)/lit -q lit_tests

.PHONY: lint
lint: style ## ruff and pyright
	@$(BIN)/pyright --pythonpath $(BIN)/python

.PHONY: style
style: $(VENV)/lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: house
house: $(VENV)/test
	@$(BIN)/python -m pytest tests/house/test_architecture.py

.PHONY: format
format: $(VENV)/lint ## let ruff put the code in order
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: docs
docs: $(VENV)/docs ## build the site into build/docs, run its gallery, and follow its links
	@rm -rf build/docs docs/tour
	@$(BIN)/sphinx-build -q -W --keep-going -d build/doctrees -E docs build/docs
	@TADC_SITE=build/docs $(BIN)/python -m pytest tests/house/test_site.py
	@echo "open build/docs/index.html"

.PHONY: site
site: $(VENV)/core ## build the page that derives formulas in a browser, into site
	@$(BIN)/python -m tadc.view.site site

.PHONY: dist
dist: $(VENV)/core ## build the archives for a release, and try the wheel in a fresh environment
	@$(PIP) build
	@.ci/dist $(BIN)/python

.PHONY: versions
versions: ## run the quick tests with the oldest and the newest Python and dependencies
	@$(PYTHON) .ci/versions.py $(QUICK) tests/frameworks tests/torch tests/jax

.PHONY: clean
clean: ## remove what the other targets made
	@rm -rf $(VENV) build dist site *.egg-info .pytest_cache .ruff_cache .hypothesis lit_tests/Output docs/tour docs/gallery
