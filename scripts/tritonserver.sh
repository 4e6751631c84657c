#!/usr/bin/env bash
# Runs Triton Inference Server with its Python backend, as it was published, to
# compare with.
#
#   scripts/tritonserver.sh --model-repository DIR --grpc-port 8001
#   scripts/tritonserver.sh --fetch    only makes sure that it can be run
#
# On first use puts it into .tools: the server of the nvidia-pytriton wheel, in
# a virtual environment of its own, because its backend takes an older numpy
# than .venv has (240 MB). All arguments go to tritonserver.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
server=nvidia-pytriton==0.7.0
numpy=numpy==1.26.4
home=$root/.tools/tritonserver-0.7.0
python=$(command -v /usr/bin/python3 || command -v python3) ||
  die "no python3; run scripts/setup.sh"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
packages=$home/lib/python$version/site-packages
parts=$packages/pytriton/tritonserver
stub=$parts/backends/python/triton_python_backend_stub

install() {
  say "installing into $home" >&2
  rm -rf "$home"
  "$python" -m venv "$home" >&2 ||
    die "could not make a virtual environment: is python3-venv installed?"
  bash scripts/locked.sh "$server" "$numpy" >"$home/locked.txt" || exit 1
  "$home/bin/python" -m pip install --quiet --disable-pip-version-check \
    --no-input --no-deps --only-binary=:all: --require-hashes \
    -r "$home/locked.txt" >&2 ||
    die "pip could not install $server and $numpy for Python $version: is" \
      "the package index reachable?"
  [ -d "$parts/python_backend_stubs/$version" ] ||
    die "$server has no backend for Python $version"
  # Last, because its presence says that all is there.
  mv "$parts/python_backend_stubs/$version/${stub##*/}" "$stub"
}

[ -x "$stub" ] || install
missing=$(ldd "$parts/bin/tritonserver" "$stub" |
  awk '/not found/ {print $1}' | sort -u)
[ -z "$missing" ] || die "tritonserver needs" $missing "; where it is" \
  "libpython: apt-get install libpython$version"
[ "${1:-}" != --fetch ] || exit 0
# The backend runs the Python that it finds first.
export PATH=$home/bin:$PATH
export LD_LIBRARY_PATH=$packages/nvidia_pytriton.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
exec "$parts/bin/tritonserver" --backend-directory "$parts/backends" "$@"
