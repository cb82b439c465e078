#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: pkg.sh install BUILD_DIR PREFIX   install the build to PREFIX
#        pkg.sh move PREFIX COPY           copy the prefix elsewhere, to test that it moves
#        pkg.sh WAY PREFIX                 build and run a consumer in one WAY
#
# Works in the current directory. CC and CMAKE name the tools. What else the machine has
# of libfp, and the caller's settings, are kept out.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
strict="-Wall -Wextra -pedantic -Werror"

unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR CPATH LD_LIBRARY_PATH CFLAGS CXXFLAGS LDFLAGS DESTDIR \
	CMAKE_PREFIX_PATH libfp_ROOT libfp_DIR

fail() {
	echo "pkg: $*" >&2
	exit 1
}

# The installed libraries' directory, whatever the system calls it.
libdir() {
	dirname "$(find "$1" -name libfp.so)"
}

# Quoted for the shell: to be given to eval.
flags() {
	PKG_CONFIG_LIBDIR=$(libdir "$prefix")/pkgconfig pkg-config "$@" libfp
}

# exists CONDITION, for example ">= 0.9"
exists() {
	PKG_CONFIG_LIBDIR=$(libdir "$prefix")/pkgconfig pkg-config --exists "libfp $1"
}

# Another libfp, which no compiler accepts, in front of all that the system has: flags
# that do not lead to the prefix find this one.
other_libfp() {
	mkdir -p "$1"
	echo '#error "this is not the installed libfp"' >"$1/libfp.h"
	echo 'this is not the installed libfp' | tee "$1/libfp.so" >"$1/libfp.a"
	export C_INCLUDE_PATH="$1" CPLUS_INCLUDE_PATH="$1" LIBRARY_PATH="$1"
}

# find_package WANTED: configures a project that wants this version of libfp.
find_package() {
	mkdir -p "$out/project"
	cat >"$out/project/CMakeLists.txt" <<-EOF
		cmake_minimum_required(VERSION 3.25)
		project(consumer LANGUAGES C)
		find_package(libfp $1 REQUIRED CONFIG)
		message(STATUS "found \${libfp_CONFIG}")
	EOF
	run_cmake -S "$out/project" -B "$out/build" -U libfp_DIR
}

run_cmake() {
	"$CMAKE" "$@" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" \
		-DCMAKE_PROJECT_INCLUDE="$here/cmake/prefix_only.cmake"
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
other_libfp "$out/other"

case $way in
library)
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
	eval '"$CC"' -std=c11 "$strict" "$(flags --cflags)" '"$here/consumer.c"' \
		"$(flags --libs)" -o '"$out/consumer"'
	needed "$out/consumer" | grep -q '^libfp\.so\.' || fail "the consumer is not linked to libfp.so"
	LD_LIBRARY_PATH=$(libdir "$prefix") "$out/consumer"
	;;
static)
	eval '"$CC"' -std=c11 "$strict" -static "$(flags --static --cflags)" '"$here/consumer.c"' \
		"$(flags --static --libs)" -o '"$out/consumer"'
	[ -z "$(needed "$out/consumer")" ] || fail "the static consumer needs shared libraries"
	"$out/consumer"
	# This library alone.
	eval '"$CC"' -std=c11 "$strict" "$(flags --static --cflags)" '"$here/consumer.c"' \
		"$(flags --static --libs | sed 's/ -lfp / -l:libfp.a /')" -o '"$out/consumer_libfp_a"'
	if needed "$out/consumer_libfp_a" | grep '^libfp'; then
		fail "the consumer of libfp.a needs the shared library"
	fi
	"$out/consumer_libfp_a"
	;;
cxx)
	eval c++ -std=c++17 "$strict" "$(flags --cflags)" -x c++ '"$here/consumer.c"' -x none \
		"$(flags --libs)" -o '"$out/consumer"'
	LD_LIBRARY_PATH=$(libdir "$prefix") "$out/consumer"
	;;
cmake)
	run_cmake -S "$here/cmake" -B "$out"
	"$CMAKE" --build "$out"
	"$out/shared"
	"$out/static"
	needed "$out/shared" | grep -q '^libfp\.so\.' || fail "libfp::fp is not the shared library"
	if needed "$out/static" | grep '^libfp'; then
		fail "libfp::fp_static is not the static library"
	fi
	;;
version)
	version=$(flags --modversion)
	major=${version%%.*}
	number=${version#*.}
	number=${number%.*}
	minor=$major.$number
	config=$(libdir "$prefix")/cmake/libfp/libfpConfig.cmake
	# pkg-config compares numbers: that a minor is another ABI it cannot know, so users
	# ask for both ends.
	for wanted in ">= $minor" "= $version" ">= $major.$((number - 1))" "< $major.$((number + 1))" \
		">= $minor libfp < $major.$((number + 1))"; do
		exists "$wanted" || fail "pkg-config: $version is not $wanted"
	done
	for refused in ">= $((major + 1)).0" ">= $major.$((number + 1))" "< $minor" "> $version"; do
		! exists "$refused" || fail "pkg-config: $version is $refused"
	done
	for wanted in "" "$minor" "$version" "$version EXACT" "$minor...$minor.99"; do
		find_package "$wanted" >"$out/said" 2>&1 ||
			fail "find_package(libfp $wanted) does not take $version: $(cat "$out/said")"
		grep -qF "found $config" "$out/said" || fail "find_package(libfp $wanted) found another"
	done
	for refused in "$((major + 1)).0" "$((major + 1))" "$major.$((number + 1))" \
		"$major.$((number - 1))" "$minor.99" "$minor EXACT"; do
		! find_package "$refused" >"$out/said" 2>&1 || fail "find_package(libfp $refused) takes $version"
		# CMake breaks its lines where it likes.
		tr -s ' \n' ' ' <"$out/said" >"$out/line"
		grep -qF "requested version \"${refused% EXACT}\"" "$out/line" ||
			fail "find_package(libfp $refused) fails otherwise: $(cat "$out/said")"
		grep -qF "$config, version: $version" "$out/line" ||
			fail "find_package(libfp $refused) does not name what it refuses: $(cat "$out/said")"
	done
	;;
dlopen)
	eval '"$CC"' -std=c11 "$strict" "$(flags --cflags)" '"$here/dlopen.c"' -ldl \
		-o '"$out/consumer"'
	if needed "$out/consumer" | grep '^libfp'; then
		fail "the consumer is linked to libfp, so dlopen proves nothing"
	fi
	"$out/consumer" "$(libdir "$prefix")/libfp.so"
	;;
readme)
	# The C block of README.md, exactly as it stands there.
	# shellcheck disable=SC2016 # backquotes of Markdown
	sed -n '/^```c$/,/^```$/ { /^```/ d; p }' "$here/../../README.md" >"$out/readme.c"
	eval '"$CC"' -std=c11 "$strict" "$(flags --cflags)" '"$out/readme.c"' "$(flags --libs)" \
		-o '"$out/readme"'
	LD_LIBRARY_PATH=$(libdir "$prefix") "$out/readme"
	;;
*)
	fail "unknown way $way"
	;;
esac
