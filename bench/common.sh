# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# common.sh - the shared part of bench's shell commands.  A command is
#
#     . "$(dirname "$0")/common.sh"
#     bench_run plan "$@"
#
# which builds the project in $EDDIS_BUILD, ./build of the project by default, and becomes
# <build>/bench/bench-plan.  Only the measurement itself writes to standard output.

bench_root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
bench_build=${EDDIS_BUILD:-$bench_root/build}

bench_run() {
    bench_name=$1
    shift
    "$bench_root/scripts/build" "$bench_build" >&2 || exit 1
    exec "$bench_build/bench/bench-$bench_name" "$@"
}
