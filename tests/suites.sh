# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# suites.sh - what run-tests runs tests by, and adds up.  Sourced in the folder of the source.
#
# A test that fails is run once more, alone, when its suite is over.  One that passes then has passed, so
# that a whole run is not lost to luck, and is named, since it is a bug to be mended.

passed=0 failed=0 skipped=0
building='' # the process that builds what is tested later
logs=$(mktemp -d)
kept=build/failed # outputs of what failed, at the first try too
parts='' tree=''  # the folder that keeps what came of each part that has ended, if any, and of what tree
before=0          # seconds that parts took in runs before this one
trap end_all EXIT
# meson ends its tests at Ctrl-C and then exits as after a failure, for which there is no second try
trap 'exit 130' INT

# shellcheck disable=SC2317  # called by the trap
end_all() {
    local job
    for job in $(jobs -p); do
        kill -- "-$job" 2>/dev/null
    done
    wait
    rm -rf "$logs"
}

# behind COMMAND...: run it in the background, in a process group of its own, all of which ends with run-tests; $! is
# its process
behind() {
    set -m
    "$@" &
    set +m
}

# fails TITLE WHAT: count it, and name it in the end
fails() {
    echo "  FAILED: $2"
    echo "failed: $2 ($1)" >>"$logs/end"
    failed=$((failed + 1))
}

# skips TITLE FILE: count its lines, "test case: why".  As root in CI everything can be tried but what
# tests/may-skip lists: another skip is a failure.
skips() {
    local name
    sed 's/^/  skipped: /' "$2" | tee -a "$logs/skipped"
    while IFS=: read -r name _; do
        skipped=$((skipped + 1))
        if [ -n "${CI:-}" ] && [ "$(id -u)" -eq 0 ] && ! grep -qxF "${name/-all / }" tests/may-skip; then
            fails "$1" "'$name' is skipped, and tests/may-skip does not list it"
        fi
    done <"$2"
}

# by_meson FOLDER [meson test options]: run tests into $log and $result; those of $again alone
by_meson() {
    local folder=$1
    shift
    result+=.json
    rm -f "$folder"/meson-logs/testlog*
    [ "${#again[@]}" -eq 0 ] || set -- "$@" --num-processes 1 "${again[@]}"
    meson test -C "$folder" --no-rebuild "$@" >"$log" 2>&1
    grep -q '^Ok:' "$log" && cat "$folder"/meson-logs/testlog*.json >"$result"
}

# by_pytest FOLDER [pytest options]: as by_meson.  Jobs of tests wait more than they compute: one more of
# them than there are cores at a time, where pytest has xdist.
by_pytest() {
    local folder=$1 tests
    shift
    result+=.xml
    tests=("$folder")
    if [ "${#again[@]}" -gt 0 ]; then
        tests=("${again[@]}")
    elif "$python" -c 'import xdist' 2>/dev/null; then
        set -- "$@" -n "$(($(nproc) + 1))" --dist worksteal
    fi
    # Without what Python has compiled, each import of PyTorch takes twice the time.
    env -u PYTHONDONTWRITEBYTECODE "$python" -m pytest -q -p no:cacheprovider --rootdir . --junitxml "$result" \
        -o junit_family=xunit1 -o junit_logging=all -o junit_log_passing_tests=false "$@" "${tests[@]}" >"$log" 2>&1
    # 1: some have failed; beyond that some did not run
    [ $? -le 1 ] && [ -s "$result" ]
}

# tries TITLE RUNNER FOLDER [options]: run a folder's tests, those that fail a second time, and add them up
tries() {
    local title=$1 runner=$2 folder=$3 again=() log=$logs/first result=$logs/first results=() more n
    shift 2
    echo "== $title"
    rm -f "$logs"/first* "$logs"/second* "$logs"/counts "$logs"/skips "$logs"/failed
    if ! "$runner" "$@" || ! tests/results.py again "$result" >"$logs/again" 2>>"$log"; then
        tail -n 80 "$log"
        fails "$title" "no result from the tests of $folder"
        lacking=1
        return
    fi
    results=("$result")
    mapfile -t again <"$logs/again"
    if [ "${#again[@]}" -gt 0 ]; then
        [ -z "$building" ] || wait "$building"
        log=$logs/second result=$logs/second
        if "$runner" "$@" && tests/results.py again "$result" >/dev/null 2>>"$log"; then
            results+=("$result")
        else
            tail -n 80 "$log"
            echo "  no result from the second try of the tests of $folder"
        fi
    fi
    if ! tests/results.py sum "$title" "$logs" "$kept/$(basename "$folder")" "${results[@]}" || ! [ -s "$logs/counts" ]; then
        fails "$title" "what came of the tests of $folder cannot be added up"
        lacking=1
        return
    fi
    read -r more n <"$logs/counts"
    passed=$((passed + more)) failed=$((failed + n))
    skips "$title" "$logs/skips"
    sed "s|\$| ($title)|; s|^|failed: |" "$logs/failed" >>"$logs/end"
    sed "s|\$| ($title)|; s|^|passed at the second try: |" "$logs/second" >>"$logs/end"
}

# took SINCE: print minutes and seconds since $SECONDS was that
took() {
    echo "$(((SECONDS - $1) / 60)) min $(((SECONDS - $1) % 60)) s"
}

# costs TITLE SINCE: print what this part of the run took, and record it
costs() {
    printf '%d\t%s\n' "$((SECONDS - $2))" "$1" >>"$logs/costs"
    echo "  $(took "$2")"
}

# tested_tree: print the commit, and who tests it; 1 where the tree is not exactly that of a commit
tested_tree() {
    local commit changes
    commit=$(git rev-parse --verify HEAD 2>/dev/null) && changes=$(git status --porcelain 2>/dev/null) || return
    [ -z "$changes" ] && echo "$commit, user $(id -u)${CI:+, CI}"
}

# goes_on AGAIN: keep what comes of each part from now on, and take what an earlier run of the same tree has kept, unless
# AGAIN is not empty
goes_on() {
    parts=build/ended-parts
    if tree=$(tested_tree) && [ -z "$1" ] && [ "$(cat "$parts/tree" 2>/dev/null)" = "$tree" ]; then
        echo "going on after a run that stopped; --again begins anew"
    else
        rm -rf "$parts" "$kept"
    fi
}

# begins TITLE: begin a part; 1 if an earlier run has ended it: then add up what came of it
begins() {
    local folder=$parts/${1//[^A-Za-z0-9]/-} name more n skips seconds
    lacking=
    if [ -z "$parts" ] || ! [ -f "$folder/counts" ]; then
        mkdir -p "$logs/begun"
        for name in end times skipped; do
            : >>"$logs/$name"
            cp "$logs/$name" "$logs/begun"
        done
        echo "$passed $failed $skipped" >"$logs/begun/counts"
        return 0
    fi
    read -r more n skips seconds <"$folder/counts"
    passed=$((passed + more)) failed=$((failed + n)) skipped=$((skipped + skips)) before=$((before + seconds))
    echo "== $1"
    echo "  from before: $more passed, $n failed, $skips skipped, in $(took "$((SECONDS - seconds))")"
    cat "$folder/skipped"
    sed 's/^/  /' "$folder/end"
    cat "$folder/end" >>"$logs/end"
    cat "$folder/times" >>"$logs/times"
    return 1
}

# ends TITLE SINCE: end a part, and keep what came of it; of one without a result, or of a changed tree, nothing is kept
ends() {
    local new=$parts/new name n_passed n_failed n_skipped
    costs "$1" "$2"
    if [ -z "$parts" ] || [ -z "$tree" ] || [ -n "$lacking" ] || [ "$(tested_tree)" != "$tree" ]; then
        return
    fi
    rm -rf "$new"
    mkdir -p "$new"
    for name in end times skipped; do
        tail -c "+$(($(stat -c %s "$logs/begun/$name") + 1))" "$logs/$name" >"$new/$name"
    done
    read -r n_passed n_failed n_skipped <"$logs/begun/counts"
    echo "$((passed - n_passed)) $((failed - n_failed)) $((skipped - n_skipped)) $((SECONDS - $2))" >"$new/counts"
    echo "$tree" >"$parts/tree"
    mv "$new" "$parts/${1//[^A-Za-z0-9]/-}"
}

# suite TITLE FOLDER [meson test options]: run the tests of one build
suite() {
    local title=$1 since=$SECONDS
    shift
    begins "$title" || return 0
    tries "$title" by_meson "$@"
    ends "$title" "$since"
}

# step TITLE COMMAND...: run something that passes or fails as a whole; 77 is a skip
step() {
    local since=$SECONDS
    begins "$1" || return 0
    try_step "$@"
    ends "$1" "$since"
}

# need TITLE COMMAND...: run a step that later parts need, also if an earlier run has
need() {
    local since=$SECONDS n=$failed
    try_step "$@"
    [ "$failed" -eq "$n" ] || tree='' # nothing is kept of parts that lack it
    costs "$1" "$since"
}

try_step() {
    local title=$1 log=$logs/step code
    shift
    echo "== $title"
    "$@" >"$log" 2>&1
    code=$?
    [ "$code" -lt 126 ] || lacking=1 # it could not run, or was killed
    case $code in
    0) passed=$((passed + 1)) ;;
    77) echo "${title// /-} all: $(tail -n 1 "$log")" >"$logs/skips"; skips "$title" "$logs/skips" ;;
    *) tail -n 80 "$log"; fails step "$title" ;;
    esac
}

# build_tests NAME FOLDER [options of test-targets] -- [options of meson setup]: configure the folder and build what the
# selected tests need, or all, at the lowest priority.  `built NAME` waits for the end of $building, prints what NAME said
# and returns its code.
build_tests() {
    local name=$1 folder=$2 selection=()
    shift 2
    while [ "$1" != -- ]; do
        selection+=("$1")
        shift
    done
    shift
    (
        renice -n 19 -p "$BASHPID" >/dev/null
        targets=()
        scripts/build "$folder" build.ninja "$@" || exit
        if [ "${#selection[@]}" -gt 0 ]; then
            named=$(scripts/test-targets "$folder" "${selection[@]}") || exit
            mapfile -t targets <<<"$named"
        fi
        scripts/build "$folder" "${targets[@]}"
    ) >"$logs/$name" 2>&1
    echo $? >"$logs/$name.code"
}

built() {
    wait "$building"
    cat "$logs/$1"
    return "$(cat "$logs/$1.code")"
}

# torch_python: the Python that has what tests/python needs: this one, or .venv-torch's
torch_python() {
    local python
    for python in python3 .venv-torch/bin/python; do
        if "$python" -c 'import importlib.util as u, sys
sys.exit(not all(map(u.find_spec, ("numpy", "pytest", "torch"))))' 2>/dev/null; then
            command -v "$python"
            return
        fi
    done
    return 1
}

# python_suite TITLE [pytest options]: tests/python, where PyTorch is
python_suite() {
    local title=$1 since=$SECONDS python
    shift
    if ! python=$(torch_python); then
        echo "== $title"
        echo "python all: no PyTorch for python3, with numpy and pytest; ./run-tests python installs it" >"$logs/skips"
        skips "$title" "$logs/skips"
        return
    fi
    begins "$title" || return 0
    tries "$title" by_pytest tests/python "$@"
    ends "$title" "$since"
}

# the_end: print what everybody is to read, and the counts
the_end() {
    echo "the longest tests:"
    tests/results.py longest "$logs"
    echo
    [ ! -f "$logs/end" ] || tail -n 40 "$logs/end"
    echo "took $(took 0)$([ "$before" -eq 0 ] || echo ", and $(took "$((SECONDS - before))") before")"
    [ -z "$parts" ] || rm -rf "$parts"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

# may_record FORM: check that the run can be recorded: of the gate, whole, on an idle machine, from a fresh clone
may_record() {
    local load
    read -r load _ </proc/loadavg
    if [ "$1" != gate ]; then
        echo "run-tests: --record is about the gate, not about '$1'" >&2
    elif [ -d build ] || [ -d .venv-torch ]; then
        echo "run-tests: --record needs a fresh clone, and there is a folder 'build' or '.venv-torch'; clone and run it there" >&2
    elif [ -z "${CI:-}" ] || [ "$(id -u)" -ne 0 ]; then
        echo "run-tests: --record needs all tests: run it as root with CI=true" >&2
    elif [ "${load%.*}" -ge 1 ]; then
        echo "run-tests: --record needs an idle machine, and the load of this one is $load; wait until it is below 1" >&2
    else
        return 0
    fi
    return 1
}

# record_costs: store what this run took, if all of it passed at the first try.  lint/times may fail: it is about the
# record before.
record_costs() {
    if [ -f "$logs/end" ] && grep -qv '^failed: lint/times ' "$logs/end"; then
        echo "tests/times.json stays as it is: not all tests passed at the first try" >&2
        return 1
    fi
    tests/results.py record "$logs" "$SECONDS" >"$logs/times.json" && cp "$logs/times.json" tests/times.json
}
