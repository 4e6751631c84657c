#!/usr/bin/env bash
# Builds a CMake preset, with set-up before it; the default is `release`.
#
#   scripts/build.sh [PRESET] [TARGET...]
#
# Leaves build/<preset>/bin/ferry-server and ferry-bench. Uses ccache and mold
# where they are installed; FERRY_JOBS sets the number of compilations at once.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

preset=${1:-release}
[ $# -eq 0 ] || shift
case $preset in
  -h | --help)
    sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
targets=()
for target in "$@"; do
  targets+=(--target "$target")
done

if [ "$preset" = cuda ]; then
  bash scripts/setup.sh --cuda
else
  bash scripts/setup.sh
fi

options=()
if [ "$preset" = cuda ]; then
  # Said each time: what CI chose once would else stay.
  options+=("-DFERRY_CUDA_ARCHS=${FERRY_CUDA_ARCHS:-80;90;100}")
fi
if command -v mold >/dev/null; then
  options+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold
    -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=mold)
fi
step "configuring $preset" cmake --preset "$preset" "${options[@]}" ||
  die "could not configure $preset; the presets: cmake --list-presets"

jobs=$(jobs_that_fit)
say "building $preset, $jobs at once"
started=$SECONDS
# Ninja's own progress, one line a step, shows what takes long.
cmake --build --preset "$preset" --parallel "$jobs" "${targets[@]}" ||
  die "building $preset failed, see above"
say "built build/$preset in $((SECONDS - started)) s"
