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
export GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=readonly GOCACHE="$out/go-cache" CGO_ENABLED=1
export PKG_CONFIG_PATH="$build"
export CGO_CFLAGS="-O2 -I$here/../../examples/pipeline"
export CGO_LDFLAGS="-L$stages"
(cd "$here/go" && "$go" build -o "$out/pipeline-go" .)
LD_LIBRARY_PATH="$build:$stages" "$out/pipeline-go"
