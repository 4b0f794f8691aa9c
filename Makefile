# Each target first does what it needs, and says so. The targets use CMake presets (CMakePresets.json).
SHELL := scripts/make-shell
.DEFAULT_GOAL := help
.PHONY: help sweep test quick nightly fuzz witness faults examples found judge wheel docs release publish gate setup build cuda gpu asan format clean

help: ## show this list
	@echo 'Plumbline: checks that a pipeline-parallel trainer computes exactly what one device computes.'
	@echo
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1@\2/p' Makefile | awk -F@ '{printf "%-14s %s\n", $$1, $$2}'
	@echo
	@echo '  SWEEP=FILE     another sweep file for make sweep    OUT=DIR   where its report goes'
	@echo '  TESTS=REGEX    only tests whose names match         JOBS=N    jobs at a time (default: by cores and memory)'
	@echo '  NO_ROOT=1      without sudo                         PLUMBLINE_SOURCES=DIR  libraries from archives, without network'
	@echo '  PART=NAMES     parts of make nightly                AGAIN=1   repeat parts that passed'
	@echo '  FAULTS=--quick  only twelve faults for make faults'
	@echo '  PUBLISH=NAMES  sweep files, faults, supervision, sources: parts of make publish   PUBLISHED=DIR  where their pages go'

sweep: ## set up, build the three programs, run the default sweep over MPI, write the report
	@scripts/sweep

test: ## set up, build everything, run every test but the nightly ones
	@scripts/test cpu

quick: ## set up, build everything, run the quick tests
	@scripts/test cpu quick

nightly: ## run the parts that take hours (docs/contributing/nightly.md lists them)
	@scripts/nightly

fuzz: ## fuzz every reader of files, two minutes in all (FUZZ='--seconds N READER': otherwise)
	@scripts/fuzz $(FUZZ)

witness: ## train the same runs with transformers and torch.optim; the bits must match the reference
	@scripts/witness

gate: ## compare the quick sweep's bits and bytes with the committed baseline
	@scripts/gate

faults: ## inject each fault into the trainer, judge it, and report which check caught it (FAULTS=--quick: twelve)
	@scripts/faults $(FAULTS)

examples: ## train and judge correct and wrong torch pipelines (torch.distributed.pipelining, by hand)
	@scripts/examples

found: ## reproduce the faults of docs/found.md with torch 2.11.0 and 2.15.0, DeepSpeed and OLMo-core in .deps
	@scripts/found

judge: ## build only the program plumbline, without LibTorch and MPI, in build/judge
	@scripts/judge

wheel: ## build the Python package with that program, for glibc 2.28 and newer, in build/wheel
	@scripts/wheel

docs: ## build the documentation site with search, in build/docs/site
	@scripts/docs

release: ## build source archive, wheel and checksums of the tagged version, in build/release
	@scripts/release

publish: ## build the pages of a release from a clean commit, in build/published (hours; PUBLISH names parts)
	@scripts/publish

setup: ## set up and configure only
	@scripts/set-up cpu

build: ## set up and build everything, including tests
	@scripts/build cpu

cuda: ## set up and build with CUDA in build/cuda (needs neither a GPU nor a driver)
	@scripts/build cuda

gpu: ## run the tests of the CUDA build, and those that need GPUs if this machine has some
	@scripts/gpu-tests

asan: ## run every test under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/test asan

format: ## clang-format on all C++ files
	@scripts/format

clean: ## remove build/ (the packages, LibTorch and finished runs stay)
	rm -rf build

export SWEEP OUT TESTS JOBS PUBLISH PUBLISHED PART AGAIN NO_ROOT PLUMBLINE_SOURCES
