#!/usr/bin/env bash
# packages.sh NAME FOLDER, sourced by the set-up scripts: steps that run once, and Debian packages
# that are unpacked into a folder. Nothing is installed on the system.
SETUP=$1
mkdir -p "$2"/{stamps,bin,build,log,locks}
X=$(cd "$2" && pwd)

say() { printf '%s: %s\n' "$SETUP" "$*" >&2; }

# The status of a step that succeeded in part: this run goes on, and the next one repeats the step.
NOT_WHOLE=75

# Runs a command once, with its output in a log. Another process that needs the same step waits for
# it.
step() {
  local name=$1 start rc=0; shift
  if [ -e "$X/stamps/$name" ]; then return; fi
  exec 8>"$X/locks/$name"; flock 8
  if [ -e "$X/stamps/$name" ]; then exec 8>&-; return; fi
  start=$SECONDS
  # In a shell of its own outside any condition, because errexit has no effect within one. A daemon
  # that the step starts inherits neither this lock nor the script's own, which is 9.
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

# lists ARCHITECTURE [SUITE]: package lists apart from the system's, so that dpkg needs no foreign
# architecture and a stale index spoils no other. With a suite, the lists hold nothing else.
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
    # From the same archive as the system.
    site=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' | awk '$1 == "Debian" && !n++ {print $2}')
    [ -e "$key" ] || key=
    echo "deb ${key:+[signed-by=$key] }$site $suite main" >"$d/sources.list"
    cat >>"$d/apt.conf.new" <<CONF
Dir::Etc::sourcelist "$d/sources.list";
Dir::Etc::sourceparts "$d/parts";
CONF
  fi
  mv "$d/apt.conf.new" "$d/apt.conf"
  # An incomplete index shows when a package is fetched.
  update "$d/apt.conf" --error-on=any || return $NOT_WHOLE
}

# update CONF OPTION...: updates package lists, for one process at a time.
update() {
  local conf=$1; shift
  APT_CONFIG=$conf flock "$conf.lock" apt-get -qq "$@" update
}

need_lists() { step "apt-$1${2:+-$2}" lists "$@"; }

# config LISTS: prints the path of the settings that make apt use only those lists. If the file is
# missing it fails, because apt would use the system's lists.
config() {
  [ -e "$X/apt/$1/apt.conf" ] || { say "there are no lists $1"; return 1; }
  echo "$X/apt/$1/apt.conf"
}

# version LISTS PACKAGE PREFIX: prints the newest version with this prefix, or nothing.
version() {
  local conf; conf=$(config "$1")
  APT_CONFIG=$conf apt-cache madison "$2" |
    awk -F'|' -v prefix="$3" '{gsub(/ /, "", $2)} index($2, prefix) == 1 {print $2}' | sort -Vu | tail -n 1
}

# fetch LISTS FOLDER PACKAGE[=VERSION]...: unpacks packages, or only their paths in $ONLY.
fetch() {
  local conf to=$2 tmp deb; conf=$(config "$1"); shift 2
  tmp=$(mktemp -d "$X/build/fetch.XXXXXX"); mkdir -p "$to"
  # The archive may have replaced the versions in the lists.
  (cd "$tmp"; export APT_CONFIG=$conf
    apt-get -qq download "$@" || { update "$conf"; apt-get -qq download "$@"; })
  for deb in "$tmp"/*.deb; do
    # shellcheck disable=SC2086 # The paths are several patterns.
    if [ -n "${ONLY-}" ]; then (set -f; dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$to" --wildcards $ONLY)
    else dpkg -x "$deb" "$to"; fi
  done
  rm -rf "$tmp"
}

# program NAME: writes an executable in bin/ from standard input. $X is set in it.
program() {
  local new=$X/bin/$1.$BASHPID
  { printf '#!/usr/bin/env bash\nset -eu\nX=%q\n' "$X"; cat; } >"$new"
  chmod +x "$new"; mv "$new" "$X/bin/$1"
}

## Programs of packages

# unpack LISTS PACKAGE...: unpacks packages with their libraries into root/, except the C library,
# since the system's loader needs the system's own.
unpack() {
  local lists=$1 conf names packages; conf=$(config "$1"); shift; packages=$*
  mapfile -t names < <(
    APT_CONFIG=$conf apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
      --no-breaks --no-replaces --no-enhances "$@" |
      grep -E "^(${packages// /|}|lib[^:<>]*)\$" | grep -vx libc6 | sort -u)
  rm -rf "$X/root"
  fetch "$lists" "$X/root" "${names[@]}"
}

# tool NAME [ARGUMENTS]: an executable in bin/ that starts the unpacked NAME. A script is run by the
# system's perl, which has libraries of its own.
tool() {
  local file folders
  # Not its script in etc, which has the same name.
  file=$(find "$X/root" -path "$X/root/etc" -prune -o -type f -name "$1" -perm /111 -print | head -n 1)
  folders=$(find "$X/root" -name 'lib*.so*' -printf '%h\n' | sort -u | paste -sd:)
  [ -n "$file" ] || { echo "no $1 in the packages"; return 1; }
  if [ "$(head -c 2 "$file")" = '#!' ]; then folders=; fi
  program "$1" <<PROGRAM
${folders:+export LD_LIBRARY_PATH=$folders}
exec "$file" ${2-} "\$@"
PROGRAM
}
