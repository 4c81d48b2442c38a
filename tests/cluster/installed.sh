#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# installed.sh - the way to install of docs/install.md works as it stands there: its lines are run by an
# ordinary user in an empty home, down to the trained example; and what they installed works from
# where it is moved to.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
# What was installed is the user's, and a job of that user may be ending still.
trap 'rm -rf "$work"' EXIT
home=$work/home
mkdir -p "$home/eddis"
tar --exclude=./.git --exclude='./build*' --exclude='./.venv*' -cf - . | tar -C "$home/eddis" -xf -

as_user=()
if [ "$(id -u)" -eq 0 ]; then
    chmod 711 "$work"
    chown -R 65534:65534 "$home"
    as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
run() {
    (cd "$home/eddis" && env -i HOME="$home" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 "${as_user[@]}" "$@") >"$work/log" 2>&1 ||
        { tail -60 "$work/log"; exit 1; }
}

# The indented lines between the two sentences, as they are.
awk '/^`.\/run-example` builds in/ {on = 1} /^On several nodes/ {on = 0} on && /^    / {print substr($0, 5)}' docs/install.md >"$work/lines"
[ "$(wc -l <"$work/lines")" -eq 6 ] || { cat "$work/lines"; echo "installed.sh: docs/install.md says something else"; exit 1; }
chmod 644 "$work/lines"
run bash -eux "$work/lines"
grep -q 'rank 1 of 2: y = 3.000 x -1.000' "$home"/.local/state/eddis/jobs/*/logs/rank-0001.log
if grep 'does not load' "$work/log"; then
    echo "installed.sh: mpirun runs without its guard"
    exit 1
fi
if [ -e "$home/eddis/build-release/tests" ] || [ -e "$home/eddis/build-release/bench" ]; then
    echo "installed.sh: tests or measurements were built"
    exit 1
fi

mv "$home/.local" "$work/prefix"
prefix=$work/prefix
for program in eddis-run eddis-sbatch eddis-status eddis-train; do
    "$prefix/bin/$program" --version | grep -q '0\.1\.0'
    test -s "$prefix/share/man/man1/$program.1"
done
test -s "$prefix/share/man/man5/eddis-train.yaml.5"
test -s "$prefix/include/eddis.h"
test -s "$prefix/share/doc/eddis/openapi.yaml"

linear=$home/eddis/examples/linear
rm "$linear/linear"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# shellcheck disable=SC2046  # words on purpose
cc -Wall -Werror "$linear/linear.c" -o "$linear/linear" $(pkg-config --define-variable=prefix="$prefix" --cflags --libs eddis)
"$linear/linear" | grep -q 'rank 0 of 1: y = 3.000 x -1.000'

# The same by what was only built.
PKG_CONFIG_PATH=$home/eddis/build-release/meson-uninstalled
# shellcheck disable=SC2046
cc -Wall -Werror "$linear/linear.c" -o "$linear/uninstalled" $(pkg-config --cflags --libs eddis)
"$linear/uninstalled" | grep -q 'rank 0 of 1: y = 3.000 x -1.000'

# The trainer by the name that a train.yaml uses, PATH untouched.
export XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state
"$prefix/bin/eddis-run" "$home/eddis/examples/digits/train.yaml" --timeout 20m >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
"$prefix/bin/eddis-status" --once >/dev/null
echo "installed tree works"
