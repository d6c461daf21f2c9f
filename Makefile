# The front door: a thin front on the CMake presets and ctest. `make help` lists what there is.
.DEFAULT_GOAL := release
.PHONY: help release demo test test-all test-rest check-instruments test-sanitized test-sanitized-subset test-clang mutants soak \
  fuzz test-cluster test-scale test-packages test-matrix lint lint-changed lint-quick format docs deb regret install uninstall clean packages lint-packages

PRESETS ?= ci mpich
SINCE ?= HEAD~3
ANALYSED = (src|simulation|harness|cli|interpose)/.*\.cpp
PREFIX ?= /usr/local
SOURCES = $(shell git ls-files '*.hpp' '*.cpp' '*.h' '*.c')

# Tests at a time, if nothing else is set: with Open MPI, whose ranks yield, two more than there are cores.
ifndef CTEST_PARALLEL_LEVEL
export MORE_TESTS = 2
endif
export CTEST_PARALLEL_LEVEL ?= $(shell nproc)
export CTEST_OUTPUT_ON_FAILURE = 1
# Open MPI: as root, and with more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
export OMPI_MCA_rmaps_base_oversubscribe = 1
export OMPI_MCA_mpi_yield_when_idle = 1

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

packages:
	@scripts/install-packages

lint-packages:
	@scripts/install-packages scripts/packages.txt scripts/packages-lint.txt

release: packages ## an optimised build in build/release (the default)
	cmake --preset release
	cmake --build --preset release

demo: packages ## replays recorded traffic on 4 ranks under all algorithms, and makes a page of what it has measured
	cmake --preset release
	cmake --build --preset release --target taquin_command
	scripts/demo build/release

test: packages ## the tests of the code, each at one number of ranks, on Open MPI and on MPICH, and what they covered
	@failed=; for preset in $(PRESETS); do \
	  build=build/$${preset%-rest}; more=$(or $(MORE_TESTS),0); [ $$build != build/mpich ] || more=0; \
	  rm -f $$build/Testing/Temporary/LastTest.log build/$$preset.log; \
	  CTEST_PARALLEL_LEVEL=$$(($(CTEST_PARALLEL_LEVEL) + more)) cmake --workflow --preset $$preset || failed="$$failed $$preset"; \
	  cp $$build/Testing/Temporary/LastTest.log build/$$preset.log || true; \
	done; \
	scripts/test-summary $(patsubst %,build/%.log,$(sort $(PRESETS:-rest=) $(PRESETS))); \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

test-rest: ## after make test: other numbers of ranks, models of the protocols (Spin), the report page in a browser, stubs
	@scripts/install-packages scripts/packages.txt scripts/packages-all.txt
	@$(MAKE) test PRESETS="$(addsuffix -rest,$(PRESETS))"

test-all: ## all tests: make test, test-rest, test-sanitized-subset and test-clang
	$(MAKE) test
	$(MAKE) test-rest
	$(MAKE) test-sanitized-subset
	$(MAKE) test-clang

check-instruments: packages ## stubs in place of fault layer and message counters must make their suites fail
	cmake --preset ci
	cmake --build --preset ci --target stubbed_suites
	ctest --preset ci-rest -L instruments

mutants: packages ## changes one place of the code at a time and lists the changes that no test notices: SEED=1 COUNT=200
	@scripts/install-packages scripts/packages.txt scripts/packages-mutants.txt
	scripts/mutants-build build/mutants
	nice /usr/bin/python3 scripts/mutants $(addprefix build/mutants/,tree counted build) $(or $(OUT),results/mutants/seed-$(or $(SEED),1)) \
	  --seed $(or $(SEED),1) --count $(or $(COUNT),200)

test-sanitized: ## the tests with address and undefined-behaviour sanitizers, those of threads with theirs, on Open MPI
	@$(MAKE) test PRESETS="asan tsan"

test-sanitized-subset: packages ## errors, plans, in place, sparse: with address and undefined-behaviour sanitizers
	cmake --workflow --preset asan-subset

test-clang: ## what is installed, built by Clang, and programs of others that use it
	@scripts/install-packages scripts/packages.txt scripts/packages-clang.txt
	cmake --workflow --preset clang

soak: packages ## random problems, and calls that one rank harms, for SECONDS=60 each by MPI and RANKS, or PROBLEMS=n
	@for preset in release mpich; do cmake --preset $$preset && \
	  cmake --build --preset $$preset --target taquin_soak taquin_hostile interpose_hostile taquin_interpose || exit 1; done
	@MPI="$(MPI)" RANKS="$(RANKS)" SECONDS_EACH="$(SECONDS)" PROBLEMS="$(PROBLEMS)" SEED="$(SEED)" THREADS="$(THREADS)" \
	  scripts/soak

fuzz: packages ## every reader of what comes from outside, given any bytes: SECONDS=60 for each of READERS
	@scripts/install-packages scripts/packages.txt scripts/packages-fuzz.txt
	cmake --preset fuzz
	cmake --build --preset fuzz
	scripts/fuzz build/fuzz $(or $(SECONDS),60) $(READERS)

regret: packages ## random calls timed beside the MPI library's own, the worst made simpler: CELLS=200 SEED=… RANKS="2 3 4 5 8"
	cmake --preset release
	cmake --build --preset release --target bench_regret
	@RANKS="$(RANKS)" CELLS="$(CELLS)" SEED="$(SEED)" SECONDS_EACH="$(SECONDS)" CHOICE="$(CHOICE)" NODES="$(NODES)" \
	  ONLY="$(ONLY)" MPIRUN="$(MPIRUN)" OUT="$(OUT)" scripts/regret

test-cluster: packages ## all algorithms between hosts in network namespaces (as root), on both MPI libraries
	@scripts/install-packages scripts/packages.txt scripts/packages-cluster.txt
	@for preset in release mpich; do cmake --preset $$preset && \
	  cmake --build --preset $$preset --target taquin_command cluster_nodes taquin_ranks_shim || exit 1; done
	@status=0; for mpi in openmpi mpich; do build=build/$$mpi; [ $$mpi = openmpi ] && build=build/release; \
	  testbed/check-cluster full $$mpi $$build; result=$$?; \
	  [ $$result = 0 ] || [ $$result = 77 ] || status=1; done; exit $$status

test-scale: packages ## all algorithms on 64 and 256 simulated ranks
	@scripts/install-packages scripts/packages.txt scripts/packages-cluster.txt
	cmake --preset smpi
	cmake --build --preset smpi
	testbed/check-scale build/smpi

docs: packages ## the documentation site in build/docs/html
	@scripts/install-packages scripts/packages.txt scripts/packages-docs.txt
	cmake --preset release
	cmake --build --preset release --target taquin_command
	docs/site/build build/docs build/release/bin/taquin

deb: packages ## Debian packages in build/deb
	@scripts/install-packages scripts/packages.txt scripts/packages-docs.txt scripts/packages-deb.txt
	packaging/make-deb build/deb

test-packages: packages ## Debian packages, built, installed and used in clean roots (as root)
	@scripts/install-packages scripts/packages.txt scripts/packages-deb.txt
	packaging/test-packages

test-matrix: ## all tests in clean roots of SUITES="bookworm trixie sid", on MPI="openmpi mpich abi" (as root)
	@scripts/install-packages scripts/packages-deb.txt
	@SUITES="$(SUITES)" MPI="$(MPI)" packaging/test-matrix

lint: lint-quick ## layout and static analysis of all files
	run-clang-tidy -quiet -p build/lint -j $(CTEST_PARALLEL_LEVEL) '^$(CURDIR)/$(ANALYSED)$$'

lint-changed: CPPCHECK_WITHOUT = -itests -ibench
lint-changed: lint-quick ## clang-tidy over the files that differ from SINCE=HEAD~3, without the analyzer's paths; cppcheck without tests
	@files=$$(git diff --name-only --diff-filter=d $(SINCE) -- | grep -E '^$(ANALYSED)$$' || true); \
	[ -z "$$files" ] || run-clang-tidy -quiet -checks='-clang-analyzer-*' -p build/lint -j $(CTEST_PARALLEL_LEVEL) $$files

lint-quick: lint-packages
	scripts/words
	clang-format --dry-run --Werror $(SOURCES)
	cmake --preset lint
	cmake --build build/lint --target generated
	cppcheck --quiet --project=build/lint/compile_commands.json --suppressions-list=.cppcheck-suppressions --library=googletest \
	  --enable=warning,performance,portability --inline-suppr --error-exitcode=1 $(CPPCHECK_WITHOUT) -j $(CTEST_PARALLEL_LEVEL)

format: lint-packages ## lays out all files
	clang-format -i $(SOURCES)

install: release ## installs the release build under PREFIX, and the preloaded library for MPICH too
	cmake --install build/release --prefix $(PREFIX)
	cmake --preset mpich
	cmake --build --preset mpich --target taquin_interpose
	cmake --install build/mpich --prefix $(PREFIX) --component preload

uninstall: ## removes what install has put under PREFIX
	@scripts/uninstall build/release/install_manifest.txt build/mpich/install_manifest_preload.txt

clean: ## removes all builds
	$(RM) -r build
