#!/usr/bin/env bash
# Tries on a machine with a GPU what docs/devices.md says is not proven, from an
# unpacked bundle (scripts/bundle.sh), where it lies in tests/:
#
#   tests/gpu_check.sh [--device DEVICE] [--torch DIR] [--seconds S] [--out DIR]
#
# --device   that of ferry-server: only, cuda:N, GPU-<uuid> or MIG-<uuid> (only)
# --torch    the folder that holds torch's lib/ (FERRY_TORCH, or python3's)
# --seconds  of each load (3)
# --out      where ferry-gpu-check.json and .txt go (.)
# --bundle   the unpacked bundle, where this is not in it
#
# Runs the tests of device code, also under compute-sanitizer where there is one,
# every call of NVML, and ferry-server and ferry-forward with a short load, on
# the device and then on the CPU, as the control. Each step is bounded in time,
# and one that fails stops no other. What needs a device, or anything else that
# is not there, is skipped and says why.
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
