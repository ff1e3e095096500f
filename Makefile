# One target for each thing that is done with the project; `make help` lists them. What a target needs of the system is
# installed or named by scripts/setup.sh, which does nothing where nothing is missing.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run window test test-gpu accuracy cross proofs book examples notebooks bench bench-gpu fuzz asan lint licences check clean

# ask cargo for reproducible builds: the lock file is part of the project
CARGO := cargo
LOCKED := --locked
# where cargo builds
TARGET := $(or $(CARGO_TARGET_DIR),target)
# where `make run` writes
OUT ?= out
# options of scripts/bench/run.py
BENCH ?=
# which notebooks `make notebooks` runs; all where none is named
NOTEBOOKS ?=
# seconds for each fuzz target
FUZZ_SECONDS ?= 20

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## open the explorer; without a display its first screen as a PNG, the certificate, tables and pictures of real heads under out
	@scripts/setup.sh run $(if $(DISPLAY)$(WAYLAND_DISPLAY),display,headless)
	$(CARGO) build $(LOCKED) --release --package contattn
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then \
		echo '$(TARGET)/release/contattn explore' && $(TARGET)/release/contattn explore; \
	else \
		set -ex; mkdir -p $(OUT); \
		$(TARGET)/release/contattn explore --screenshot $(OUT)/explorer.png; \
		$(TARGET)/release/contattn verify; \
		$(TARGET)/release/contattn heads --out $(OUT)/heads; \
	fi

window: ## the explorer in a real window on a virtual display: started, driven, closed
	@scripts/setup.sh window
	$(CARGO) build $(LOCKED) --release --package contattn
	scripts/window.sh $(TARGET)/release/contattn

test-gpu: ## the GPU kernels on software Vulkan: the suite, the golden corpus, sizes; takes long
	@scripts/setup.sh test
	$(CARGO) test $(LOCKED) --release --package contattn-gpu --features long-tests

test: ## every test: unit, integration, documentation
	@scripts/setup.sh test
	scripts/test.sh

accuracy: ## errors of the kernels over 10000 generated problems, beside those of their plain twin
	@scripts/setup.sh test
	scripts/accuracy.sh 10000

asan: ## the kernels under an address sanitizer (needs a nightly toolchain)
	@scripts/setup.sh test
	scripts/asan.sh

cross: ## independent checks: NumPy and SciPy beside the command, Arb beside the golden corpus
	@scripts/setup.sh cross
	scripts/cross.sh

notebooks: ## run the notebooks and compare what they show with what is stored in them; WRITE=1 stores what differs
	@scripts/setup.sh notebooks
	scripts/notebooks.sh --plants
	scripts/notebooks.sh $(if $(WRITE),--write) $(NOTEBOOKS)

bench-gpu: ## build, check and time the GPU kernels on the best adapter here, in under five minutes
	@scripts/setup.sh bench-gpu
	scripts/bench-gpu.sh

proofs: ## check the machine-checked proofs (installs Coq where it can)
	proofs/check.sh

book: ## build the book into target/book, and check every command, link and number of it and of the README
	@scripts/setup.sh book
	scripts/book.sh plants
	scripts/book.sh check
	scripts/book.sh build

examples: ## build and run the examples of every crate
	@scripts/setup.sh test
	scripts/examples.sh

bench: ## our kernels beside PyTorch's, in turn, a quarter of an hour; FULL=1 for the grid, BENCH='--only ...' for options
	@scripts/setup.sh bench
	scripts/bench.sh $(if $(FULL),--cases grid) $(BENCH)

fuzz: ## fuzz the readers of files for a short while (needs a nightly toolchain)
	@scripts/setup.sh test
	fuzz/run.sh $(FUZZ_SECONDS)

lint: ## formatting, clippy and documentation, warnings being errors
	@scripts/setup.sh test
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc $(LOCKED) --workspace --no-deps --document-private-items

licences: ## licences, bans and sources of all dependencies
	scripts/licences.sh

check: ## rules that the repository keeps: layers, leftovers, sizes, names
	@scripts/setup.sh check
	python3 scripts/check_repository.py --plants
	python3 scripts/check_repository.py
	cd scripts/bench && python3 -m unittest --quiet test_bench

clean: ## remove what was built
	$(CARGO) clean
	rm -rf $(OUT) fuzz/target
