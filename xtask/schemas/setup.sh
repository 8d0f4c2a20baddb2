#!/usr/bin/env bash
# setup.sh: fills $TACH_SCHEMAS_HOME with the readers of `cargo xtask schemas`: OpenSearch from
# Maven Central, the fields of the Elastic Common Schema from npm, a program with Google's protocol
# buffers from the Go module proxy, and Datadog's client from PyPI. Every file is pinned.
#
# A finished step leaves a stamp and is not repeated. Delete the folder to start over.
set -euo pipefail
shopt -s inherit_errexit

: "${TACH_SCHEMAS_HOME:?the folder to fill}"
ECS=9.4.0
ECS_SUM=ce793a26bdfc28d46cc942acb68ae6357e102adaa7c10635116aab30258883f9d8e9d0b58a64b1ceb751eb1ba58f19d8e891e3fbff4d753891a2155b794100fd

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../packages.sh
. "$HERE/../packages.sh" schemas "$TACH_SCHEMAS_HOME"

# The caller's environment must not change these.
export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 GOMODCACHE=$X/go/modules GOCACHE=$X/go/build
without_caches() { chmod -R u+w "$X/go" 2>/dev/null || true; rm -rf "$X/go" "$X/maven"; }

opensearch() {
  rm -rf "$X/opensearch"
  mvn --batch-mode --quiet -f "$HERE/elastic/pom.xml" -Dmaven.repo.local="$X/maven" \
    dependency:copy-dependencies -DoutputDirectory="$X/opensearch"
  (cd "$X/opensearch"; sha256sum --check --strict --quiet "$HERE/elastic/jars.sha256")
}

index() { javac -cp "$X/opensearch/*" -d "$X/opensearch" "$HERE/elastic/Index.java"; }

ecs() {
  local archive=$X/build/elastic-ecs-$ECS.tgz
  (cd "$X/build"; npm pack --silent "@elastic/ecs@$ECS")
  echo "$ECS_SUM  $archive" | sha512sum --check --strict --quiet
  rm -rf "$X/node_modules"; mkdir -p "$X/node_modules/@elastic"
  tar -xzf "$archive" -C "$X/node_modules/@elastic"
  mv "$X/node_modules/@elastic/package" "$X/node_modules/@elastic/ecs"; rm "$archive"
}

# If the registry fails, another try continues where the last one ended.
google() {
  local try
  for try in 1 2 3; do
    if (cd "$HERE/google" && go build -trimpath -ldflags='-s -w' -o "$X/bin/google.new" .); then
      mv "$X/bin/google.new" "$X/bin/google"; return
    fi
    echo "try $try failed"; sleep 5
  done
  return 1
}

datadog() {
  rm -rf "$X/datadog"
  python3 -m pip install --quiet --no-deps --require-hashes --only-binary :all: --no-compile \
    --target "$X/datadog" -r "$HERE/datadog/requirements.txt"
}

for tool in go java javac mvn node npm python3 flock sha256sum sha512sum; do
  command -v $tool >/dev/null || { say "$tool is not there"; exit 1; }
done
# One at a time.
exec 9>"$X/lock"; flock 9
trap without_caches EXIT
sum() { cat "$@" | sha256sum | cut -c1-12; }
opensearch=$(sum "$HERE"/elastic/{pom.xml,jars.sha256})
step "opensearch-$opensearch" opensearch
step "index-$opensearch-$(sum "$HERE/elastic/Index.java")" index
step "ecs-$ECS" ecs
step "google-$(sum "$HERE"/google/{go.mod,go.sum,main.go})" google
step "datadog-$(sum "$HERE/datadog/requirements.txt")" datadog
