# Two commands do everything: `make demo` and `make test`. Both set up what is missing first.
.PHONY: all build static wheel demo test test-tensorflow docs bench setup venv asan fuzz fuzz-full fuzz-cuda fuzz_programs lint tidy clean

BUILD ?= build
# What is compiled twice (the wheel links the objects of the build) or again (after a checkout) comes from a compiler cache.
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(shell command -v ccache)
# Inside of the checkout, so that nothing of a build stays elsewhere.
export CCACHE_DIR ?= $(CURDIR)/.ccache
# Precompiled headers, which the sanitizers' builds have, are cached by content.
export CCACHE_SLOPPINESS ?= pch_defines,time_macros
JOBS ?= $(shell nproc)
PYTHON := .venv/bin/python

all: build

setup:
	@tools/setup.sh

# The virtual environment is rebuilt when the list of packages changes.
.venv/ready: tools/requirements.txt | setup
	python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check -r tools/requirements.txt
	touch $@

venv: .venv/ready

$(BUILD)/build.ninja: | setup
	cmake --preset release -B $(BUILD)

build: setup $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target tensorc

# Program and library that need only glibc, for machines without these packages: build-static/bin/tensorc and
# build-static/lib/libtc.so.
static: setup
	cmake --preset static
	cmake --build --preset static -j $(JOBS) --target tensorc tc

# The Python package as one self-contained wheel in $(BUILD)/dist, installed into the virtual environment. auditwheel checks that
# it needs nothing but glibc and names the oldest one that serves. A compiler cache, which has the objects of the other build,
# needs the same name of the compiler.
wheel: setup venv
	rm -rf $(BUILD)/dist $(BUILD)/wheelhouse
	CC=cc CXX=c++ $(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w $(BUILD)/wheelhouse \
	  -C build-dir=build-wheel .
	PATH="$(CURDIR)/.venv/bin:$$PATH" auditwheel repair -w $(BUILD)/dist $(BUILD)/wheelhouse/*.whl
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(BUILD)/dist/*.whl

demo: build venv
	$(PYTHON) demo/run_demo.py --tensorc $(BUILD)/bin/tensorc

# Benchmarks are built too, so that they keep compiling.
test: setup venv $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target all micro_bench
	$(MAKE) wheel
	PATH="$(CURDIR)/.venv/bin:$$PATH" ctest --test-dir $(BUILD) --output-on-failure --no-label-summary -j $(JOBS)

# The package with TensorFlow, whose own requirements get a virtual environment of their own. No part of `make test`.
test-tensorflow: wheel
	python3 -m venv $(BUILD)/tensorflow
	$(BUILD)/tensorflow/bin/pip install --quiet --disable-pip-version-check tensorflow-cpu pytest
	$(BUILD)/tensorflow/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(BUILD)/dist/*.whl
	PYTHONDONTWRITEBYTECODE=1 TF_CPP_MIN_LOG_LEVEL=2 $(BUILD)/tensorflow/bin/python -m pytest -q -p no:cacheprovider tests/python_tensorflow

# 2,000 random programs as CUDA kernels in the emulator; `make test` runs 200 others.
fuzz-cuda: setup $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target cuda_random_test
	TC_FUZZ_SEED=1 TC_FUZZ_COUNT=2000 $(BUILD)/bin/cuda_random_test

# Every test under AddressSanitizer and UndefinedBehaviorSanitizer, built with clang, but the Python references and those that
# spend their time in compilers that are not instrumented. ASAN_TESTS="-L unit" leaves a label.
ASAN_TESTS ?=
asan: setup venv
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	PATH="$(CURDIR)/.venv/bin:$$PATH" ctest --test-dir build-asan --output-on-failure --no-label-summary -j $(JOBS) -LE 'python|foreign' $(ASAN_TESTS)

# Random programs, compiled and compared with the interpreter. fuzz-full also fails when something that the generator should
# write is in fewer than 1 % of the programs.
FUZZ_SEED ?= 1
FUZZ_FOUND ?= $(BUILD)/fuzz

fuzz_programs: setup $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target $@

fuzz: fuzz_programs
	$(BUILD)/bin/fuzz_programs --seed $(FUZZ_SEED) --count 300 --jobs $(JOBS) --keep $(FUZZ_FOUND)

fuzz-full: fuzz_programs
	$(BUILD)/bin/fuzz_programs --seed $(FUZZ_SEED) --count 10000 --jobs $(JOBS) --coverage --goal 1 --keep $(FUZZ_FOUND)

# The documentation as a site with search, in $(BUILD)/site; a warning is an error.
docs: venv
	.venv/bin/pip install --quiet --disable-pip-version-check -r tools/requirements-docs.txt
	$(PYTHON) -m sphinx -W --keep-going -q -b html docs $(BUILD)/site

bench: build venv
	.venv/bin/pip install --quiet --disable-pip-version-check -r tools/requirements-bench.txt
	cmake --build $(BUILD) -j $(JOBS) --target tc compile_times
	$(PYTHON) bench/suite.py | $(BUILD)/bin/compile_times
	$(PYTHON) bench/cpu_suite.py --numpy --tensorc $(BUILD)/bin/tensorc

lint: setup
	tools/lint.sh $(BUILD)

# clang-tidy over the sources of tc/ and cli/; slow, so no part of lint.
tidy: setup $(BUILD)/build.ninja
	tools/lint.sh $(BUILD) --tidy

clean:
	rm -rf .ccache build build-asan build-debug build-tsan build-static build-wheel
