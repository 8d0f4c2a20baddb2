#!/usr/bin/env bash
# setup.sh: fills $TACH_OTEL_HOME for the tests in otel-tests: the OpenTelemetry Collector and
# Jaeger, built from the Go module proxy with every module pinned, and libfaketime from Debian.
# `cargo xtask otel` starts it. It needs Go 1.25 or newer.
# `setup.sh faketime` fetches libfaketime alone, and does not need Go.
#
# A finished step leaves a stamp and is not repeated. Delete the folder to start over.
set -euo pipefail
shopt -s inherit_errexit

: "${TACH_OTEL_HOME:?the folder to fill}"
JAEGER=github.com/jaegertracing/jaeger@v1.76.0 # The same tree is Jaeger 2.13.0.
JAEGER_SUM='h1:sWCOOF1dr+NL0PLil7mFo3BqqQL8k4WiM7aguFbc14g='

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../packages.sh
. "$HERE/../packages.sh" otel "$TACH_OTEL_HOME"

# The caller's environment must not change these.
export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 GOMODCACHE=$X/go/modules GOCACHE=$X/go/build
without_caches() { chmod -R u+w "$X/go" 2>/dev/null || true; rm -rf "$X/go" "$X/build/jaeger"; }

# build FOLDER PACKAGE NAME: builds a Go program into bin/. If the registry fails, another try
# continues where the last one ended.
build() {
  local try
  for try in 1 2 3; do
    if (cd "$1" && go build -trimpath -ldflags='-s -w' -o "$X/bin/$3.new" "$2"); then
      mv "$X/bin/$3.new" "$X/bin/$3"; return
    fi
    echo "try $try failed"; sleep 5
  done
  return 1
}

collector() { build "$HERE/collector" . otelcol; }

# Not with `go install`, which refuses a module that replaces another. The checksum covers the
# source in the module cache, and the source's go.sum covers the rest.
jaeger() {
  local answer source
  answer=$(go mod download -json "$JAEGER")
  grep -qF "\"Sum\": \"$JAEGER_SUM\"" <<<"$answer" || { echo "the checksum is not the pinned one"; return 1; }
  source=$(sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p' <<<"$answer")
  rm -rf "$X/build/jaeger"; cp -r "$source" "$X/build/jaeger"; chmod -R u+w "$X/build/jaeger"
  build "$X/build/jaeger" ./cmd/jaeger jaeger
}

# The variant for programs with threads, under a name without the architecture.
faketime() {
  fetch "$ARCH" "$X/faketime" libfaketime
  cp "$X"/faketime/usr/lib/*/faketime/libfaketimeMT.so.1 "$X/bin/libfaketime.so"
}

# libfaketime alone, which tests of tach-cli need too.
if [ "${1-}" = faketime ]; then
  ARCH=$(dpkg --print-architecture)
  need_lists "$ARCH"
  step faketime faketime
  exit
fi

for tool in go apt-get dpkg dpkg-deb flock sha256sum; do
  command -v $tool >/dev/null || { say "$tool is not there"; exit 1; }
done
ARCH=$(dpkg --print-architecture)
# One at a time.
exec 9>"$X/lock"; flock 9
trap without_caches EXIT
sources=$(cat "$HERE"/collector/{go.mod,go.sum,main.go} | sha256sum | cut -c1-12)
step "collector-$sources" collector
step "jaeger-${JAEGER##*@}" jaeger
need_lists "$ARCH"
step faketime faketime
