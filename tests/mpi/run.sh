#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh RANKS WANTED PROGRAM ARGUMENT... - run a test under mpirun
#
# Open MPI's files go to a private folder that is removed afterwards; @DIR@ in an argument is a
# folder inside it.  WANTED is the exit code that mpirun must end with.  Each line of $WANTED_LINE
# must be a line of what the ranks write.
set -u
ranks=$1 wanted=$2
shift 2
dir=$(mktemp -d "${TMPDIR:-/tmp}/eddis-mpi.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT PIPE TERM
chmod 700 "$dir"
mkdir "$dir/data"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated
export OMPI_MCA_orte_tmpdir_base="$dir" OMPI_MCA_btl_vader_backing_directory="$dir"
export ASAN_OPTIONS=exitcode=66:detect_leaks=0 # tests/meson.build says why
n=$#
while [ "$n" -gt 0 ]; do # put the folder's name in place of @DIR@
	arg=$1
	shift
	[ "$arg" = @DIR@ ] && arg=$dir/data
	set -- "$@" "$arg"
	n=$((n - 1))
done
timeout 500 mpirun --oversubscribe --bind-to none -n "$ranks" "$@" >"$dir/out" 2>&1
got=$?
left=$(find "$dir/data" -name '*.part' | head -1)
if [ "$got" -ne "$wanted" ] || [ -n "$left" ]; then
	cat "$dir/out"
	echo "mpirun ended with $got instead of $wanted${left:+, left behind $left}"
	exit 1
fi
IFS='
'
for line in ${WANTED_LINE-}; do
	if ! grep -qxF "$line" "$dir/out"; then
		cat "$dir/out"
		echo "no line is '$line'"
		exit 1
	fi
done
# A finding hides behind another rank's exit code.
if grep -qE '^SUMMARY: |^WARNING: ThreadSanitizer|^==[0-9]+== ' "$dir/out"; then
	cat "$dir/out"
	exit 1
fi
