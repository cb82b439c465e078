#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: readme.sh java|perl|tcl SWIG_DIR BUILD_DIR SCRATCH
#
# Follows bindings/swig/README.md to the letter: its commands, its listings, what they
# print. BUILD_DIR has libfp.so; a libfp.pc for it is made here.

set -eu
language=$1
swig_dir=$2
build=$3
scratch=$4

rm -rf "$scratch"
mkdir -p "$scratch"
cp "$swig_dir"/* "$scratch"
cd "$scratch"
cat >libfp.pc <<END
Name: libfp
Description: the build tree
Version: 0
Cflags: -I$swig_dir/../../capi
Libs: -L$build -lfp
END
PKG_CONFIG_PATH=$PWD
LD_LIBRARY_PATH=$build
export PKG_CONFIG_PATH LD_LIBRARY_PATH

# listing WORD: the listing that starts with ```WORD
listing() {
	awk -v start="\`\`\`$1" '$0 == "```" { on = 0 } on { print } $0 == start { on = 1 }' README.md
}

# commands PATTERN: the indented block that has a line like it
commands() {
	awk -v pattern="$1" '
		/^    / { block = block substr($0, 5) "\n"; next }
		{ if (block ~ pattern) printf "%s", block; block = "" }' README.md
}

expect() {
	if [ "$1" != "$2" ]; then
		printf 'expected:\n%s\ngot:\n%s\n' "$1" "$2" >&2
		exit 1
	fi
}

case $language in
java)
	JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
	export JAVA_HOME
	mkdir libfp classes
	commands '^swig -java' >build
	{
		listing java | grep '^import'
		echo 'class Readme { public static void main(String[] args) {'
		listing java | grep -v '^import'
		echo 'System.out.println(got + " " + burst[2]); } }'
	} >Readme.java
	;;
perl)
	mkdir -p auto/Libfp
	commands '^swig -perl' >build
	listing perl >readme.pl
	;;
tcl)
	listing c >libfp_language.i
	commands '^swig -tcl' >build
	listing tcl >readme.tcl
	;;
esac
[ -s build ]
sh -eu build
case $language in
java)
	javac -cp classes -d classes Readme.java
	expect '3 3' "$(java -Djava.library.path=. -cp classes Readme)"
	;;
perl)
	expect '1 2 3' "$(perl -I. readme.pl)"
	;;
tcl)
	wanted=$(commands '^4')
	[ -n "$wanted" ]
	expect "$wanted" "$(tclsh readme.tcl)"
	;;
esac
