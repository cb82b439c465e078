#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: pkg.sh install BUILD_DIR PREFIX   install the build to PREFIX
#        pkg.sh move PREFIX COPY           copy the prefix elsewhere, to test that it moves
#        pkg.sh WAY PREFIX                 build and run a consumer in one WAY
#
# Works in the current directory. CC and CMAKE name the tools.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
strict="-Wall -Wextra -pedantic -Werror"

fail() {
	echo "pkg: $*" >&2
	exit 1
}

# The installed libraries' directory, whatever the system calls it.
libdir() {
	dirname "$(find "$1" -name libfp.so)"
}

flags() {
	PKG_CONFIG_PATH=$(libdir "$prefix")/pkgconfig pkg-config "$@" libfp
}

needed() {
	LC_ALL=C readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

way=$1
case $way in
install)
	rm -rf "$3"
	"$CMAKE" --install "$2" --prefix "$3"
	exit
	;;
move)
	rm -rf "$3"
	mkdir -p "$(dirname "$3")"
	cp -a "$2" "$3"
	# What still points to the old place would work by accident while it is there.
	if grep -rIl --include='*.pc' --include='*.cmake' -- "$2" "$3"; then
		fail "these installed files name the prefix they were installed to"
	fi
	exit
	;;
esac

prefix=$2
out=$PWD/$way-$(basename "$prefix")
rm -rf "$out"
mkdir -p "$out"

case $way in
files)
	for file in include/libfp.h include/libfp/base.h include/libfp/ring.h \
		share/libfp/libfp.abi.json; do
		[ -f "$prefix/$file" ] || fail "$file is not installed"
	done
	version=$(flags --modversion)
	minor=${version%.*}
	so=$(libdir "$prefix")/libfp.so.$version
	[ -f "$so" ] || fail "$so is not installed"
	LC_ALL=C readelf -d "$so" >"$out/dynamic"
	grep -q "SONAME.*\[libfp\.so\.$minor\]" "$out/dynamic" || fail "SONAME is not libfp.so.$minor"
	grep -q "NODELETE" "$out/dynamic" || fail "not linked with -z nodelete"
	grep -q "BIND_NOW" "$out/dynamic" || fail "not linked with -z now"
	for lib in $(needed "$so"); do
		case $lib in
		libc.so.6 | ld-linux*) ;;
		*) fail "libfp.so needs $lib; it may need libc alone" ;;
		esac
	done
	;;
shared)
	# shellcheck disable=SC2046,SC2086 # lists of flags
	"$CC" -std=c11 $strict $(flags --cflags) "$here/consumer.c" $(flags --libs) -o "$out/consumer"
	needed "$out/consumer" | grep -q '^libfp\.so\.' || fail "the consumer is not linked to libfp.so"
	LD_LIBRARY_PATH=$(libdir "$prefix") "$out/consumer"
	;;
static)
	# shellcheck disable=SC2046,SC2086
	"$CC" -std=c11 $strict -static $(flags --static --cflags) "$here/consumer.c" \
		$(flags --static --libs) -o "$out/consumer"
	[ -z "$(needed "$out/consumer")" ] || fail "the static consumer needs shared libraries"
	"$out/consumer"
	;;
cxx)
	# shellcheck disable=SC2046,SC2086
	c++ -std=c++17 $strict $(flags --cflags) -x c++ "$here/consumer.c" -x none \
		$(flags --libs) -o "$out/consumer"
	LD_LIBRARY_PATH=$(libdir "$prefix") "$out/consumer"
	;;
cmake)
	"$CMAKE" -S "$here/cmake" -B "$out" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC"
	"$CMAKE" --build "$out"
	"$out/shared"
	"$out/static"
	needed "$out/shared" | grep -q '^libfp\.so\.' || fail "libfp::fp is not the shared library"
	if needed "$out/static" | grep '^libfp'; then
		fail "libfp::fp_static is not the static library"
	fi
	;;
dlopen)
	# shellcheck disable=SC2046,SC2086
	"$CC" -std=c11 $strict $(flags --cflags) "$here/dlopen.c" -ldl -o "$out/consumer"
	if needed "$out/consumer" | grep '^libfp'; then
		fail "the consumer is linked to libfp, so dlopen proves nothing"
	fi
	"$out/consumer" "$(libdir "$prefix")/libfp.so"
	;;
readme)
	# The C block of README.md, exactly as it stands there.
	# shellcheck disable=SC2016 # backquotes of Markdown
	sed -n '/^```c$/,/^```$/ { /^```/ d; p }' "$here/../../README.md" >"$out/readme.c"
	# shellcheck disable=SC2046,SC2086
	"$CC" -std=c11 $strict $(flags --cflags) "$out/readme.c" $(flags --libs) -o "$out/readme"
	LD_LIBRARY_PATH=$(libdir "$prefix") "$out/readme"
	;;
*)
	fail "unknown way $way"
	;;
esac
