#!/usr/bin/env bash
# test.sh [--check] [pytest options]: every test but the long ones, in the least time that two processors allow.
#
# First the pure tests on all processors (with --check `make check` beside them), then those of real
# processes on two workers and Spark's beside them, because both wait a lot. What runs beside something
# else writes to a file, which is printed whole when it has ended, so that no two outputs mix.
# Every phase runs; fails when one of them failed, and ends with pytest's own closing line.
set -uo pipefail
cd "$(dirname "$0")/.."
is_checking=0
checked=()
judged=()
if [ "${1:-}" = --check ]; then
  is_checking=1
  # A change is judged by what its tests cost; a user's run only tells (tests/processor_budget.py).
  judged=(--judge-budget)
  # Those that `make check` runs.
  checked=("--ignore-glob=tests/test_tidy*.py" "--ignore-glob=tests/test_proto*.py")
  shift
fi
alone="process or chaos"
# Long ones are part of `make prove`.
failed=0
# Whatever the environment says: each of a thousand Python processes would compile what it imports.
unset PYTHONDONTWRITEBYTECODE
outputs=$(mktemp -d)
declare -A jobs=()
trap 'rm -rf "$outputs"' EXIT
trap 'stop; exit 130' INT TERM

stop() { # Those started here; a group of its own each, so that what they started ends, too.
  local name
  for name in "${!jobs[@]}"; do
    kill -INT -- "-${jobs[$name]}" 2>/dev/null
  done
}

tests() { # tests [pytest options]
  .venv/bin/python -m pytest "${judged[@]}" "$@"
}

# Only files with a mark in their text: importing all test files takes ten seconds and more of a processor.
# `tests/test_phases.py` holds that no test has its mark from elsewhere.
marked() { # marked MARK...: fills `files`
  local IFS='|'
  mapfile -t files < <(grep -rlE --include='test_*.py' "pytest\.mark\.($*)\b" tests | sort)
}

note() { # note STATUS NAME
  [ "$1" = 0 ] && return
  failed=1
  echo "test: the phase '$2' failed; the others run all the same" >&2
}

beside() { # beside NAME COMMAND...: start it; `joined NAME` prints what it wrote
  local name=$1
  shift
  set -m
  "$@" >"$outputs/$name" 2>&1 </dev/null &
  set +m
  jobs[$name]=$!
}

joined() { # joined NAME: wait for it, and print it whole
  wait "${jobs[$1]}"
  local status=$?
  unset "jobs[$1]"
  note "$status" "$1"
  echo "test: the phase '$1':"
  cat "$outputs/$1"
}

[ "$is_checking" = 0 ] || beside check make --no-print-directory check
tests -n auto --dist worksteal "${checked[@]}" -m "not ($alone or spark)" "$@"
note "$?" pure
[ "$is_checking" = 0 ] || joined check

echo "test: real processes, and Spark beside them; each tells when it has ended"
# The files of a worker share a cluster; tests of some files share what only they may disturb.
marked process chaos
beside processes tests -n 2 --dist loadfile -m "($alone) and not (spark or long)" "${files[@]}" "$@"
# A process of its own: PySpark forks to start Java, which gRPC's threads of earlier tests disturb.
marked spark
beside spark tests -n 0 -m "spark and not long" "${files[@]}" "$@"
joined processes
joined spark
exit "$failed"
