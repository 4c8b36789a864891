#!/usr/bin/env bash
# java.sh: find a Java for Spark. Installs Debian's headless JRE if permitted; else says what to install,
# and the tests that need Spark are skipped by name.
set -euo pipefail

has_java() {
  [ -x "${JAVA_HOME:-/nowhere}/bin/java" ] || command -v java >/dev/null
}

has_java && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "java: installing a headless JRE for Spark with apt-get" >&2
  export DEBIAN_FRONTEND=noninteractive
  for package in default-jre-headless openjdk-17-jre-headless; do
    if { apt-get update && apt-get install -y --no-install-recommends "$package"; } >/dev/null 2>&1; then
      has_java && exit 0
    fi
  done
fi
echo "java: no Java found; Spark needs 17 or newer (Debian, Ubuntu: apt-get install default-jre-headless)" >&2
[ "${1:-}" != --required ]
