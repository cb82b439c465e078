#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: go.sh BUILD STAGES OUT
#
# Builds and runs the pipeline of Go against the library of a build tree (BUILD) and
# libfp_stages in the directory STAGES; what is made goes to OUT. Uses Debian's Go, else
# the one in PATH; exits with 77 if there is none.

set -eu
build=$1
stages=$2
out=$3

go=
for candidate in /usr/lib/go-*/bin/go "$(command -v go || true)"; do
	if [ -x "$candidate" ]; then
		go=$candidate
		break
	fi
done
if [ -z "$go" ]; then
	echo "skipped: no go (Debian: golang-go)"
	exit 77
fi

here=$(cd "$(dirname "$0")" && pwd)
# As tests/go does, and with its cache: most is compiled already.
unset GODEBUG GOEXPERIMENT CGO_LDFLAGS
export GOTOOLCHAIN=local GOPROXY=off GOENV=off GOWORK=off CGO_ENABLED=1
export GOFLAGS=-mod=readonly GOCACHE="$build/go/cache" GOPATH="$build/go/path"
export PKG_CONFIG_PATH="$build" LD_LIBRARY_PATH="$build:$stages" LIBRARY_PATH="$stages"
headers=$(cat "$here"/../../capi/*.h "$here"/../../capi/libfp/*.h | cksum | cut -d ' ' -f 1)
export CGO_CFLAGS="-O2 -g -DLIBFP_HEADERS=$headers"
mkdir -p "$out"
cd "$here/go"
"$go" vet .
"$go" build -o "$out/pipeline-go" .
"$out/pipeline-go"
