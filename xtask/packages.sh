#!/usr/bin/env bash
# packages.sh NAME FOLDER, sourced by the set-up scripts: steps that are done once, and Debian packages
# that are unpacked into a folder, with nothing installed on the system.
SETUP=$1
mkdir -p "$2"/{stamps,bin,build,log,locks}
X=$(cd "$2" && pwd)

say() { printf '%s: %s\n' "$SETUP" "$*" >&2; }

# What a step returns that will do for now.
NOT_WHOLE=75

# Runs a command once; what it says goes to a log. Who needs the same step meanwhile waits for it.
step() {
  local name=$1 start rc=0; shift
  if [ -e "$X/stamps/$name" ]; then return; fi
  exec 8>"$X/locks/$name"; flock 8
  if [ -e "$X/stamps/$name" ]; then exec 8>&-; return; fi
  start=$SECONDS
  # In a shell of its own that nobody tests, since errexit does not hold within a condition. No daemon that it
  # starts gets the lock, nor one that the script has as 9.
  set +e; (set -e; "$@") >"$X/log/$name" 2>&1 8>&- 9>&-; rc=$?; set -e
  if [ $rc = $NOT_WHOLE ]; then
    say "$name is not whole; the next run tries again"; exec 8>&-; return
  fi
  if [ $rc != 0 ]; then
    say "$name failed; the end of $X/log/$name:"; tail -n 15 "$X/log/$name" >&2; exit 1
  fi
  touch "$X/stamps/$name"; exec 8>&-
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
  cat >"$d/apt.conf.new" <<CONF
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
    cat >>"$d/apt.conf.new" <<CONF
Dir::Etc::sourcelist "$d/sources.list";
Dir::Etc::sourceparts "$d/parts";
CONF
  fi
  mv "$d/apt.conf.new" "$d/apt.conf"
  # What an index lacks is found out when a package is fetched.
  update "$d/apt.conf" --error-on=any || return $NOT_WHOLE
}

# update CONF OPTION...: has apt ask what there is, for one process at a time.
update() {
  local conf=$1; shift
  APT_CONFIG=$conf flock "$conf.lock" apt-get -qq "$@" update
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
    apt-get -qq download "$@" || { update "$conf"; apt-get -qq download "$@"; })
  for deb in "$tmp"/*.deb; do
    # shellcheck disable=SC2086 # The paths are several patterns.
    if [ -n "${ONLY-}" ]; then (set -f; dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$to" --wildcards $ONLY)
    else dpkg -x "$deb" "$to"; fi
  done
  rm -rf "$tmp"
}

# An executable in bin/, from standard input; it knows $X.
program() {
  local new=$X/bin/$1.$BASHPID
  { printf '#!/usr/bin/env bash\nset -eu\nX=%q\n' "$X"; cat; } >"$new"
  chmod +x "$new"; mv "$new" "$X/bin/$1"
}
