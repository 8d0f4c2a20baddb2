#!/usr/bin/env bash
# setup.sh: fills $TACH_READERS_HOME with programs that read logs: Debian's rsyslogd, syslog-ng,
# systemd-journald, journalctl, logrotate and logtail2, with their libraries, and PyPI's pygtail.
# `cargo xtask readers` starts it.
#
# A finished step leaves a stamp and is not repeated. Delete the folder to start over.
set -euo pipefail
shopt -s inherit_errexit

: "${TACH_READERS_HOME:?the folder to fill}"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../packages.sh
. "$HERE/../packages.sh" readers "$TACH_READERS_HOME"

PACKAGES="rsyslog syslog-ng-core systemd logrotate logtail"
PYGTAIL=0.14.0

# Prints the packages of the programs and their libraries, except the C library, since the system's
# loader needs the system's own.
packages() {
  # shellcheck disable=SC2086 # The packages are several words.
  APT_CONFIG=$X/apt/$ARCH/apt.conf apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
    --no-breaks --no-replaces --no-enhances $PACKAGES |
    grep -E "^(${PACKAGES// /|}|lib[^:<>]*)\$" | grep -vx libc6 | sort -u
}

readers() {
  local names
  mapfile -t names < <(packages)
  rm -rf "$X/root"
  fetch "$ARCH" "$X/root" "${names[@]}"
  # The modules must be those of the program.
  tool rsyslogd rsyslogd "-M $(folder_of imudp.so)"
  tool syslog-ng syslog-ng "--module-path $(folder_of libafsocket.so)"
  tool systemd-journald systemd-journald
  tool journalctl journalctl
  tool logrotate logrotate
  tool logtail2 logtail2
  sed -i "s|/usr/share/logtail|$X/root&|" "$X/root/usr/sbin/logtail2"
}

folder_of() { find "$X/root" -name "$1" -printf '%h\n' | head -n 1; }

# tool NAME FILE [ARGUMENTS]: an executable in bin/ that starts the unpacked FILE.
tool() {
  local file folders
  # Not its script in etc, which has the same name.
  file=$(find "$X/root" -path "$X/root/etc" -prune -o -type f -name "$2" -perm /111 -print | head -n 1)
  folders=$(find "$X/root" -name 'lib*.so*' -printf '%h\n' | sort -u | paste -sd:)
  [ -n "$file" ] || { echo "no $2 in the packages"; return 1; }
  # A script is run by the system's perl, which has libraries of its own.
  case $2 in
    logtail2) program "$1" <<<"exec \"$file\" \"\$@\"" ;;
    *) program "$1" <<PROGRAM
export LD_LIBRARY_PATH=$folders
exec "$file" ${3-} "\$@"
PROGRAM
  esac
}

pygtail() {
  python3 -m pip install --quiet --no-deps --target "$X/pygtail" "pygtail==$PYGTAIL"
  program pygtail <<<'PYTHONPATH=$X/pygtail exec python3 "$X/pygtail/bin/pygtail" "$@"'
}

for tool in apt-get apt-cache dpkg dpkg-deb flock perl python3; do
  command -v $tool >/dev/null || { say "$tool is not there"; exit 1; }
done
ARCH=$(dpkg --print-architecture)
# One at a time.
exec 9>"$X/lock"; flock 9
need_lists "$ARCH"
step readers readers
step pygtail pygtail
