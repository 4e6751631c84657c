#!/usr/bin/env bash
# Runs perf_analyzer, the load generator of the Triton project, as it was
# published: no code of ours stands between it and the server.
#
#   scripts/perf_analyzer.sh -m mlp -i grpc -u 127.0.0.1:8001 -a \
#     --concurrency-range 64 -p 2000
#
# On first use puts it into ${FERRY_TOOLS:-~/.cache/ferry-tools}: the program
# of the last tritonclient wheel that runs on Debian 12's C library, and the
# CUDA runtime that it links, 16 MB. All arguments go to perf_analyzer.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
client=tritonclient==2.41.1
runtime=nvidia-cuda-runtime-cu12==12.9.79
home=$tools/perf_analyzer-2.41.1

fill() {
  local program
  download "$1" "$client" "$runtime"
  program=$(find "$1" -path '*/data/bin/perf_analyzer')
  [ -f "$program" ] || fail "$client holds no perf_analyzer"
  chmod +x "$program"
  mkdir -p "$1/bin"
  cp "$program" "$1/bin/perf_analyzer"  # stays, for a run that is stopped here
}

install_tool "$home" bin/perf_analyzer fill
# Not through `grep -q`: it closes the pipe early, which pipefail takes amiss.
[[ $(ldconfig -p 2>/dev/null || /sbin/ldconfig -p) == *libb64.so.0d* ]] ||
  fail "libb64.so.0d is not installed; run scripts/setup.sh"
LD_LIBRARY_PATH=$home/nvidia/cuda_runtime/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
  exec "$home/bin/perf_analyzer" "$@"
