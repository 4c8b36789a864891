#!/usr/bin/env bash
# setup.sh cluster|dev: install the locked packages into .venv, inside the checkout only.
#
# `cluster` has the packages of a node and the command line, `dev` has all. A stamp keyed by the lock, the
# project file and the checkout's path makes the second run a comparison of hashes.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=$1

die() {
  echo "setup: $*" >&2
  exit 1
}

key_of() {
  echo "$PWD $(cat pyproject.toml requirements/build.txt "requirements/$1.txt" | sha256sum)"
}

is_installed() {
  [ "$(cat ".venv/.tidelog-$1" 2>/dev/null)" = "$(key_of "$1")" ] && [ -x .venv/bin/python ]
}

find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  die "needs Python 3.11 or newer as python3 (Debian, Ubuntu: apt-get install python3 python3-venv)"
}

make_venv() {
  local python
  python=$(find_python)
  "$python" -c 'import ensurepip, venv' 2>/dev/null ||
    die "$python cannot make virtual environments (Debian, Ubuntu: apt-get install python3-venv)"
  "$python" -m venv --clear .venv || die "could not make .venv with $python; its message is above"
}

# One whose interpreter is gone, or that was made for another path, is made anew; any other is kept and
# only added to.
is_usable_venv() {
  [ "$(cat .venv/.tidelog-path 2>/dev/null || echo "$PWD")" = "$PWD" ] &&
    .venv/bin/python -m pip --version >/dev/null 2>&1
}

install() {
  .venv/bin/python -m pip --disable-pip-version-check --quiet install "$@" ||
    die "pip could not install (its message is above); with the network back, run the same command again"
}

if is_installed "$profile" || { [ "$profile" = cluster ] && is_installed dev; }; then exit 0; fi
mkdir -p .tools
exec 9>.tools/setup.lock
flock 9
if is_installed "$profile"; then exit 0; fi

is_usable_venv || make_venv
echo "$PWD" >.venv/.tidelog-path
echo "setup: installing requirements/$profile.txt into .venv (the first time takes a while)" >&2
install --require-hashes -r requirements/build.txt
install --require-hashes --no-build-isolation -r "requirements/$profile.txt"
install --no-deps --no-build-isolation -e .
key_of "$profile" >".venv/.tidelog-$profile"
