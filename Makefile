# The front door: a thin front on the CMake presets and ctest. `make help` lists what there is.
.DEFAULT_GOAL := release
.PHONY: help release demo test lint format install clean packages lint-packages

PRESETS ?= ci mpich asan
PREFIX ?= /usr/local
SOURCES = $(shell git ls-files '*.hpp' '*.cpp' '*.h' '*.c')

export CTEST_PARALLEL_LEVEL ?= $(shell nproc)
export CTEST_OUTPUT_ON_FAILURE = 1
# Open MPI: as root, and with more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
export OMPI_MCA_rmaps_base_oversubscribe = 1
export OMPI_MCA_mpi_yield_when_idle = 1

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

packages:
	@scripts/install-packages

lint-packages:
	@scripts/install-packages scripts/packages.txt scripts/packages-lint.txt

release: packages ## an optimised build in build/release (the default)
	cmake --preset release
	cmake --build --preset release

demo: packages ## replays recorded traffic on 4 ranks under all algorithms
	cmake --preset release
	cmake --build --preset release --target taquin_command
	for traffic in workloads/recordings/*.json; do \
	  mpirun.openmpi -n 4 build/release/bin/taquin run --traffic $$traffic -a all || exit 1; done

test: packages ## all tests: on Open MPI, on MPICH, with sanitizers
	@failed=; for preset in $(PRESETS); do cmake --workflow --preset $$preset || failed="$$failed $$preset"; done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

lint: lint-packages ## layout and static analysis of all files
	clang-format --dry-run --Werror $(SOURCES)
	cmake --preset ci
	cppcheck --quiet --project=build/ci/compile_commands.json --suppressions-list=.cppcheck-suppressions --library=googletest \
	  --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j $(CTEST_PARALLEL_LEVEL)
	run-clang-tidy -quiet -p build/ci -j $(CTEST_PARALLEL_LEVEL) '/(src|cli|interpose)/.*\.cpp$$'

format: lint-packages ## lays out all files
	clang-format -i $(SOURCES)

install: release ## installs the release build under PREFIX
	cmake --install build/release --prefix $(PREFIX)

clean: ## removes all builds
	$(RM) -r build
