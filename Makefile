# SPDX-License-Identifier: BSD-2-Clause
#
# A thin front: `make demo` and `make test` are all that a fresh Debian 12 machine with
# git and make needs. CMake builds (see CMakePresets.json), scripts/ has the steps.

PREFIX ?= /usr/local
DESTDIR ?=
# Debian's interpreter: the Python modules that the suites use are installed for it.
PYTHON ?= /usr/bin/python3
export PREFIX DESTDIR PYTHON

.PHONY: all demo test proof bench abi abi-upgrade lint format install uninstall clean

all:
	@scripts/bootstrap build
	@scripts/build install

demo: # the main job on a real capture; PCAP=file for another one
	@scripts/bootstrap demo
	@scripts/demo

test: # every suite: gcc, clang, sanitizers, aarch64
	@scripts/bootstrap test
	@scripts/test

proof: # the long runs
	@scripts/bootstrap test
	@LIBFP_TEST_SCALE=proof scripts/test release

bench: # figures beside the peers', into build/bench/report.md
	@scripts/bootstrap bench
	@scripts/bench

abi: # names, layouts and the committed description of the ABI
	@scripts/bootstrap test
	@LIBFP_TEST_ONLY='^abi\.' scripts/test release

abi-upgrade: # programs of the recorded ABI, with all their suites, on this library
	@scripts/bootstrap test
	@LIBFP_TEST_SCALE=proof LIBFP_TEST_ONLY='^upgrade\.' scripts/test release
	@grep -i -e '^upgrade: .* build/release' -e '^skipped' build/release/Testing/Temporary/LastTest.log || true

lint:
	@scripts/bootstrap test
	@scripts/lint

format:
	@scripts/bootstrap test
	@scripts/lint --fix

install:
	@scripts/bootstrap build
	@scripts/install

uninstall:
	@scripts/bootstrap build
	@scripts/uninstall

clean:
	rm -rf build
