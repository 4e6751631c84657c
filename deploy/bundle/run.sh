#!/bin/sh
# Runs the program of this name, which lies in libexec/ of a bundle
# (scripts/bundle.sh), a package or another installation, with the libraries there
# and this machine's torch:
#
#   bin/ferry-server [--torch DIR] FLAGS..
#
# DIR is the folder that holds torch's lib/, of a wheel or an unpacked LibTorch.
# Without it, FERRY_TORCH, else the torch of python3, which is not imported.
# Without any, models that need LibTorch cannot be served; the others can.
set -eu

self=$(readlink -f "$0")
home=${self%/*/*}
if [ "${1:-}" = --torch ]; then
  [ $# -ge 2 ] || { echo "${0##*/}: --torch needs a folder" >&2; exit 1; }
  FERRY_TORCH=$2
  shift 2
fi
if [ -z "${FERRY_TORCH:-}" ]; then
  # Not from here: Python would take a folder named torch for it.
  FERRY_TORCH=$(cd / && python3 -c 'import importlib.util
found = importlib.util.find_spec("torch")
print(found.submodule_search_locations[0] if found else "")' 2>/dev/null) ||
    FERRY_TORCH=
fi

libraries=$home/lib/ferry:$home/lib
if [ -n "$FERRY_TORCH" ]; then
  if [ ! -e "$FERRY_TORCH/lib/libtorch_cpu.so" ]; then
    echo "${0##*/}: expected lib/libtorch_cpu.so in $FERRY_TORCH, got none" >&2
    exit 1
  fi
  libraries=$libraries:$FERRY_TORCH/lib
  # What a wheel keeps beside torch/.
  for folder in "$FERRY_TORCH"/../nvidia/*/lib; do
    [ ! -d "$folder" ] || libraries=$libraries:$folder
  done
fi
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$home/libexec/${0##*/}" "$@"
