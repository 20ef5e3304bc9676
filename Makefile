# The book's commands; `make help` lists them. The first Python 3.11 to 3.13 found is
# used, or the one that is named: make book PYTHON=python3.12
SHELL := /bin/sh
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
ifeq ($(origin PYTHON), undefined)
PYTHON := $(shell for name in python3 python3.13 python3.12 python3.11 python; do \
	$$name -c '$(SUPPORTED)' 2>/dev/null && echo $$name && exit; done; echo python3)
endif
RUN := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help book build test test-newest lint bench bench-live \
	study-decay lock colab-check publish clean environment

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

book: build ## set up, build the book and serve it on localhost
	@$(RUN) scripts/serve.py

build: environment ## set up and build the book into _build/html
	@echo "building the book into _build/html"
	@$(RUN) scripts/build.py

test: ## run every check: style, types, package, book, pages, Colab
	@$(PYTHON) scripts/environment.py && $(PYTHON) scripts/test.py

test-newest: ## run the package's tests on the newest jax
	@$(PYTHON) scripts/environment.py newest
	@.venv-newest/bin/python -m pytest -q --ignore tests/book --ignore tests/browser

colab-check: build ## run each notebook of the built book as Colab would
	@$(PYTHON) scripts/environment.py colab
	@.venv-colab/bin/python scripts/colab_check.py

publish: build ## push the built book and its notebooks to two branches of origin
	@$(RUN) scripts/publish.py

lint: environment ## check format, style and types
	@$(RUN) scripts/test.py lint

bench: environment ## measure the blocks against other libraries into results/
	@$(RUN) scripts/bench.py

bench-live: environment ## time and weigh the live figures of the built book
	@$(RUN) scripts/bench_live.py

study-decay: environment ## train the grids of learning rate by decay into results/
	@$(RUN) scripts/study_decay.py

lock: environment ## write both locks anew from pyproject.toml
	@$(RUN) scripts/lock.py

clean: ## remove what was built and every environment
	rm -rf _build .venv .venv-colab .venv-newest node_modules

environment:
	@$(PYTHON) scripts/environment.py book
