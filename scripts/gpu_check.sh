#!/usr/bin/env bash
# Tries on a machine with a GPU what docs/devices.md says is not proven, and
# measures what models reach on it, from an unpacked bundle (scripts/bundle.sh),
# where it lies in tests/:
#
#   tests/gpu_check.sh [--device DEVICE] [--torch DIR] [--seconds S] [--out DIR]
#     [--only PART,.. | --no-measure | --only-measure] [--no-sanitizer]
#     [--no-control] [--other-torch DIR] [--network NAME[:MS]].. [--batch N,..]
#     [--model-dir DIR].. [--measure-on cpu]
#
# --device   that of ferry-server: only, cuda:N, GPU-<uuid> or MIG-<uuid> (only)
# --torch    the folder that holds torch's lib/ (FERRY_TORCH, or python3's)
# --seconds  of each load (3)
# --out      where ferry-gpu-check.json and .txt go (.)
# --bundle   the unpacked bundle, where this is not in it
#
# Runs what --only names, or all of it in this order. Each step is bounded in
# time, and one that fails stops no other. What needs a device, or anything else
# that is not there, is skipped and says why. The files are written anew after
# each step. With --seconds 3 it takes about so long:
#
# programs     the tests of device code, every call of NVML, and ferry-server and
#              ferry-forward with a short load, on the device and then on the CPU,
#              as the control: 2 minutes
# serving      a server on the device, and then on the CPU, by estimate 3 minutes;
#              or one of it: captures (one that breaks, then another model),
#              random (numbers that are drawn while graphs are recorded), cycles
#              (20 loads and unloads beside one that serves), memory (more than
#              the device has), together (two models at once), package
#              (AOTInductor, compiled here), readers (replies that nobody reads)
# measure      below: 18 minutes, and packages, which come last, by estimate 6
# torches      the encoder with another torch, --other-torch, beside: 2 minutes
# lost-device  a server that loses its device to an index out of range, which
#              processes that share it through MPS feel, too
# memcheck     the tests and a short serve under compute-sanitizer, where there is
#              one: up to 45 minutes
# memcheck-serving  what `serving` is, smaller, under the same, on the device; or
#              one of it, memcheck-cycles: by estimate 2 minutes each, 8 at most
#
# Measured: what a network reaches in process, by batch size, as CUDA graphs and
# eagerly, with the device's idle time between batches and TFLOP/s beside those
# of torch's matrix products; the highest Poisson rate whose p99 keeps a limit,
# through the batcher in process, and over loopback with batching and without; a
# small network, one request at a time; the networks as AOTInductor packages that
# are compiled here, where there is what compiles them. docs/devices.md says what
# each key of the JSON is.
#
# --no-measure    without these, and torches
# --only-measure  nothing but these; with --other-torch also torches
# --no-sanitizer  without compute-sanitizer
# --no-control    without the CPU, where time on a device is short
# --other-torch   the folder torch/ of another version, with what it needs beside
#                 it, for the same python3
# --network       to measure, with the limit of p99 in ms: resnet50:15 and
#                 encoder:130, or mlp; more than once
# --batch         sizes in process (1,2,4,8,16,32,64,128)
# --model-dir     a model's folder, as of an AOTInductor package that was
#                 compiled for cuda, to measure in process; more than once
# --measure-on    cpu measures there, which tries this script
#
# Exit code: 0 all passed; 1 a step failed; 77 none failed, some were skipped; 2
# wrong arguments. Needs python3, of 3.9 or later, and installs nothing.
set -euo pipefail
case ${1:-} in
  -h | --help)
    sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
command -v python3 >/dev/null || {
  echo "gpu_check: expected python3 on PATH, got none" >&2
  exit 1
}
exec python3 -B "$here/gpu_check/main.py" "$@"
