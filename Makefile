# The front door: CMake does the work (CMakePresets.json), this file remembers the commands.
JOBS ?= $(shell nproc)
ARGS ?=
PREFIX ?= /usr/local

all: ## build the release preset to build/release (installs missing packages first)
	@tools/setup build
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS)

demo: all ## 20 nats of mutual information, one ratio against the telescope, in under a minute
	@tools/setup figures
	@build/release/waymark demo -o build/demo --overwrite

data: all ## bring MNIST and Fashion-MNIST to ../data (or WAYMARK_DATA=DIR), as IDX files and npy arrays
	@tools/data

check: ## everything: release tests, clang-format, cppcheck, clang-tidy, sanitizer build with its tests
	@tools/check -j $(JOBS)

test: ## the tests of the release build only; make test ARGS='-R gradients' picks some
	@tools/setup build check
	@cmake --preset release -DWAYMARK_TESTS=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release $(ARGS)

bench: ## compare with PyTorch on this machine; make bench ARGS='--json --only NAME'; TORCH=pypi: the newest besides Debian's (5 GB)
	@tools/setup build bench
	@if [ "$(TORCH)" = pypi ]; then tools/torch build/torch; fi
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@bench/run $(ARGS)

fuzz: ## the fuzzers of all that is read (clang); make fuzz ARGS='600 csv' for ten minutes of one
	@tools/fuzz $(ARGS)

tsan: ## the tests that start threads under the thread sanitizer (clang, libomp; installs both); ARGS are ctest's
	@tools/tsan -j $(JOBS) $(ARGS)

nightly: ## what takes hours: tsan, every file call failing in every command, 1,000 damaged files, an hour of each fuzzer, Python under asan
	@tools/tsan -j $(JOBS)
	@cmake --preset release -DWAYMARK_TESTS=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@python3 tests/cli/mutations.py build/release/waymark --number 1000
	@python3 tests/cli/fault_sweep.py build/release/waymark
	@tools/fuzz 3600
	@cmake --preset asan -DWAYMARK_TESTS=ON -DWAYMARK_PYTHON=ON >/dev/null
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -L python

lint: ## clang-format, cppcheck and clang-tidy over our sources
	@tools/setup build check
	@cmake --preset release -DWAYMARK_TESTS=ON >/dev/null
	@tools/lint -j $(JOBS)

format: ## rewrite our sources with clang-format
	@tools/setup check
	@tools/lint --fix-format

docs: ## the reference of the public headers, to build/docs/html (Doxygen)
	@tools/setup check
	@mkdir -p build
	@doxygen docs/Doxyfile

site: ## docs/ and results/ as a site, to build/site
	@tools/setup site check
	@mkdocs build --quiet --clean --strict
	@doxygen docs/Doxyfile && cp -r build/docs/html build/site/c

wheel: ## build/wheel/waymark-*.whl, with the libraries inside: needs nothing but Python and pip where it is installed
	@tools/setup build wheel
	@tools/wheel

install: all ## to PREFIX (/usr/local), under DESTDIR: command, man pages, completions, library, headers, pkg-config, CMake
	@cmake --install build/release --prefix $(PREFIX)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

package: ## build/package/*.deb: waymark, libwaymark, libwaymark-dev, python3-waymark
	@tools/setup build package
	@tools/package -j $(JOBS)

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

.PHONY: all demo data check test bench fuzz tsan nightly lint format docs site wheel install package clean help
