#!/usr/bin/env bash
# Installs everything that building and testing Ferry needs on Debian 12, and says
# which of Debian's packages have other versions than those last tested with.
#
#   scripts/setup.sh                  keep the choice made before; lean at first
#   scripts/setup.sh --lean           LibTorch for the processor (about 600 MB)
#   scripts/setup.sh --full           all of torch, with CUDA (4 GB)
#   scripts/setup.sh --cuda           besides: the CUDA compiler (100 MB)
#   scripts/setup.sh --libtorch DIR   an unpacked LibTorch; no torch wheel
#   scripts/setup.sh --browser        also Chromium, in which the tests look at
#                                     report pages (125 MB)
#   scripts/setup.sh --no-apt         what requirements/apt.txt lists is
#                                     installed by other means
#
# Needs root or sudo only for packages that are missing. Safe to repeat: what is
# there is left alone, which takes a second. Writes to .venv and .tools only.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
}

mode=$(cat .tools/setup-mode 2>/dev/null || echo lean)
libtorch=
apt=yes
cuda=$(cat .tools/setup-cuda 2>/dev/null || echo no)
lists=(requirements/apt.txt)
while [ $# -gt 0 ]; do
  case $1 in
    --lean | --full) mode=${1#--} ;;
    --libtorch)
      [ $# -ge 2 ] || die "--libtorch needs a folder"
      mode=libtorch libtorch=$2
      shift
      ;;
    --cuda) cuda=yes ;;
    --browser) lists+=(requirements/apt-browser.txt) ;;
    --no-apt) apt=no ;;
    -h | --help) usage && exit 0 ;;
    *) die "unknown argument $1; see --help" ;;
  esac
  shift
done

# Prints the entries of lists without comments and blank lines.
entries() { sed 's/#.*//; /^[[:space:]]*$/d' "$@"; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

missing_packages() {
  local package
  for package in $(entries "${lists[@]}"); do
    [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" = \
      "install ok installed" ] || echo "$package"
  done
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}

install_packages() {
  local missing
  command -v dpkg-query >/dev/null || die "this is not Debian; install what" \
    "${lists[*]} name, then give --no-apt"
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! grep -q '^VERSION_ID="12"' /etc/os-release; then
    say "note: made for Debian 12, this is $(. /etc/os-release &&
      echo "$PRETTY_NAME")"
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "not root and no sudo; as root run:" \
      "apt-get install ${missing[*]}"
    sudo -v || die "sudo refused; as root run: apt-get install ${missing[*]}"
  fi
  step "reading the package lists" apt_get update ||
    die "apt-get update failed: are the network and the mirrors in" \
      "/etc/apt reachable?"
  step "installing ${#missing[@]} packages and what they need" \
    apt_get install --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install: ${missing[*]}"
}

# A difference, a security update for one, is said and stops nothing.
compare_versions() {
  python3 scripts/debian_versions.py | sed "s/^/$script: note: /" || true
}

make_venv() {
  local python=/usr/bin/python3
  # A pip that can install, not half a one.
  if .venv/bin/python -m pip install --quiet --no-index pip >/dev/null 2>&1; then
    return
  fi
  [ -x "$python" ] || python=$(command -v python3) ||
    die "no python3; it is in requirements/apt.txt"
  rm -rf .venv
  step "making .venv with $("$python" --version)" "$python" -m venv .venv ||
    die "could not make .venv with $python: is python3-venv installed?"
}

pip_install() {
  local label=$1
  shift
  step "$label" .venv/bin/python -m pip install --disable-pip-version-check \
    --no-input --progress-bar off --retries 5 --no-deps --require-hashes "$@" ||
    die "pip could not install: are the network and the package index" \
      "reachable, is there room on the disk, and has each file a hash that" \
      "requirements/locked has (scripts/lock.sh)?"
}

use_libtorch() {
  if [ -n "$libtorch" ]; then
    [ -e "$libtorch/lib/libtorch_cpu.so" ] || die "no lib/libtorch_cpu.so in" \
      "$libtorch; expected an unpacked LibTorch"
    ln -sfn "$(cd "$libtorch" && pwd)" .tools/libtorch
  fi
  [ -e .tools/libtorch/lib/libtorch_cpu.so ] ||
    die "the LibTorch at $(readlink .tools/libtorch) is gone; give" \
      "--libtorch DIR or --lean"
}

# Fails unless what was installed can be loaded.
check_venv() {
  .venv/bin/python - "$mode" <<'PYTHON'
import ctypes, glob, sys, sysconfig
import numpy, orjson, pyarrow, tokenizers, tqdm, tritonclient.grpc
site = sysconfig.get_paths()["purelib"]
if sys.argv[1] == "full":
    import torch
elif sys.argv[1] == "lean":
    ctypes.CDLL(glob.glob(site + "/torch/lib/libtorch_cpu.so")[0])
PYTHON
}

install_python() {
  local stamp
  stamp=$(cat requirements/locked/*.txt "${BASH_SOURCE[0]}" | sha256sum)
  stamp="$mode cuda=$cuda ${stamp%% *}"
  if [ "$(cat .venv/ferry-setup 2>/dev/null)" = "$stamp" ]; then
    return
  fi
  make_venv
  rm -f .venv/ferry-setup
  pip_install "installing the Python client, tokenizer, and what reads Parquet" \
    -r requirements/locked/python.txt -r requirements/locked/batch.txt
  case $mode in
    lean)
      pip_install "installing LibTorch (about 600 MB)" \
        -r requirements/locked/torch.txt
      ;;
    full)
      pip_install "installing all of torch and CUDA (about 4 GB)" \
        -r requirements/locked/full.txt -r requirements/locked/export.txt
      ;;
  esac
  if [ "$cuda" = yes ]; then
    pip_install "installing the CUDA compiler (about 100 MB)" \
      -r requirements/locked/cuda.txt
  fi
  step "checking that it loads" check_venv ||
    die "what pip installed does not load; remove .venv and try again"
  echo "$stamp" >.venv/ferry-setup
}

# Says what all of torch takes, before anything of it is fetched.
announce_full() {
  local needed_gb=10 free_gb
  free_gb=$(df --output=avail -BG . | tail -n 1 | tr -dc 0-9)
  say "all of torch with CUDA: 4 GB to fetch, 5 GB on the disk, where" \
    "$free_gb GB are free; to export on a machine without a GPU 200 MB do:" \
    "docs/export.md"
  [ "$free_gb" -ge "$needed_gb" ] ||
    die "expected $needed_gb GB of room for what is fetched and unpacked," \
      "found $free_gb GB"
}

mkdir -p .tools
if [ "$mode" = full ] && ! grep -qs '^full' .venv/ferry-setup; then
  announce_full
fi
if [ "$apt" = yes ]; then
  install_packages
  compare_versions
fi
if [ "$mode" = libtorch ]; then
  use_libtorch
else
  rm -f .tools/libtorch
fi
install_python
echo "$mode" >.tools/setup-mode
echo "$cuda" >.tools/setup-cuda
say "ready ($mode)"
