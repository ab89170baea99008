# `make demo` and `make test` set up everything they need; `make help` lists the other targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TARGET := target/x86_64-unknown-linux-gnu/release
QUICLAB := $(TARGET)/quiclab
JOBS ?= $(shell nproc)
# Seconds for each target of the fuzzer.
FUZZ_SECONDS ?= 600

# Keeps paths of this machine out of the binaries, so that the same sources give the same agent in any folder.
CARGO_HOME ?= $(HOME)/.cargo
export RUSTFLAGS := -C target-feature=+crt-static --remap-path-prefix=$(CURDIR)=/quiclab --remap-path-prefix=$(CARGO_HOME)=/cargo

# Programs for development, from packaging/tools.txt.
TOOLS := $(CURDIR)/target/tools/bin

# To build the command and the endpoints, run virtual machines, and make their images.
DEMO_PACKAGES := build-essential cmake libclang-dev qemu-system-x86 mmdebstrap erofs-utils uidmap kmod xz-utils ca-certificates
# To check against: a browser, another dissector, another certificate reader, other Parquet readers.
TEST_PACKAGES := $(DEMO_PACKAGES) chromium tshark openssl zstd librsvg2-bin python3-venv
# To build every stack.
STACKS_PACKAGES := $(DEMO_PACKAGES) gyp libnuma-dev libssl-dev ninja-build pkg-config maven openjdk-17-jdk-headless python3-pip zlib1g-dev
# To build the kernel with paced segmentation offload.
KERNEL_PACKAGES := $(DEMO_PACKAGES) flex bison bc libelf-dev patch
# To compare the speed of the simulator with ns-3.
NS3_PACKAGES := $(DEMO_PACKAGES) libns3-dev libgsl-dev libxml2-dev libsqlite3-dev pkg-config

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/make \1\t\2/' | expand -t 24

# Kernel, guest images and what Debian has of the stacks are made while the command is compiled; `quiclab run` waits for what is not there yet.
.PHONY: demo
demo: demo-setup ## run the quick profile of the baseline and show its report
	cargo build --release --bin quiclab-prepare
	$(TARGET)/quiclab-prepare experiments/quic-steps/baseline.toml quick & \
	cargo build --release --bins && \
	$(QUICLAB) run experiments/quic-steps/baseline.toml --profile quick -j $(JOBS)

# Every test is a process of its own; .config/nextest.toml says which run together, and which only `make test-all` runs.
NEXTEST := $(TOOLS)/cargo-nextest nextest run --release --config .cargo/checked.toml --workspace
JUNIT := target/nextest
# The integration tests of the command, for targets that run some of them.
QUICLAB_IT := cargo test --release -p quiclab --test it

.PHONY: test
test: test-setup build target/tools/.installed target/python/.installed ## run the tests: five minutes, once everything is built
	$(call rust-tests,default,)
	$(MAKE) --no-print-directory test-python test-endpoint-code
	@.config/summary.py $(JUNIT)/default/junit.xml

FILTER ?= all()
.PHONY: test-some
test-some: toolchains target/tools/.installed ## run the tests that match FILTER, such as FILTER='package(quiclab-wire)'
	$(NEXTEST) --profile all -E '$(FILTER)' $(NEXTEST_OPTIONS)

TIMES ?= 1
.PHONY: test-busy
test-busy: test-setup build target/tools/.installed ## run the Rust tests of make test beside four busy loops, TIMES (1) times: each time some 15 minutes on 2 cores
	for each in 1 2 3 4; do (while :; do :; done) & loops="$${loops:-} $$!"; done; trap 'kill $$loops' EXIT; \
	for each in $$(seq $(TIMES)); do $(call rust-tests,default,); done

.PHONY: test-all
test-all: test-setup build stacks target/tools/.installed target/python/.installed ## run every test that this machine can, with every stack: hours
	$(call rust-tests,all,--run-ignored all)
	$(MAKE) --no-print-directory test-python test-python-plans test-campaign test-campaign-machines test-notebooks test-endpoint-code
	@.config/summary.py $(JUNIT)/all/junit.xml
	@echo; echo "Not part of make test-all:"; \
		echo "  make fuzz          random input for every reader of foreign bytes: hours"; \
		echo "  make test-stacks   the stacks' own tests: compiles each of them again, up to an hour"; \
		echo "  make test-sans-io  those of the stacks in the simulator: twenty minutes"; \
		echo "  make test-slurm    needs a Slurm on this machine"; \
		echo "  make test-wheel, make test-image   packages of a release: five and two minutes"; \
		echo "  make bench-*       measurements: they need a machine with nothing else to do"

# The command and the agent of the tests have every assertion. Afterwards those of `make build` are in their place again, which costs nothing.
define rust-tests
	status=0; $(NEXTEST) --profile $(1) $(2) $(NEXTEST_OPTIONS) || status=$$?; \
	cargo build --release --bins --quiet; \
	[ $$status = 0 ] || { .config/summary.py $(JUNIT)/$(1)/junit.xml; exit $$status; }
endef

# The code that endpoints share, and the endpoints in Go. They are not part of the workspace.
.PHONY: test-endpoint-code
test-endpoint-code: toolchains
	cargo test --locked --quiet --manifest-path stacks/contract-rust/Cargo.toml
	cd sans-io/common-rust && env -u RUSTFLAGS cargo test --locked --quiet
	for stack in quic-go x-net-quic; do (cd stacks/$$stack && go vet . && go test .); done

.PHONY: docs
docs: ## write measured values and counts into the pages, from docs/data
	python3 docs/data/generate.py

.PHONY: lint
lint: toolchains ## check formatting and run clippy, with the purity lints
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	cargo fmt --manifest-path stacks/contract-rust/Cargo.toml --check
	cargo clippy --locked --manifest-path stacks/contract-rust/Cargo.toml --all-targets -- -D warnings
	cargo fmt --manifest-path sans-io/common-rust/Cargo.toml --check
	cd sans-io/common-rust && env -u RUSTFLAGS cargo clippy --locked --all-targets -- -D warnings

PACKAGE_PYTHON := $(CURDIR)/target/python/bin
PACKAGE_ENVIRONMENT := QUICLAB=$(CURDIR)/$(QUICLAB) PYTHONPATH=$(CURDIR)/python/src

.PHONY: test-python
test-python: demo-setup build target/python/.installed ## test the Python package: types, style and tests
	cd python && $(PACKAGE_PYTHON)/ruff format --check . && $(PACKAGE_PYTHON)/ruff check . && $(PACKAGE_PYTHON)/mypy
	cd python && $(PACKAGE_ENVIRONMENT) $(PACKAGE_PYTHON)/python -m pytest -q -m "not plans" --ignore tests/campaign
	cd python && QUICLAB_TESTS=$(CURDIR)/$(QUICLAB) $(PACKAGE_ENVIRONMENT) $(PACKAGE_PYTHON)/python -m pytest -q tests/campaign/test_real.py -k flows_of_models

.PHONY: test-python-plans
test-python-plans: build target/python/.installed ## compare the plan of every experiment file read and written by Python
	cd python && $(PACKAGE_ENVIRONMENT) $(PACKAGE_PYTHON)/python -m pytest -q -m plans

.PHONY: test-notebooks
test-notebooks: demo-setup build target/python/.installed ## execute the notebooks in python/notebooks
	cd python && $(PACKAGE_ENVIRONMENT) $(PACKAGE_PYTHON)/python -m pytest -q --nbmake --nbmake-timeout=600 notebooks

# Wheels have no symbolic links, so files behind them are copied. The command finds them in ../share/quiclab.
.PHONY: wheel
wheel: build target/python/.installed ## build the Python wheel, with the command, the agent, stacks and experiments, into dist/
	rm -rf python/wheel-data
	mkdir -p python/wheel-data/scripts python/wheel-data/data/share/quiclab/notebooks
	cp $(TARGET)/quiclab-agent python/wheel-data/scripts/
	cp python/notebooks/*.ipynb python/wheel-data/data/share/quiclab/notebooks/
	git ls-files -z stacks sans-io experiments | xargs -0 cp -RL --parents -t python/wheel-data/data/share/quiclab
	find python/wheel-data -name target -type d -prune -exec rm -r {} +
	cd python && CARGO_TARGET_DIR=$(CURDIR)/target $(PACKAGE_PYTHON)/maturin build --release --target x86_64-unknown-linux-gnu \
		--compatibility manylinux2014 --out ../dist
	rm -r python/wheel-data

.PHONY: test-wheel
test-wheel: wheel ## install the wheel into an empty environment and use it there: runs, tables, a campaign with kills; five minutes
	python/tests/wheel.sh $$(ls -t dist/quiclab-*.whl | head -n 1)

# neqo's crates are in no registry: its dependencies are checked where its build has unpacked them, by `make deny-neqo`.
.PHONY: deny
deny: toolchains target/tools/.installed ## check licences and sources of all dependencies
	for manifest in Cargo.toml $(filter-out stacks/neqo/% sans-io/neqo/%,$(wildcard stacks/*/Cargo.toml sans-io/*/Cargo.toml)); do \
		$(TOOLS)/cargo-deny deny --manifest-path $$manifest --config deny.toml --all-features check licenses bans sources; done

.PHONY: deny-neqo
deny-neqo: stacks-setup target/tools/.installed ## the same for the stack neqo, whose sources are downloaded for it
	for folder in stacks sans-io; do (cd $$folder/neqo && \
		sh build.sh $(TOOLS)/cargo-deny deny --config $(CURDIR)/deny.toml --all-features check licenses sources); done

# Uses the stable compiler with the unstable flags that the fuzzer needs. Inputs found go to fuzz/found and fuzz/artifacts of each
# crate, which git ignores. FUZZ_TARGETS="crates/wire:qlog" chooses some. cargo-fuzz sets RUSTFLAGS, which hides those of
# sans-io/common-rust/.cargo/config.toml.
FUZZ_TARGETS ?= $(foreach file,$(wildcard crates/*/fuzz/fuzz_targets/*.rs sans-io/*/fuzz/fuzz_targets/*.rs),\
	$(patsubst %/fuzz/fuzz_targets/,%,$(dir $(file))):$(basename $(notdir $(file))))
FUZZ_OPTIONS ?= -rss_limit_mb=2048 -timeout=10
.PHONY: fuzz
fuzz: toolchains ## fuzz everything that reads foreign bytes, FUZZ_SECONDS (600) for each target
	command -v cargo-fuzz > /dev/null || (cd / && env -u RUSTFLAGS cargo install cargo-fuzz --locked)
	for each in $(FUZZ_TARGETS); do \
		target=$${each##*:}; cd $(CURDIR)/$${each%%:*}; mkdir -p fuzz/found/$$target fuzz/corpus/$$target; \
		case $$each in sans-io/*) flags='--cfg getrandom_backend="custom"';; *) flags=;; esac; \
		RUSTFLAGS="$$flags" RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer address --target-dir $(CURDIR)/target/fuzz $$target \
			fuzz/found/$$target fuzz/corpus/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 $(FUZZ_OPTIONS); done

# Another seed kills at other moments. KILLS_CASES="run-models,run-vm" chooses verbs.
KILLS ?= 1000
.PHONY: kills
kills: test-setup build ## kill every verb that writes, KILLS (1000) times at random moments, and look at what is left
	KILLS=$(KILLS) $(QUICLAB_IT) kills:: -- --ignored --nocapture

# DISK_FAULTS_STEP=5 tries every fifth call, DISK_FAULTS_CASES="run-vm" chooses verbs.
.PHONY: disk-faults
disk-faults: test-setup build ## let the disk fail at every call of run, perform, report and analyze --parquet in turn
	$(QUICLAB_IT) disk_faults:: -- --ignored --nocapture

.PHONY: bench
bench: test-setup build ## measure the cost of runs, quiclab analyze and the simulator, with limits and tshark for comparison
	cargo bench -p quiclab --bench cost
	cargo bench -p quiclab --bench analyze
	cargo bench -p quiclab-sim --bench dumbbell

# On a machine that is not idle: make bench-forwarder UNDISTURBED="chrt -f 50"
.PHONY: bench-forwarder
bench-forwarder: toolchains ## measure the forwarder in real time beside tc mirred, plain sockets, TUN and rattan; needs two idle cores
	cargo build --release --locked --manifest-path bench/rattan/Cargo.toml --target-dir target/rattan
	cargo bench -p quiclab-agent --bench forwarder --no-run
	FORWARDER_OTHER=$(CURDIR)/target/rattan/x86_64-unknown-linux-gnu/release/rattan-delay \
		$(UNDISTURBED) cargo bench -p quiclab-agent --bench forwarder

.PHONY: iperf3
iperf3: toolchains ## compare TCP through the forwarder with iperf3 through the same path
	$(call require,iperf3)
	cargo test --release -p quiclab-agent --test it iperf3:: -- --ignored --nocapture

.PHONY: bench-handshakes
bench-handshakes: toolchains ## measure handshakes in the simulator by stack and part, beside their cryptography alone
	cargo bench -p quiclab --bench handshakes

.PHONY: bench-look
bench-look: ## how fast the page of quiclab look is with 150,000 packets, in headless Chromium; needs chromium, node and npm
	mkdir -p target/look && cp bench/look/measure.mjs bench/look/package.json target/look/
	LOOK_PAGE=$(CURDIR)/target/look/page.html cargo test --release -p quiclab-report --lib look::tests::a_page_of_150_000_packets
	cd target/look && npm install --no-audit --no-fund && node measure.mjs page.html pictures

.PHONY: bench-ns3
bench-ns3: toolchains ## compare the simulator with ns-3 on the same dumbbell: about two minutes
	$(call require,$(NS3_PACKAGES))
	mkdir -p target
	g++ -O2 -std=c++17 bench/ns3/dumbbell.cc -o target/ns3-dumbbell $$(pkg-config --cflags --libs \
		ns3-core ns3-network ns3-internet ns3-point-to-point ns3-applications ns3-traffic-control)
	cargo bench -p quiclab-sim --bench dumbbell
	target/ns3-dumbbell 50 57000000 576 100
	target/ns3-dumbbell 1 10000000 1500 120 83 NewReno 0
	target/ns3-dumbbell 1 10000000 1500 120 83 Cubic 1

.PHONY: bench-ns2
bench-ns2: ## run the TCP pacing study without pacing in ns-2, its own simulator: about five minutes on 2 cores
	$(call require,ns2)
	python3 bench/ns2/study.py --jobs $(JOBS)

.PHONY: baseline
baseline: demo-setup build ## run the whole baseline, 80 runs of 100 MiB: about an hour on 2 cores
	$(QUICLAB) run experiments/quic-steps/baseline.toml -j $(JOBS)

# A claim of a study that fails here is a result, so only errors of quiclab stop what runs its files, and a verdict that is not the known one.
.PHONY: quic-steps
quic-steps: demo-setup build ## run every figure of QUIC Steps (quick profiles) and check expectations: 20 minutes on 2 cores
	$(QUICLAB) run experiments/quic-steps --profile quick -j $(JOBS)
	$(QUICLAB) check results/quic-steps/*-quick || [ $$? -lt 100 ]
	python3 docs/data/generate.py --compare results/quic-steps/*-quick

.PHONY: quic-steps-all
quic-steps-all: demo-setup build ## the same with 20 repetitions of 20 to 100 MiB: about 8 hours of CPU time and 30 GB
	$(QUICLAB) run experiments/quic-steps -j $(JOBS)

.PHONY: tcp-pacing
tcp-pacing: build ## run every figure of the TCP pacing study (quick profiles) and check expectations: 3 minutes on 2 cores
	$(QUICLAB) run experiments/oracles -j $(JOBS)
	$(QUICLAB) check results/oracles
	$(QUICLAB) run experiments/tcp-pacing --profile quick -j $(JOBS)
	$(QUICLAB) check results/tcp-pacing/*-quick || [ $$? -lt 100 ]

.PHONY: tcp-pacing-all
tcp-pacing-all: build ## the same with more repetitions, lengths of transfers and rates: 30 minutes on 2 cores
	$(QUICLAB) run experiments/tcp-pacing -j $(JOBS)
	$(QUICLAB) check $$(ls -d results/tcp-pacing/* | grep -v -e '-quick$$') || [ $$? -lt 100 ]

# In real time, one run at a time. What the study claims of its machines can fail on others, so only errors of quiclab stop it.
.PHONY: throughput
throughput: build ## run the throughput study (quick profiles) in network namespaces: half an hour on 2 quiet cores
	$(QUICLAB) run experiments/throughput --profile quick --testbed netns --roofline
	$(QUICLAB) check results/throughput/*-quick-netns || [ $$? -lt 100 ]

.PHONY: sans-io
sans-io: build ## test the stacks without sockets and run their experiments in the simulator: twenty minutes
	for stack in quinn ngtcp2-1.25 quiche-0.22; do (cd sans-io/$$stack && env -u RUSTFLAGS cargo test --release --locked); done
	(cd sans-io/picoquic && env -u RUSTFLAGS sh build.sh test)
	(cd sans-io/neqo && env -u RUSTFLAGS sh build.sh cargo test --profile optimized --locked --ignore-rust-version)
	$(QUICLAB) run experiments/sans-io --testbed sim -j $(JOBS)

.PHONY: atlas
atlas: stacks ## run every stack with every congestion control it has: 20 minutes on 2 cores
	$(QUICLAB) run experiments/pacing-atlas.toml -j $(JOBS)

.PHONY: stacks
stacks: stacks-setup build ## build every stack: about 20 minutes on 2 cores with an empty cache
	$(QUICLAB) stacks build

.PHONY: kernel
kernel: kernel-setup build ## build kernel 6.1-paced, with paced segmentation offload: 5 to 12 minutes on 2 cores
	$(QUICLAB) tools kernel build

.PHONY: test-kernel
test-kernel: test-setup kernel ## the tests that need kernel 6.1-paced, which make test skips: 5 minutes, and the time to build it
	$(QUICLAB_IT) -- --ignored paced:: kernel::

.PHONY: test-uml
test-uml: kernel-setup build ## build kernel uml, boot it and run stacks on it beside load, and compare: 8 minutes on 2 cores
	$(QUICLAB) tools kernel build uml
	cargo test --release -p quiclab-testbed --test it uml_kernel:: -- --ignored
	$(QUICLAB_IT) uml:: -- --ignored

.PHONY: test-hosts
test-hosts: test-setup build ## the tests of runs between hosts over ssh, which make test skips without root and openssh-server
	$(QUICLAB_IT) hosts -- --include-ignored --nocapture

.PHONY: bench-perf
bench-perf: build stacks ## how fast every stack is, in turns, beside what the machine could do: 10 minutes on 2 quiet cores
	bench/perf.py $(QUICLAB)

.PHONY: bench-scan
bench-scan: toolchains ## handshakes a second of the scanner beside a loop of quic-go handshakes, with the same server: two minutes on 2 quiet cores
	cd bench/scan && CGO_ENABLED=0 go build -o ../../target/quic-go-loop .
	cargo run --release -p quiclab-scan --example rate -- 5 64 target/quic-go-loop

.PHONY: test-scan
test-scan: test-setup build stacks ## scan every server of this repository on an Internet in a network namespace: a minute, and the time to build the stacks
	cargo test --release -p quiclab --test scan -- --include-ignored
	cargo test --release -p quiclab-scan --test it targets::long_lists:: -- --ignored
	cargo test --release -p quiclab-scan --test it origin:: -- --ignored --nocapture

# To continue after an interruption, run it again. OWN_TOOLS="--tools quinn,tquic --fresh" begins anew with some.
.PHONY: bench-own-tools
bench-own-tools: test-setup build stacks ## quiclab perf beside the own tool of each stack, in interleaved pairs: half an hour on 2 quiet cores, and as long to build the tools
	bench/own_tools/run.py $(QUICLAB) $(OWN_TOOLS)

.PHONY: test-perf
test-perf: test-setup build stacks ## quiclab perf with every server and every client, in both directions and under every load: half an hour on 2 cores
	$(QUICLAB_IT) -- --include-ignored --nocapture perf:: perf_loads::

CAMPAIGN_TESTS := cd python && QUICLAB_TESTS=$(CURDIR)/$(QUICLAB) $(PACKAGE_ENVIRONMENT)

.PHONY: test-campaign
test-campaign: demo-setup build target/python/.installed ## the tests of campaigns: kills, bad days, a bucket, real runs: three minutes on 2 cores
	$(CAMPAIGN_TESTS) $(PACKAGE_PYTHON)/python -m pytest tests/campaign --ignore tests/campaign/test_bad_machines.py

.PHONY: test-campaign-machines
test-campaign-machines: demo-setup build target/python/.installed ## campaigns of real runs on machines with something wrong: ten minutes on 2 cores
	$(CAMPAIGN_TESTS) $(PACKAGE_PYTHON)/python -m pytest tests/campaign/test_bad_machines.py

# CAMPAIGN_MINUTES=10 makes as many runs as one process makes in ten minutes; three folders are made of them.
CAMPAIGN_MINUTES ?= 2
.PHONY: test-campaign-kills
test-campaign-kills: demo-setup build target/python/.installed ## one process, four workers, four workers with kills every 20 s: compare every byte
	$(CAMPAIGN_TESTS) QUICLAB_KILLS_MINUTES=$(CAMPAIGN_MINUTES) $(PACKAGE_PYTHON)/python -m pytest -s tests/campaign/test_long.py

.PHONY: test-slurm
test-slurm: build target/python/.installed ## a campaign through dask-jobqueue on a Slurm of this machine; as root, with Debian's slurm-wlm and munge
	$(CAMPAIGN_TESTS) tests/campaign/slurm.sh $(PACKAGE_PYTHON)/python -m pytest tests/campaign/test_slurm.py

.PHONY: check-stacks
check-stacks: stacks ## check the claims of every stack in virtual machines: about 20 minutes on 2 cores
	$(QUICLAB) stacks check -j $(JOBS)

.PHONY: interop
interop: stacks ## run every server against every client: more than an hour on 2 cores
	$(QUICLAB) interop -j $(JOBS)

.PHONY: default-behaviour
default-behaviour: stacks ## run every stack with its defaults: about 15 minutes on 2 cores
	$(QUICLAB) run experiments/stacks/default-behaviour.toml -j $(JOBS)

# Compiles every stack again for its tests.
.PHONY: test-stacks
test-stacks: stacks-setup ## run the stacks' own tests: up to an hour
	for manifest in $(filter-out stacks/picoquic/% stacks/neqo/%,$(wildcard stacks/*/Cargo.toml)); do \
		cargo test --locked --quiet --manifest-path $$manifest; done
	cd stacks/picoquic && sh build.sh test
	cd stacks/neqo && sh build.sh cargo test --locked
	cd stacks/kwik && mvn -q -B test
	cd stacks/aioquic && python3 test_settings.py
	cd stacks/lsquic && npm ci --ignore-scripts --no-audit --no-fund && node_modules/@oven/bun-linux-x64-baseline/bin/bun test

.PHONY: test-sans-io
test-sans-io: stacks-setup ## run the tests of the stacks in the simulator, and handshakes with each: twenty minutes
	for stack in quinn ngtcp2-1.25 quiche-0.22; do (cd sans-io/$$stack && env -u RUSTFLAGS cargo test --release --locked); done
	(cd sans-io/picoquic && env -u RUSTFLAGS sh build.sh test)
	(cd sans-io/neqo && env -u RUSTFLAGS sh build.sh cargo test --profile optimized --locked --ignore-rust-version)
	$(QUICLAB_IT) handshakes:: -- --ignored

# Needs no virtual machines, so it is quick while you write an endpoint.
.PHONY: contract
contract: stacks-setup build ## test endpoints on this machine, over a loopback interface
	for stack in quiche quiche-0.24 quic-go quinn x-net-quic ngtcp2 tcp-tls; do $(QUICLAB) stacks try stacks/$$stack; done
	for stack in nginx haproxy; do $(QUICLAB) stacks try stacks/$$stack --peer stacks/ngtcp2; done
	$(QUICLAB) stacks try stacks/curl --peer stacks/nginx

.PHONY: test-causes
test-causes: test-setup build ## verdicts on runs whose cause is known, those with quiche and a changed program too: ten minutes
	$(QUICLAB_IT) causes:: -- --include-ignored

# Builds the stack three times: with and without its frame, and with a smaller bucket.
.PHONY: own-stack
own-stack: test-setup build ## take a stack from outside the repository through every step of the guides: about ten minutes
	$(QUICLAB_IT) foreign_stack:: -- --ignored --nocapture

# Leaves what the action would comment in target/ci-examples.
.PHONY: ci-examples
ci-examples: demo-setup build ## run the examples of docs/guides/ci-examples.md as the steps of action.yml: ten minutes
	$(QUICLAB_IT) ci_examples:: -- --ignored --nocapture --test-threads 1

.PHONY: build
build: toolchains ## build the command and the agent
	cargo build --release --bins

# PREPARE="experiments/quic-steps/baseline.toml --profile quick" packs what that needs; PREPARE=all every stack, PREPARE= nothing.
PREPARE ?= experiments/quic-steps/baseline.toml --profile quick
.PHONY: dist
dist: demo-setup build ## make a release in dist/: command, Debian package, prepared things, SBOM, licences, hashes
	PREPARE="$(PREPARE)" packaging/dist.sh $(TARGET) dist

# BASE=docker.io/library/debian:bookworm-slim takes that image as the base; without it, Debian comes from its package archive.
.PHONY: image
image: toolchains ## make an OCI image of the release in dist/, without a daemon: three minutes
	$(call require,buildah mmdebstrap uidmap)
	packaging/image.sh dist dist/quiclab-oci.tar

.PHONY: test-image
test-image: toolchains ## run the image of make image without privileges and without a network: two minutes, as root
	$(call require,podman runc)
	packaging/test_image.sh dist/quiclab-oci.tar

# The version of mdBook that the site is made with.
MDBOOK_VERSION := 0.5.4
.PHONY: site
site: toolchains ## build docs/ as a site with search, in target/site
	@mdbook --version 2> /dev/null | grep -qF "v$(MDBOOK_VERSION)" || (cd / && env -u RUSTFLAGS cargo install mdbook --version $(MDBOOK_VERSION) --locked --no-default-features --features search)
	packaging/site.py target/site-source
	mdbook build target/site-source --dest-dir $(CURDIR)/target/site
	packaging/site_links.py target/site

.PHONY: demo-setup
demo-setup: toolchains
	$(call require,$(DEMO_PACKAGES))

.PHONY: kernel-setup
kernel-setup: toolchains
	$(call require,$(KERNEL_PACKAGES))

.PHONY: stacks-setup
stacks-setup: toolchains
	$(call require,$(STACKS_PACKAGES))

.PHONY: test-setup
test-setup: toolchains
	$(call require,$(TEST_PACKAGES))

.PHONY: toolchains
toolchains:
	@command -v cargo > /dev/null || { echo "cargo is missing: Rust 1.89 or later, by rustup (rustup.rs):"; \
		echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"; exit 1; } >&2
	@command -v go > /dev/null || { echo "go is missing: Go 1.26 or later, from go.dev/dl, unpacked to /usr/local:"; \
		echo "  rm -rf /usr/local/go && tar -C /usr/local -xzf go1.26.*.linux-amd64.tar.gz && export PATH=\$$PATH:/usr/local/go/bin"; \
		exit 1; } >&2

# Programs that run tests, check licences and install Python packages, as their authors built them: compiling them takes ten minutes.
target/tools/.installed: packaging/tools.txt
	$(call require,python3-venv)
	rm -rf target/tools
	python3 -m venv target/tools
	target/tools/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

# Python with what the package quiclab needs, can use, and is built and tested with, and the libraries that check traces.
target/python/.installed: python/requirements.txt target/tools/.installed
	rm -rf target/python
	$(TOOLS)/uv venv --quiet --python "$$(command -v python3)" target/python
	$(TOOLS)/uv pip install --quiet --python target/python --requirement $<
	touch $@

# Installs Debian packages as root, and otherwise prints the command.
define require
	@missing=""; for package in $(1); do \
		[ "$$(dpkg-query --show --showformat='$${db:Status-Status}' $$package 2> /dev/null)" = installed ] || missing="$$missing $$package"; \
	done; \
	if [ -n "$$missing" ]; then \
		install="apt-get install --yes --no-install-recommends$$missing"; \
		if [ "$$(id -u)" = 0 ]; then \
			echo "installing$$missing" >&2; \
			apt-get update --quiet=2 && DEBIAN_FRONTEND=noninteractive $$install --quiet=2 > /dev/null; \
		else \
			echo "packages are missing; as root:" >&2; echo "  apt-get update && $$install" >&2; exit 1; \
		fi; \
	fi
endef
