#!/usr/bin/env bash
# packages.sh NAME FOLDER, sourced by the set-up scripts: steps that are done once, and Debian packages
# that are unpacked into a folder, with nothing installed on the system.
SETUP=$1
mkdir -p "$2"/{stamps,bin,build,log}
X=$(cd "$2" && pwd)

say() { printf '%s: %s\n' "$SETUP" "$*" >&2; }

# What a step returns that will do for now.
NOT_WHOLE=75

# Runs a command once; what it says goes to a log.
step() {
  local name=$1 start=$SECONDS rc=0; shift
  if [ -e "$X/stamps/$name" ]; then return; fi
  # In a shell of its own that nobody tests, since errexit does not hold within a condition.
  set +e; (set -e; "$@") >"$X/log/$name" 2>&1 9>&-; rc=$?; set -e
  if [ $rc = $NOT_WHOLE ]; then say "$name is not whole; the next run tries again"; return; fi
  if [ $rc != 0 ]; then
    say "$name failed; the end of $X/log/$name:"; tail -n 15 "$X/log/$name" >&2; exit 1
  fi
  touch "$X/stamps/$name"
  say "$name: done in $((SECONDS - start)) s"
}

## Packages

# Package lists of one architecture, apart from the system's: dpkg learns of no foreign architecture,
# and an index that is out of step spoils no other. A second argument names another suite, which then
# is the only one.
lists() {
  local arch=$1 suite=${2-} d=$X/apt/$1${2:+-$2} key=/usr/share/keyrings/debian-archive-keyring.gpg site
  mkdir -p "$d"/{lists/partial,cache/archives/partial,state,parts}
  : >"$d/state/status"
  cat >"$d/apt.conf" <<CONF
Dir::State "$d/state";
Dir::State::Lists "$d/lists";
Dir::State::status "$d/state/status";
Dir::Cache "$d/cache";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
  if [ -n "$suite" ]; then
    # From where the system itself has its packages.
    site=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' | awk '$1 == "Debian" && !n++ {print $2}')
    [ -e "$key" ] || key=
    echo "deb ${key:+[signed-by=$key] }$site $suite main" >"$d/sources.list"
    cat >>"$d/apt.conf" <<CONF
Dir::Etc::sourcelist "$d/sources.list";
Dir::Etc::sourceparts "$d/parts";
CONF
  fi
  # What an index lacks is found out when a package is fetched.
  APT_CONFIG=$d/apt.conf apt-get -qq --error-on=any update || return $NOT_WHOLE
}

need_lists() { step "apt-$1${2:+-$2}" lists "$@"; }

# config LISTS: the settings by which apt knows those lists alone. Without the file it would go by the system's.
config() {
  [ -e "$X/apt/$1/apt.conf" ] || { say "there are no lists $1"; return 1; }
  echo "$X/apt/$1/apt.conf"
}

# version LISTS PACKAGE PREFIX: the newest that begins so; nothing without one.
version() {
  local conf; conf=$(config "$1")
  APT_CONFIG=$conf apt-cache madison "$2" |
    awk -F'|' -v prefix="$3" '{gsub(/ /, "", $2)} index($2, prefix) == 1 {print $2}' | sort -Vu | tail -n 1
}

# fetch LISTS FOLDER PACKAGE[=VERSION]...: unpacks packages, or only the paths in $ONLY.
fetch() {
  local conf to=$2 tmp deb; conf=$(config "$1"); shift 2
  tmp=$(mktemp -d "$X/build/fetch.XXXXXX"); mkdir -p "$to"
  # The lists may be older than what the archive still has.
  (cd "$tmp"; export APT_CONFIG=$conf
    apt-get -qq download "$@" || { apt-get -qq update; apt-get -qq download "$@"; })
  for deb in "$tmp"/*.deb; do
    # shellcheck disable=SC2086 # The paths are several patterns.
    if [ -n "${ONLY-}" ]; then (set -f; dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$to" --wildcards $ONLY)
    else dpkg -x "$deb" "$to"; fi
  done
  rm -rf "$tmp"
}

# An executable in bin/, from standard input; it knows $X.
program() {
  { printf '#!/usr/bin/env bash\nset -eu\nX=%q\n' "$X"; cat; } >"$X/bin/$1.new"
  chmod +x "$X/bin/$1.new"; mv "$X/bin/$1.new" "$X/bin/$1"
}
