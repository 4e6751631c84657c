#!/usr/bin/env bash
# Makes an image of Ferry for containers: a Debian 12 that holds the C and C++
# libraries and nothing else, LibTorch as a layer of its own, and the bundle. Or one
# of ferry-batch: that Debian with Python, and the packages that it is tested with.
#
#   scripts/image.sh [--bin DIR] [--torch DIR] [--cuda] [--context] [--out DIR]
#   scripts/image.sh --batch [--context] [--out DIR]
#
# --out     where ferry-<version>-image.tar goes (dist), which `podman load`,
#           `docker load` and `ctr images import` read; the image is ferry:<version>
# --batch   ferry-batch-<version>-image.tar, ferry-batch:<version>
# --bin     what scripts/bundle.sh takes
# --torch   the torch/ folder of a wheel (that of .venv)
# --cuda    takes all of torch and CUDA's libraries, 4 GB (scripts/setup.sh --full),
#           in place of what the processor needs; run on no GPU yet
# --context makes only the folder <out>/image, for another builder, which needs no
#           root: podman build -f deploy/container/Containerfile dist/image
#
# Needs root, mmdebstrap, buildah, and Debian's packages. scripts/check_image.py
# tries what it makes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

out=$root/dist
torch=
cuda=no
kind=ferry
context_only=no
bundle_flags=()
while [ $# -gt 0 ]; do
  case $1 in
    --out | --torch | --bin)
      [ $# -ge 2 ] || die "$1 needs a folder"
      case $1 in
        --out) out=$2 ;;
        --torch) torch=$2 ;;
        --bin) bundle_flags=(--bin "$2") ;;
      esac
      shift
      ;;
    --cuda) cuda=yes ;;
    --batch) kind=ferry-batch ;;
    --context) context_only=yes ;;
    -h | --help)
      sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) die "unknown argument $1; see --help" ;;
  esac
  shift
done
[ -n "$torch" ] || torch=$(echo "$root"/.venv/lib/python3*/site-packages/torch)
[ "$kind" = ferry-batch ] || [ -e "$torch/lib/libtorch_cpu.so" ] ||
  die "no lib/libtorch_cpu.so in '$torch'"
[ "$kind" = ferry ] || [ "$cuda${bundle_flags[*]}" = no ] ||
  die "--batch takes neither --cuda nor --bin: nothing of either is in it"
if [ "$context_only" = no ]; then
  [ "$(id -u)" -eq 0 ] || die "needs root, for an image's files; --context does not"
  for program in mmdebstrap buildah; do
    command -v "$program" >/dev/null || die "$program is not installed;" \
      "apt-get install --no-install-recommends mmdebstrap buildah"
  done
fi

version=$(sed -n 's/^project(Ferry VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
committed=$(git log -1 --format=%ct 2>/dev/null || echo 0)
mkdir -p "$out"
out=$(cd "$out" && pwd)
context=$out/image
rm -rf "$context"

# The bundle, and what the part that runs models needs of the wheel.
add_server() {
  mkdir -p "$context/ferry" "$context/torch"
  bash scripts/bundle.sh --out "$out" "${bundle_flags[@]}"
  tar -xzf "$out/ferry-$version-linux-$(uname -m).tar.gz" -C "$context/ferry" \
    --strip-components=1
  if [ "$cuda" = yes ]; then
    cp -L "$torch"/lib/*.so* "$context/torch/"
    find "$torch/../nvidia" -name '*.so*' -exec cp -L {} "$context/torch/" ';'
    return
  fi
  local needed
  needed=$(LD_LIBRARY_PATH=$context/ferry/lib:$torch/lib \
    ldd "$context/ferry/lib/libferry_torch.so")
  ! grep 'not found' <<<"$needed" || die "libraries are missing, see above"
  awk '$2 == "=>" && $3 ~ /\/(torch|nvidia)\// {print $3}' <<<"$needed" |
    xargs cp -L -t "$context/torch"
}

# Only what ferry-batch imports of what the project has locked, with its hashes.
add_batch() {
  local packages='grpcio|ml-dtypes|numpy|orjson|packaging|protobuf|pyarrow'
  packages+='|python-rapidjson|tqdm|tritonclient|typing-extensions|urllib3'
  mkdir -p "$context/site"
  awk -v wanted="^($packages)==" '/^[^ ]/ { is_wanted = $1 ~ wanted }
    is_wanted' requirements/locked/{python,batch}.txt >"$context/locked.txt"
  step "installing what ferry-batch imports" .venv/bin/python -m pip install \
    --disable-pip-version-check --no-input --no-deps --only-binary=:all: \
    --no-compile --target "$context/site" --require-hashes -r "$context/locked.txt"
  rm -r "$context/locked.txt" "$context/site/bin"
  cp -r deploy/batch/ferry_batch "$context/site/"
  find "$context/site" -name __pycache__ -prune -exec rm -r {} +
}

packages=base-files,libc6,libgcc-s1,libstdc++6
if [ "$kind" = ferry ]; then
  file=deploy/container/Containerfile
  add_server
else
  file=deploy/batch/Containerfile
  packages+=,python3
  add_batch
fi
find "$context" -exec touch -h -d "@$committed" {} +
say "$context: $(du -sm "$context" | cut -f 1) MiB"
[ "$context_only" = no ] || exit 0

work=$(mktemp -d /var/tmp/ferry-image.XXXXXX)
trap 'rm -rf "$work"' EXIT
build=(buildah --root "$work/storage" --runroot "$work/run")
# No package manager, no shell: its packages are unpacked, and no more, without that
# dpkg on which Python's depend.
SOURCE_DATE_EPOCH=$committed make_root "making the root" "$work/root.tar" \
  --variant=extract "--include=$packages" \
  '--extract-hook=rm -f "$1"/usr/bin/dpkg* "$1"/usr/sbin/dpkg*'
container=$("${build[@]}" from scratch)
"${build[@]}" add --quiet "$container" "$work/root.tar" / >/dev/null
"${build[@]}" commit --quiet --timestamp "$committed" "$container" \
  "ferry-root:$version" >/dev/null
step "making the layers" "${build[@]}" bud --isolation chroot --layers \
  --timestamp "$committed" --build-arg "RUNTIME=localhost/ferry-root:$version" \
  --tag "$kind:$version" --file "$file" "$context"
rm -f "$out/$kind-$version-image.tar"
step "writing it" "${build[@]}" push "$kind:$version" \
  "docker-archive:$out/$kind-$version-image.tar:$kind:$version"
rm -rf "$context"
say "$out/$kind-$version-image.tar:" \
  "$(($(stat -c %s "$out/$kind-$version-image.tar") >> 20)) MiB, $kind:$version"
