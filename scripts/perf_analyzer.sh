#!/usr/bin/env bash
# Runs perf_analyzer, the load generator of the Triton project, as it was
# published: no code of ours stands between it and the server.
#
#   scripts/perf_analyzer.sh -m mlp -i grpc -u 127.0.0.1:8001 -a \
#     --concurrency-range 64 -p 2000
#
# On first use puts it into ${FERRY_TOOLS:-~/.cache/ferry-tools}: the program
# of the last tritonclient wheel that runs on Debian 12's C library, and the
# CUDA runtime that it links. All arguments go to perf_analyzer.
set -euo pipefail
client=tritonclient==2.41.1
runtime=nvidia-cuda-runtime-cu12==12.9.79
tools=${FERRY_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/ferry-tools}
home=$tools/perf_analyzer-2.41.1

fail() {
  printf 'perf_analyzer: error: %s\n' "$*" >&2
  exit 1
}

# Unpacks into a new folder and renames it, so that an interrupted run leaves
# nothing that looks complete.
install() {
  local python staging program wheel
  python=$(command -v /usr/bin/python3 || command -v python3) ||
    fail "no python3; run scripts/setup.sh"
  mkdir -p "$tools"
  staging=$(mktemp -d "$tools/.perf_analyzer.XXXXXX")
  trap 'rm -rf "$staging"' EXIT
  echo "perf_analyzer: installing into $home" >&2
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps \
    --only-binary=:all: --dest "$staging" "$client" "$runtime" >&2 ||
    fail "pip could not download $client and $runtime"
  for wheel in "$staging"/*.whl; do
    "$python" -m zipfile -e "$wheel" "$staging"
    rm "$wheel"
  done
  program=$(find "$staging" -path '*/data/bin/perf_analyzer')
  [ -f "$program" ] || fail "$client holds no perf_analyzer"
  chmod +x "$program"
  mkdir "$staging/bin"
  mv "$program" "$staging/bin/perf_analyzer"
  chmod 755 "$staging"
  # Whoever was first wins; both are the same.
  mv -T "$staging" "$home" 2>/dev/null || [ -x "$home/bin/perf_analyzer" ]
  trap - EXIT
  rm -rf "$staging"
}

[ -x "$home/bin/perf_analyzer" ] || install
# Not through `grep -q`: it closes the pipe early, which pipefail takes amiss.
[[ $(ldconfig -p 2>/dev/null || /sbin/ldconfig -p) == *libb64.so.0d* ]] ||
  fail "libb64.so.0d is not installed; run scripts/setup.sh"
LD_LIBRARY_PATH=$home/nvidia/cuda_runtime/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
  exec "$home/bin/perf_analyzer" "$@"
