# The newcomer's interface: each target does all it needs first, and says so. CMake presets lie beneath (CMakePresets.json).
SHELL := scripts/make-shell
.DEFAULT_GOAL := help
.PHONY: help sweep test quick nightly fuzz witness faults examples found judge wheel docs release publish gate setup build cuda gpu asan format clean

help: ## this list
	@echo 'Plumbline: proves that a pipeline-parallel trainer computes the same bits as one device.'
	@echo
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1@\2/p' Makefile | awk -F@ '{printf "%-14s %s\n", $$1, $$2}'
	@echo
	@echo '  SWEEP=FILE     another sweep file for make sweep    OUT=DIR   where its report goes'
	@echo '  TESTS=REGEX    only tests whose names match         JOBS=N    jobs at a time (default: by cores and memory)'
	@echo '  NO_ROOT=1      without sudo                         PLUMBLINE_SOURCES=DIR  libraries from archives, without network'
	@echo '  PART=NAMES     parts of make nightly                AGAIN=1   those that held, too'
	@echo '  FAULTS=--quick  twelve faults for make faults'
	@echo '  PUBLISH=NAMES  sweep files, faults, supervision, sources: parts of make publish   PUBLISHED=DIR  where their pages go'

sweep: ## set up, build the three programs, run the default sweep over MPI processes, write the report
	@scripts/sweep

test: ## set up, build everything, run every test but those of the label nightly
	@scripts/test cpu

quick: ## set up, build everything, run the quick tests
	@scripts/test cpu quick

nightly: ## what takes hours, in parts (docs/contributing/nightly.md lists them)
	@scripts/nightly

fuzz: ## two minutes of libFuzzer on every reader of files (FUZZ='--seconds N READER': others)
	@scripts/fuzz $(FUZZ)

witness: ## transformers and torch.optim train the same runs, and are held against the reference in bits
	@scripts/witness

gate: ## compare the quick sweep's bits and bytes with the committed baseline
	@scripts/gate

faults: ## plant each fault in the trainer, judge it, and write which check killed which (FAULTS=--quick: twelve)
	@scripts/faults $(FAULTS)

examples: ## train pipelines of plain torch, by torch.distributed.pipelining and by hand, right and wrong, and judge them
	@scripts/examples

found: ## the faults of docs/found.md: torch 2.11.0 and 2.15.0, DeepSpeed and OLMo-core, installed in .deps, trained and judged
	@scripts/found

judge: ## the program plumbline alone, without LibTorch and MPI, in build/judge
	@scripts/judge

wheel: ## the Python package with that program in it, for glibc 2.28 and newer, in build/wheel
	@scripts/wheel

docs: ## the documentation as a site with search, in build/docs/site
	@scripts/docs

release: ## source archive, wheel and checksums of the tagged version, in build/release
	@scripts/release

publish: ## from a clean commit: the pages of a release, in build/published (hours; PUBLISH names parts)
	@scripts/publish

setup: ## set up and configure only
	@scripts/set-up cpu

build: ## set up and build everything, the tests too
	@scripts/build cpu

cuda: ## set up and build with the CUDA half (needs no GPU and no driver), in build/cuda
	@scripts/build cuda

gpu: ## the CUDA build's own tests, and those that need GPUs, as far as this machine has some
	@scripts/gpu-tests

asan: ## every test under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/test asan

format: ## clang-format on all C++ files
	@scripts/format

clean: ## remove build/ (the packages, LibTorch and finished runs stay)
	rm -rf build

export SWEEP OUT TESTS JOBS PUBLISH PUBLISHED PART AGAIN NO_ROOT PLUMBLINE_SOURCES
