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

PYGTAIL=0.14.0

readers() {
  unpack "$ARCH" rsyslog syslog-ng-core systemd logrotate logtail
  # The modules must be those of the program.
  tool rsyslogd "-M $(folder_of imudp.so)"
  tool syslog-ng "--module-path $(folder_of libafsocket.so)"
  for name in systemd-journald journalctl logrotate logtail2; do tool $name; done
  sed -i "s|/usr/share/logtail|$X/root&|" "$X/root/usr/sbin/logtail2"
}

folder_of() { find "$X/root" -name "$1" -printf '%h\n' | head -n 1; }

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
