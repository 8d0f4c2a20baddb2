#!/usr/bin/env bash
# setup.sh: fills $TACH_JOURNAL_HOME with Debian's systemd-journal-remote and journalctl, and their
# libraries. `cargo xtask journal` starts it.
#
# A finished step leaves a stamp and is not repeated. Delete the folder to start over.
set -euo pipefail
shopt -s inherit_errexit

: "${TACH_JOURNAL_HOME:?the folder to fill}"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../packages.sh
. "$HERE/../packages.sh" journal "$TACH_JOURNAL_HOME"

journal() {
  unpack "$ARCH" systemd-journal-remote systemd
  for name in journalctl systemd-journal-remote; do tool $name; "$X/bin/$name" --version; done
}

for tool in apt-get apt-cache dpkg dpkg-deb flock; do
  command -v $tool >/dev/null || { say "$tool is not there"; exit 1; }
done
ARCH=$(dpkg --print-architecture)
# One at a time.
exec 9>"$X/lock"; flock 9
need_lists "$ARCH"
step journal journal
