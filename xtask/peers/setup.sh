#!/usr/bin/env bash
# setup.sh PACKAGE VERSION PATTERN...: fills $TACH_PEERS_HOME/PACKAGE-VERSION with the files of a
# Debian package. The version is a prefix, and the newest version with it is taken. `cargo xtask
# peers` starts it. The status is 69 if this system has no such package.
#
# A finished step leaves a stamp and is not repeated. Delete the folder to start over.
set -euo pipefail
shopt -s inherit_errexit

: "${TACH_PEERS_HOME:?the folder to fill}"
UNAVAILABLE=69
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for tool in apt-get apt-cache dpkg dpkg-deb flock; do
  command -v $tool >/dev/null || { echo "peers: $tool is not there" >&2; exit $UNAVAILABLE; }
done
# shellcheck source=../packages.sh
. "$HERE/../packages.sh" peers "$TACH_PEERS_HOME"

PACKAGE=$1 PREFIX=$2 NAME=$1-$2; shift 2
PATTERNS=$*
ARCH=$(dpkg --print-architecture)

files() {
  rm -rf "${X:?}/$NAME"
  ONLY=$PATTERNS fetch "$ARCH" "$X/$NAME" "$PACKAGE=$1"
}

if [ -e "$X/stamps/$NAME" ]; then exit; fi
# One at a time.
exec 9>"$X/lock"; flock 9
need_lists "$ARCH"
VERSION=$(version "$ARCH" "$PACKAGE" "$PREFIX")
[ -n "$VERSION" ] || { say "there is no $PACKAGE $PREFIX here"; exit $UNAVAILABLE; }
step "$NAME" files "$VERSION"
