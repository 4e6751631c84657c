#!/usr/bin/env bash
# Makes a tarball of Ferry that runs without installing anything, on any x86-64
# Linux with glibc 2.36 or later: the programs, the Debian libraries that they
# need, two small models, and what is built with CUDA where it is: the tests of
# device code and what --device opens. Models that run on LibTorch take that of the
# machine, torch 2.11: no torch is in it.
#
#   scripts/bundle.sh [--out DIR] [--bin DIR] [--cuda DIR]
#
# --out  where ferry-<version>-linux-<arch>.tar.gz goes (dist), beside it its bill
#        of materials, .cdx.json, and SHA256SUMS of all bundles there
# --bin  takes the build tree there as it is instead of building (build/release)
# --cuda takes what needs CUDA from the build tree there, none for none of it; else
#        it comes from that of --bin where it is there, or from build/cuda, which
#        is brought up to date but with --bin. Of other sources than the programs
#        it is refused
#
# In it: bin/, what one runs; libexec/, the programs; lib/; models/; export/, which
# makes models of Python modules; tests/, with gpu_check.sh; doc/copyright/, of each
# library; sbom.cdx.json, which has each library's package and version;
# MANIFEST.sha256; BUNDLE.txt, what it is.
# Fails where it would be over 64 MiB. scripts/check_bundle.sh tries it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

programs=(ferry-server ferry-bench ferryctl ferry-forward ferry-inprocess
  ferry-launch ferry-nvml)
max_bytes=$((64 << 20))
out=$root/dist
build=
cuda=
while [ $# -gt 0 ]; do
  case $1 in
    --out | --bin | --cuda)
      [ $# -ge 2 ] || die "$1 needs a folder"
      case $1 in
        --out) out=$2 ;;
        --bin) build=$2 ;;
        --cuda) cuda=$2 ;;
      esac
      shift
      ;;
    -h | --help)
      sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) die "unknown argument $1; see --help" ;;
  esac
  shift
done
if [ -n "$build" ]; then
  build=$(cd "$build" && pwd)
else
  build=$root/build/release
  bash scripts/build.sh release "${programs[@]}" write_scripts
  if [ -z "$cuda" ] && [ -e "$root/build/cuda/lib/libferry_cuda.so" ]; then
    bash scripts/build.sh cuda ferry_cuda ferry_gpu_tests
  fi
fi
if [ -n "$cuda" ] && [ "$cuda" != none ]; then
  cuda=$(cd "$cuda" && pwd)
elif [ -z "$cuda" ]; then
  cuda=$build
  [ -e "$cuda/tests/cuda_kernels_test" ] || cuda=$root/build/cuda
fi
for file in "${programs[@]/#/bin/}" lib/libferry_torch.so tests/write_scripts; do
  [ -e "$build/$file" ] || die "no $file in $build; leave out --bin"
done

# identity FILE: what it was compiled from, models/build_identity.h.
identity() {
  grep -aoE 'ferry-[0-9.]+-torch-[0-9.]+-[0-9a-f]{16}' "$1" | sed -n 1p || true
}

built_from=$(identity "$build/bin/ferry-server")
device_library=$cuda/lib/libferry_cuda.so
if [ -e "$device_library" ]; then
  got=$(identity "$device_library")
  [ -n "$got" ] && [ "$got" = "$built_from" ] ||
    die "$device_library was built from other sources than" \
      "$build/bin/ferry-server: expected ${built_from:-nothing}, got" \
      "${got:-nothing}; build both anew (scripts/build.sh cuda" \
      "ferry_cuda ferry_gpu_tests), or leave it out with --cuda none"
fi

committed=$(git log -1 --format=%ct 2>/dev/null || echo 0)
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
version=$(sed -n 's/^project(Ferry VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=ferry-$version-linux-$(uname -m)
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
bundle=$staging/$name
mkdir -p "$bundle"/{bin,libexec,lib,models,tests,doc/copyright} "$out"

# Prints the files that the loader opens for a program, but for those of glibc,
# which belongs to the machine, and of torch with what lies in its folders.
needed() {
  ldd "$1" | awk -v build="$build/" -v cuda="$cuda/" '$2 == "=>" && $3 ~ /^\// &&
    $3 !~ /\/(torch|nvidia)\// && index($3, build) != 1 && index($3, cuda) != 1 &&
    $3 !~ /\/lib(c|m|dl|rt|pthread|resolv|util)\.so\./ {print $3}'
}

# copy_program FROM TO: without debug information and paths of this machine, and
# with the names of its functions, by which it tells of a crash.
copy_program() {
  cp -L "$1" "$2"
  strip --strip-debug "$2"
  cmake -DFILE="$2" -P cmake/bundle_rpath.cmake
}

# add_program FROM FOLDER: into libexec/, with what starts it in bin/ or tests/.
add_program() {
  local program
  program=$(basename "$1")
  copy_program "$1" "$bundle/libexec/$program"
  install -m 755 deploy/bundle/run.sh "$bundle/$2/$program"
}

for program in "${programs[@]}"; do
  add_program "$build/bin/$program" bin
done
mapfile -t own_libraries < <(find "$build/lib" -name 'libferry_*.so' \
  ! -name 'libferry_test_*' ! -name libferry_cuda.so)
for library in "${own_libraries[@]}"; do
  copy_program "$library" "$bundle/lib/$(basename "$library")"
done
# What needs a device, where it was built; libcudart.so.13 is the machine's.
gpu_tests=()
if [ -e "$cuda/CTestTestfile.cmake" ]; then
  while read -r test; do
    [ ! -x "$cuda/tests/$test" ] || gpu_tests+=("$cuda/tests/$test")
  done < <(ctest --test-dir "$cuda" -N -L '^gpu$' |
    sed -n 's/^ *Test *#[0-9]*: *//p')
fi
for test in "${gpu_tests[@]}"; do
  add_program "$test" tests
done
# What gpu_check.sh measures copies with.
gpu_benchmark=$cuda/bin/copy-in-benchmark
if [ -x "$gpu_benchmark" ]; then
  add_program "$gpu_benchmark" bin
  gpu_tests+=("$gpu_benchmark")
fi
if [ -e "$device_library" ]; then
  copy_program "$device_library" "$bundle/lib/libferry_cuda.so"
  own_libraries+=("$device_library")
fi
install -m 755 deploy/cloud/ferry_notice.py "$bundle/bin/ferry_notice.py"
install -m 755 scripts/gpu_check.sh "$bundle/tests/gpu_check.sh"
install -m 644 -D -t "$bundle/tests/gpu_check" scripts/gpu_check/*.py
install -m 644 -t "$bundle/tests" scripts/replaced_file.py
install -m 644 -D -t "$bundle/export/ferry_export" models/export/ferry_export/*.py
install -m 644 -D -t "$bundle/export/examples" examples/export/*.py

say "libraries"
{
  for program in "${programs[@]/#/$build/bin/}" "${gpu_tests[@]}" \
    "${own_libraries[@]}"; do
    needed "$program"
  done
} | sort -u >"$staging/libraries"
while read -r library; do
  cp -L "$library" "$bundle/lib/$(basename "$library")"
done <"$staging/libraries"
# Where a package comes from, and under which terms.
xargs -n 1 readlink -f <"$staging/libraries" |
  sed 'p; s|^/usr||' | xargs dpkg-query -S 2>/dev/null |
  sed 's/:.*//' | sort -u >"$staging/packages" || true
[ -s "$staging/packages" ] || die "dpkg knows none of the libraries: the" \
  "bundle is made on Debian"
while read -r package; do
  cp -L "/usr/share/doc/$package/copyright" "$bundle/doc/copyright/$package"
done <"$staging/packages"

say "models"
mkdir -p "$bundle"/models/{sim,linear}/1 "$bundle/tests/models/lookup/1" \
  "$staging/scripts"
cp deploy/bundle/sim.pbtxt "$bundle/models/sim/config.pbtxt"
"$build/tests/write_scripts" "$staging/scripts"
cp "$staging/scripts/linear.pt" "$bundle/models/linear/1/model.pt"
# With which gpu_check.sh loses a device.
cp "$staging/scripts/ids.pt" "$bundle/tests/models/lookup/1/model.pt"
# What it asks a server on a device about.
install -m 644 -D -t "$bundle/tests/scripts" \
  "$staging"/scripts/{linear,waits,random,pixels,takes,heavy}.pt

{
  echo "Ferry $version, $(uname -m), of commit $commit"
  echo "Built from $built_from"
  echo
  echo "bin/ferry-server --help; bin/ferry-server --model-repository models"
  echo "Torch 2.11 is found by --torch DIR (first), FERRY_TORCH or python3."
  echo "tests/gpu_check.sh tries it on a GPU, and all that needs one."
  echo "PYTHONPATH=export python3 -m ferry_export --server bin/ferry-server makes"
  echo "a model of a Python module, also compiled for this machine's GPU; --help"
  echo
  echo "Libraries of Debian, in lib/, with their terms in doc/copyright/:"
  xargs dpkg-query -W -f '  ${Package} ${Version}\n' <"$staging/packages"
} >"$bundle/BUNDLE.txt"

say "bill of materials"
libtorch=$(sed -n 's/^LibTorch_CPU_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")
python3 scripts/sbom.py "$bundle" --torch "$(dirname "$libtorch")/.." \
  --version "$version" --commit "$commit" --time "$committed" \
  >"$staging/$name.cdx.json" ||
  die "the bill of materials could not be made, see above"
cp "$staging/$name.cdx.json" "$bundle/sbom.cdx.json"
(cd "$bundle" && find . -type f ! -name MANIFEST.sha256 -print0 | sort -z |
  xargs -0 sha256sum >"$staging/manifest")
mv "$staging/manifest" "$bundle/MANIFEST.sha256"

say "packing"
tar -C "$staging" --sort=name --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner \
  --mtime="@$committed" -cf - "$name" |
  gzip -9n >"$staging/$name.tar.gz"
size=$(stat -c %s "$staging/$name.tar.gz")
[ "$size" -lt "$max_bytes" ] ||
  die "expected less than $max_bytes bytes, got $size"
mv "$staging/$name.tar.gz" "$staging/$name.cdx.json" "$out/"
(cd "$out" && sha256sum ferry-*.tar.gz ferry-*.cdx.json >SHA256SUMS)
say "$out/$name.tar.gz: $((size >> 10)) KiB," \
  "$(wc -l <"$staging/libraries") libraries"
