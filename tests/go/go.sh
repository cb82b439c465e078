#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: go.sh TEST GO BUILD OUT
#
# One test of the Go package against the library of the build tree BUILD, with the
# toolchain GO (the path of `go`; empty: there is none). What is made goes to OUT.
# Exit status 77: skipped, and a line says why.

set -eu
test=$1
go=$2
build=$3
out=$4
root=$(cd "$(dirname "$0")/../.." && pwd)

if [ -z "$go" ]; then
	echo "skipped: no Go toolchain for this test (Debian: golang-go)"
	exit 77
fi

# Nothing from the network, nothing of the user's settings, nothing outside OUT.
unset GODEBUG GOEXPERIMENT CGO_LDFLAGS
export GOTOOLCHAIN=local GOPROXY=off GOENV=off GOWORK=off CGO_ENABLED=1
export GOFLAGS="-mod=readonly -count=1" GOCACHE="$out/cache" GOPATH="$out/path"
export XDG_CONFIG_HOME="$out/config"
export PKG_CONFIG_PATH="$build" LD_LIBRARY_PATH="$build"
# Go's cache does not see that a header behind pkg-config has changed.
headers=$(cat "$root"/capi/*.h "$root"/capi/libfp/*.h | cksum | cut -d ' ' -f 1)
export CGO_CFLAGS="-O2 -g -DLIBFP_HEADERS=$headers"
PATH=$(dirname "$go"):$PATH
mkdir -p "$out"
"$go" version
cd "$root/bindings/go"

# refused TEXT COMMAND...: the command must fail and say so
refused() {
	text=$1
	shift
	if "$@" >"$out/refused.log" 2>&1; then
		echo "was not refused: $*" >&2
		exit 1
	fi
	if ! grep "$text" "$out/refused.log"; then
		cat "$out/refused.log"
		echo "did not say \"$text\": $*" >&2
		exit 1
	fi
}

case $test in
newer)
	# What is tagged go1.24 is compiled, or this test says nothing.
	case $("$go" list -f '{{.CgoFiles}}' .) in
	*hints_go124.go*) ;;
	*)
		echo "skipped: $go is older than 1.24"
		exit 77
		;;
	esac
	"$go" vet ./...
	"$go" test ./...
	;;
readme)
	# The line of the README, with this build tree; cgo's own checks are on.
	line=$(sed -n 's/^    \(B=.*\)/\1/p' README.md)
	echo "$line"
	cd "$root"
	export GODEBUG=cgocheck=1
	sh -eu -c "$(echo "$line" | sed "s|\$PWD/build/release|$build|")"
	;;
race)
	"$go" test -race ./...
	;;
vet)
	"$go" vet ./...
	unformatted=$(find "$root" -name '*.go' -not -path "$root/build/*" -not -path "$build/*" \
		-exec "$(dirname "$go")/gofmt" -l {} +)
	if [ -n "$unformatted" ]; then
		echo "not as gofmt writes it:" >&2
		echo "$unformatted" >&2
		exit 1
	fi
	;;
nocgo)
	CGO_ENABLED=0
	refused 'libfp_is_a_C_library__set_CGO_ENABLED_to_1' "$go" build ./...
	;;
headers)
	# Headers one minor older and one newer, and nothing else changed.
	minor=$(sed -n 's/^#define LIBFP_VERSION_MINOR //p' "$root/capi/libfp/base.h")
	for other in old new; do
		dir=$out/headers-$other
		mkdir -p "$dir"
		cp -R "$root/capi/." "$dir"
		[ $other = old ] && is=$((minor - 1)) || is=$((minor + 1))
		sed "s/^\(#define LIBFP_VERSION_MINOR\) .*/\1 $is/" "$root/capi/libfp/base.h" \
			>"$dir/libfp/base.h"
		sed "s|^includedir=.*|includedir=$dir|" "$build/libfp-uninstalled.pc" >"$dir/libfp.pc"
		PKG_CONFIG_PATH=$dir
		CGO_CFLAGS="-DLIBFP_HEADERS=$headers-$other"
		refused "the libfp headers are too $other" "$go" build ./...
	done
	;;
flows)
	gopacket=$(sed -n 's|^replace github.com/gopacket/gopacket => ||p' \
		"$root/examples/flows-go/go.mod")
	if [ ! -d "$gopacket" ]; then
		echo "skipped: no $gopacket (Debian: golang-github-gopacket-gopacket-dev)"
		exit 77
	fi
	cd "$root/examples/flows-go"
	"$go" vet .
	"$go" build -o "$out/flows-go" .
	FLOWS_GO=$out/flows-go "$PYTHON" -B -m pytest -q -rs -p no:cacheprovider \
		"$root/tests/go/test_flows.py"
	;;
*)
	echo "go.sh: no test $test" >&2
	exit 2
	;;
esac
