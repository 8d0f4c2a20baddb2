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

# Prints the packages of both programs and their libraries, except the C library, since the system's
# loader needs the system's own.
packages() {
  APT_CONFIG=$X/apt/$ARCH/apt.conf apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
    --no-breaks --no-replaces --no-enhances systemd-journal-remote systemd |
    grep -E '^(systemd|systemd-journal-remote|lib[^:<>]*)$' | grep -vx libc6 | sort -u
}

journal() {
  local names
  mapfile -t names < <(packages)
  rm -rf "$X/root"
  fetch "$ARCH" "$X/root" "${names[@]}"
  tool journalctl journalctl
  tool systemd-journal-remote systemd-journal-remote
}

# tool NAME FILE: an executable in bin/ that starts the unpacked FILE.
tool() {
  local file folders
  file=$(find "$X/root" -type f -name "$2" -perm /111 | head -n 1)
  folders=$(find "$X/root" -name 'lib*.so*' -printf '%h\n' | sort -u | paste -sd:)
  [ -n "$file" ] || { echo "no $2 in the packages"; return 1; }
  program "$1" <<PROGRAM
export LD_LIBRARY_PATH=$folders
exec "$file" "\$@"
PROGRAM
  "$X/bin/$1" --version
}

for tool in apt-get apt-cache dpkg dpkg-deb flock; do
  command -v $tool >/dev/null || { say "$tool is not there"; exit 1; }
done
ARCH=$(dpkg --print-architecture)
# One at a time.
exec 9>"$X/lock"; flock 9
need_lists "$ARCH"
step journal journal
