# Every target makes the environment it needs from a bare checkout; a second call installs nothing.
#
#   PYTHON           interpreter that makes the environment (default python3; 3.11 or newer)
#   VENV             where it is made (default .venv)
#   TORCH_INDEX_URL  a further package index for torch, e.g. one with CPU-only builds
#   BUDGET, STORE    budget and result file of `make verify` (default smoke, odernn.sqlite)
#   ARGS             anything else to pass to `odernn verify`
#   DEVICE_PYTHON    interpreter of the machine that device-bundle is for (default python3.12)
#   HASHED           if set, what is installed for tests and site must have the hashes of the lock (docs/security.md)
#   SEED, N          of `make mutation-blind`: what is drawn, and how many mutants (default 1, 100)
#   DATA             folder with MNIST's files for device-bundle (default: none)

PYTHON ?= python3
VENV   ?= .venv
BUDGET ?= smoke
STORE  ?= odernn.sqlite
ARGS   ?=
DATA   ?=
HASHED ?=
SEED   ?= 1
N      ?= 100
DEVICE_PYTHON ?= python3.12

# Some containers forbid bytecode. The tests start hundreds of processes, and each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

# The time of the files in a distribution: as given, or that of the commit, or none where there is no commit.
EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell test ! -e .git || git log -1 --format=%ct))

LOCK := locked-cp311-linux-x86_64.txt

BIN := $(VENV)/bin
# Twice quiet: errors are shown, warnings and progress are not.
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
# With HASHED every file must have its hash in the lock; what odernn then asks for is there already.
LOCKED := $(if $(HASHED),$(PIP) install --require-hashes --no-deps --requirement $(LOCK) && )
INSTALL := $(PIP) install --constraint constraints.txt $(if $(TORCH_INDEX_URL),--extra-index-url "$(TORCH_INDEX_URL)")

# mypy has one thread, so it runs beside the tests; both must pass.
BESIDE_TYPES = $(BIN)/mypy & types=$$!;
BOTH = tests=$$?; wait $$types && exit $$tests

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help verify test test-full docs bench experiments choosing trained mutation mutation-blind fuzz drills locked wheel sdist wheel-check browser browser-test latex latex-test docs-test environment pycuda-wheel pycuda device-bundle clean

help:
	@echo "make verify       install, run the verification suite with a small budget, print one screen about it"
	@echo "make test         install, then ruff, its format, mypy and the fast tests"
	@echo "make test-full    the same with every test that needs no GPU (what skips when: docs/testing.md)"
	@echo "make docs         install, then make the site of docs/: build/docs/html/index.html (a minute; no network)"
	@echo "make bench        run every script in benchmarks/ (half an hour), write docs/benchmarks.md"
	@echo "make experiments  train what the records of docs/architecture_experiments.md, docs/training_runs.md and docs/trainability.md lack (two hours)"
	@echo "make choosing     train what the record of the cells' comparison lacks, and write its table (hours; docs/cells.md)"
	@echo "make trained      train and measure what the record of bounds along training lacks (an hour; docs/trained.md)"
	@echo "make mutation     break every bound formula in every way: does a test notice? (an hour; docs/mutation.md)"
	@echo "make mutation-blind SEED=1 N=100   break N places of the whole product, drawn by the seed (a minute each; docs/mutation.md)"
	@echo "make locked       fetch what the tests need and compare the hashes; is any of it yanked? (minutes; docs/security.md)"
	@echo "make fuzz         give every reader of files inputs that it was not made for (ten minutes; docs/security.md)"
	@echo "make drills       damage stores 100,000 times, kill processes: is anything lost? (an hour; docs/reliability.md)"
	@echo "make browser-test the page of odernn report in Chromium, which make browser installs (Debian, needs root; a minute)"
	@echo "make latex-test   the tables in pdflatex, which make latex installs (Debian, needs root); the whole one of STORE"
	@echo "make docs-test    the site: no warning, no dead link, nothing from elsewhere (a minute of processor time)"
	@echo "make wheel        the wheel in dist/, the same bytes from every clone of a commit; make sdist: the source distribution"
	@echo "make wheel-check  build both, twice; install each elsewhere, import and run it there"
	@echo "make pycuda-wheel build PyCUDA where there is a CUDA toolkit, with or without a driver (100 s; build/wheels)"
	@echo "make device-bundle DATA=FOLDER   all that a bare machine with a GPU needs (build/device; then device/run.sh there)"
	@echo "make clean        remove the environment, caches and build products (results stay)"

verify: $(VENV)/.installed
	$(BIN)/odernn verify --budget $(BUDGET) --store $(STORE) $(ARGS)

test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BESIDE_TYPES) $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not slow and not gpu"; $(BOTH)

test-full: $(VENV)/.installed-full pycuda
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BESIDE_TYPES) ODERNN_SITE=required $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not gpu"; $(BOTH)

docs: $(VENV)/.installed-docs
	$(BIN)/python -m docs.site.build

bench: $(VENV)/.installed-bench
	@set -e; for script in benchmarks/[!_]*.py; do \
	  case "$$script" in */choosing_a_cell.py|*/trained_by_hand.py|*/trained_certified.py|*/trained_slack.py|*/trainability.py) continue;; esac; echo "$$script"; $(BIN)/python "$$script"; done
	$(BIN)/python benchmarks/_page.py

experiments: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/architecture_experiments.py
	$(BIN)/python benchmarks/training_runs.py --jobs 2
	$(BIN)/python benchmarks/trainability.py --jobs 2

# Hours; ODERNN_DATA names the folder of the spoken digits. Killed, the same command goes on.
choosing: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/choosing_a_cell.py --jobs 2

trained: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/trained_slack.py --jobs 2

mutation: $(VENV)/.installed-test
	$(BIN)/python tests/mutation/mutate.py --jobs 2

mutation-blind: $(VENV)/.installed-test
	PYTHONPATH=. $(BIN)/python tests/mutation/blind.py --seed $(SEED) --number $(N)

locked: $(VENV)/.installed-test
	$(BIN)/python -m tests.packaging.locked

fuzz: $(VENV)/.installed-test
	PYTHONPATH=. $(BIN)/python tests/reliability/fuzz.py --seconds 600

drills: $(VENV)/.installed-test
	PYTHONPATH=. $(BIN)/python tests/reliability/drill.py --jobs 2
	PYTHONPATH=. $(BIN)/python tests/reliability/process_drill.py

wheel-check: $(VENV)/.installed-test
	$(BIN)/python -m tests.packaging.wheel_check

# The same bytes from every clone of a commit, wherever it lies and whoever builds it.
wheel sdist: $(VENV)/.backend
	@[ ! -e .git ] || [ -z "$$(git status --porcelain)" ] || echo "make: there are changes that no commit has: other bytes" >&2
	$(if $(EPOCH),SOURCE_DATE_EPOCH=$(EPOCH) )$(BIN)/python -m hatchling build --directory dist --target $@
	@cd dist && sha256sum odernn-*$(if $(filter wheel,$@),.whl,.tar.gz)

# What a test needs of the system is installed by a target of its own. Without it the tests of `make test` skip and say so,
# those of browser-test and latex-test fail. CI asks for the browser first (.ci/run).
browser:
	@for name in chromium chromium-browser google-chrome; do ! command -v "$$name" >/dev/null 2>&1 || exit 0; done; \
	(apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) || { \
	  echo "make: Chromium is not installed. Install the package chromium of your system." >&2; exit 1; }

browser-test: $(VENV)/.installed-test
	ODERNN_BROWSER=required $(BIN)/python -m pytest -q -m browser tests/verification/report/html

latex:
	@command -v pdflatex >/dev/null 2>&1 || (apt-get update -qq && apt-get install -y -qq --no-install-recommends texlive-latex-recommended) || { \
	  echo "make: LaTeX is not installed. Install the package texlive-latex-recommended, or any other pdflatex." >&2; exit 1; }

# The whole table is that of the run in STORE, if there is one; otherwise of a run with the smallest budget (minutes).
latex-test: $(VENV)/.installed-test
	ODERNN_LATEX=required $(if $(wildcard $(STORE)),ODERNN_STORE=$(abspath $(STORE)) )$(BIN)/python -m pytest -q -m latex tests/verification/report tests/verification/commands

docs-test: $(VENV)/.installed-full
	ODERNN_SITE=required $(BIN)/python -m pytest -q -m site tests/docs

environment: $(VENV)/.installed-full

pycuda-wheel: $(VENV)/.installed-test
	$(BIN)/python device/pycuda_wheel.py --output build/wheels

# Its tests run over a driver of our own, so that no GPU is needed; without a toolkit they say that they skip.
pycuda: $(VENV)/.installed-test
	@if ! command -v nvcc >/dev/null 2>&1; then echo "make: there is no nvcc, so PyCUDA is not built and its tests skip"; \
	else $(BIN)/python device/pycuda_wheel.py --output build/wheels && $(PIP) install --find-links build/wheels pycuda; fi

device-bundle: $(VENV)/.installed-test
	$(BIN)/python device/bundle.py --python $(DEVICE_PYTHON) $(if $(DATA),--data $(DATA))

clean:
	rm -rf $(VENV) build dist odernn.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find odernn verification cuda device tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The environment, in stamps: made once, brought up to date when pyproject.toml or constraints.txt change.
$(VENV)/.made:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	  echo "make: no interpreter '$(PYTHON)'. Install Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1), but odernn needs Python 3.11 or newer." \
	       "Name one: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: '$(PYTHON)' cannot make environments: its modules venv and ensurepip are missing." \
	       "Install them (on Debian the package python3-venv)." >&2; exit 1; }
	"$(PYTHON)" -m venv "$(VENV)"
	@touch $@

# The build backend is installed first and used without isolation, so that its version is pinned like every other.
$(VENV)/.backend: pyproject.toml constraints.txt | $(VENV)/.made
	@$(INSTALL) hatchling
	@touch $@

$(VENV)/.installed: pyproject.toml constraints.txt $(VENV)/.backend
	@echo "installing odernn and what it needs into $(VENV) (minutes the first time)"
	@$(INSTALL) --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-bench: pyproject.toml constraints.txt $(VENV)/.backend
	@echo "installing odernn with its fused execution and matplotlib into $(VENV) (minutes the first time)"
	@$(INSTALL) --no-build-isolation --editable ".[fast,plots]"
	@touch $(VENV)/.installed $@

$(VENV)/.installed-docs: pyproject.toml constraints.txt $(VENV)/.backend
	@echo "installing odernn and Sphinx into $(VENV) (minutes the first time)"
	@$(INSTALL) --no-build-isolation --editable ".[docs]"
	@touch $(VENV)/.installed $@

$(VENV)/.installed-test: pyproject.toml constraints.txt $(VENV)/.backend
	@echo "installing odernn, what it needs and the test tools into $(VENV) (minutes the first time)"
	@$(LOCKED)$(INSTALL) --no-build-isolation --editable ".[test]"
	@touch $(VENV)/.installed $@

$(VENV)/.installed-full: pyproject.toml constraints.txt $(VENV)/.backend
	@echo "installing odernn, the test tools and Sphinx into $(VENV) (minutes the first time)"
	@$(LOCKED)$(INSTALL) --no-build-isolation --editable ".[test,docs]"
	@touch $(VENV)/.installed $(VENV)/.installed-test $(VENV)/.installed-docs $@
