# Each target is a command or two that can be typed by hand. Run `make` for a list.

export PATH := $(HOME)/.cargo/bin:$(PATH)
CARGO ?= cargo
CARGO_DENY_VERSION := 0.20.2
# Options for the command that a target runs: make checkup ARGS=--quick
ARGS ?=

.PHONY: help checkup build install uninstall dist wheel java c install-c uninstall-c test test-aarch64 attacks lint lint-packages bench bench-coverage fuzz setup setup-java setup-test setup-dist setup-bench

help:
	@echo 'make checkup   measure all five delays on this machine (ARGS=--quick for 15 s)'
	@echo 'make build     build target/release/unjank'
	@echo 'make install   install it below PREFIX=/usr/local, with manual pages and completions; make uninstall'
	@echo 'make dist      build packages for x86-64 and aarch64 in target/packages: .deb, .rpm, .tar.gz'
	@echo 'make wheel     build the Python package for x86-64 and aarch64 in target/wheels'
	@echo 'make java      build the Java library unjank-rt and the measuring application of jitter jvm'
	@echo 'make c         build unjank-backoff for C and C++: target/release/libunjank_backoff.a and .so'
	@echo 'make install-c install it with its header and pkg-config file; make uninstall-c'
	@echo 'make test      install what tests need, and run them (more of them as root)'
	@echo 'make test-aarch64   run the unit tests of all libraries for aarch64, under qemu-user'
	@echo 'make attacks   repeat the tests of attacks against the release build (needs root)'
	@echo 'make lint      formatting, clippy, documentation, licences (of Java: documentation)'
	@echo 'make lint-packages   build each crate from its package alone (seven minutes)'
	@echo 'make bench     measure the speed of unjank itself, compared with other tools'
	@echo 'make bench-coverage   how far runs agree: 40 checkups idle and beside a load (an hour)'
	@echo 'make fuzz      fuzz each parser for two minutes (needs nightly Rust)'

checkup: build
	$(CARGO) run --release --locked --quiet --package unjank -- checkup --html checkup.html $(ARGS)
	@echo 'The full report: checkup.html'

build: setup
	$(CARGO) build --release --locked --package unjank
	$(CARGO) build --release --locked --package unjank-lock-preload

install uninstall:
	./scripts/install.sh $@

dist: setup-dist
	./scripts/dist.sh

wheel: setup-dist
	./scripts/python.sh wheel

java: setup-java
	./scripts/java.sh build

c: setup
	$(CARGO) build --release --locked --package unjank-backoff-c

install-c uninstall-c:
	./scripts/install-c.sh $(@:-c=)

test: setup-test
	./scripts/test.py $(ARGS)

test-aarch64: setup-test
	./scripts/aarch64.sh

attacks: setup-test
	./scripts/attacks.sh

lint: setup setup-java
	$(CARGO) fmt --all --check
	./scripts/circles.py
	./scripts/documents.py
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --no-deps --quiet
	@cargo-deny --version 2>/dev/null | grep -qF '$(CARGO_DENY_VERSION)' \
		|| $(CARGO) install cargo-deny --locked --quiet --version $(CARGO_DENY_VERSION) --debug
	$(CARGO) deny --locked check bans licenses sources
	$(CARGO) package --locked --workspace --exclude unjank-needs --no-verify --allow-dirty --quiet
	./scripts/fuzz.sh check
	$(CARGO) metadata --locked --manifest-path bench/rsbinder/Cargo.toml --format-version 1 >/dev/null
	./scripts/java.sh lint

lint-packages: setup
	$(CARGO) package --locked --workspace --exclude unjank-needs --allow-dirty --quiet

bench: setup-bench build
	$(CARGO) bench --locked --workspace
	./scripts/bench.sh

bench-coverage: setup-bench build
	./scripts/bench-coverage.sh quick

fuzz: setup
	./scripts/fuzz.sh

setup:
	@./scripts/setup.sh build

setup-java:
	@./scripts/setup.sh java

setup-test:
	@./scripts/setup.sh test

setup-dist:
	@./scripts/setup.sh dist

setup-bench:
	@./scripts/setup.sh bench
