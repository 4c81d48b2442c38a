#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# installed.sh - what `meson install` puts into a private prefix works from there, also after the
# prefix was moved: programs, helper programs, library, header, pkg-config file, manuals.
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state

meson setup "$work/build" -Dtests=false --prefix "$work/first" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
meson install -C "$work/build" >"$work/log" 2>&1 || { tail -50 "$work/log"; exit 1; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix

for program in eddis-run eddis-status eddis-train; do
    "$prefix/bin/$program" --version | grep -q '0\.1\.0'
    test -s "$prefix/share/man/man1/$program.1"
done
test -s "$prefix/share/man/man5/eddis-train.yaml.5"
test -s "$prefix/include/eddis.h"
pc=$(find "$prefix" -name eddis.pc)
libdir=$(dirname "$(dirname "$pc")")

# The manual's first example, outside the source tree, by the installed files alone.
cp -r "$source/examples/linear" "$work/linear"
export PKG_CONFIG_PATH=$libdir/pkgconfig
# shellcheck disable=SC2046  # words on purpose
cc -Wall -Werror "$work/linear/linear.c" -o "$work/linear/linear" \
    $(pkg-config --define-variable=prefix="$prefix" --cflags --libs eddis) -Wl,-rpath,"$libdir"
"$work/linear/linear" | grep -q 'rank 0 of 1: y = 3.000 x -1.000'

# The same by what was only built.
PKG_CONFIG_PATH=$work/build/meson-uninstalled
# shellcheck disable=SC2046
cc -Wall -Werror "$work/linear/linear.c" -o "$work/linear/uninstalled" \
    $(pkg-config --cflags --libs eddis) -Wl,-rpath,"$work/build/lib"
"$work/linear/uninstalled" | grep -q 'rank 0 of 1: y = 3.000 x -1.000'
"$prefix/bin/eddis-run" "$work/linear/train.yaml" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
grep -q 'rank 1 of 2: y = 3.000 x -1.000' "$XDG_STATE_HOME"/eddis/jobs/*/logs/rank-0001.log

# The trainer by the name that a train.yaml uses, PATH untouched.
"$prefix/bin/eddis-run" "$source/examples/digits/train.yaml" --timeout 3m >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
"$prefix/bin/eddis-status" --once >/dev/null
echo "installed tree works"
