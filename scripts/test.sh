#!/usr/bin/env bash
# Runs every test that needs no GPU, with all set-up and builds before it.
#
#   scripts/test.sh [CTEST OPTIONS...]      for example: scripts/test.sh -R queue
#
# Builds `release` whole, the batcher under AddressSanitizer with
# UndefinedBehaviorSanitizer and under ThreadSanitizer, and the fuzz targets,
# which run for some seconds. All tests of the four builds run in one ctest,
# whose summary comes last. Tests that need a GPU are listed as skipped. Exits
# non-zero when anything failed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

bash scripts/setup.sh --browser ||
  say "no browser: the test of report pages is skipped"
presets=(release asan tsan fuzz)
for preset in "${presets[@]}"; do
  bash scripts/build.sh "$preset"
done
# Every public header compiles on its own.
step "compiling each header alone" cmake --build build/release \
  --parallel "$(jobs_that_fit)" --target all_verify_interface_header_sets ||
  die "a header does not compile alone, see above"

# The tests of the sentence encoder run on its real weights.
bash scripts/make_minilm.sh

# Two clients of the tests are as published: perf_analyzer, 16 MB, and LoadGen,
# 155 MB with what it imports. grpcurl and OpenTelemetry's collector take minutes
# to build: their tests run where scripts/grpcurl.sh and scripts/collector.sh
# have done so, the first also in scripts/show.sh B1.
for tool in perf_analyzer loadgen; do
  step "$tool" bash "scripts/$tool.sh" --version ||
    say "it is not there: its test is skipped"
done

# What deploy/ is tried with: HAProxy, 3 MB, Prometheus, 19 MB, Envoy, 37 MB,
# Grafana's library, 5 MB, and the schemas of its manifests, 24 MB.
step "haproxy" bash scripts/haproxy.sh -v ||
  say "it is not there: its test is skipped"
step "prometheus" bash scripts/prometheus.sh promtool --version ||
  say "it is not there: its test is skipped"
step "envoy" bash scripts/envoy.sh --version ||
  say "it is not there: its test is skipped"
step "library of dashboards" bash scripts/dashboard.sh --version ||
  say "it is not there: its test is skipped"
step "schemas of Kubernetes" bash scripts/check_manifests.sh --version ||
  say "they are not there: the tests of manifests are skipped"

# One test tree that includes the five.
mkdir -p build/all
for preset in "${presets[@]}"; do
  printf 'subdirs("../%s")\n' "$preset"
done >build/all/CTestTestfile.cmake
# Where device code was built (preset cuda), its tests: those that need a device
# are skipped without one, those on the CUDA without a device need the build of
# these sources.
if [ -e build/cuda/tests/gpu/CTestTestfile.cmake ]; then
  echo 'subdirs("../cuda/tests/gpu")' >>build/all/CTestTestfile.cmake
fi
if [ -e build/cuda/tests/cuda_fake/lib ]; then
  step "building the fake of these sources" cmake --build build/cuda \
    --parallel "$(jobs_that_fit)" --target ferry_cuda_fake ||
    die "the CUDA without a device could not be built, see above"
  echo 'subdirs("../cuda/tests/cuda_fake")' >>build/all/CTestTestfile.cmake
fi

# ThreadSanitizer of GCC 12 cannot start where the kernel randomizes addresses
# by more than 28 bits; without randomization it can.
prefix=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -gt 28 ] &&
  setarch -R true 2>/dev/null; then
  prefix=(setarch -R)
fi

# Suppressions and options that name no code of ours are set here, not in the
# sources: halt at the first report, so that the test fails.
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1"
export UBSAN_OPTIONS="print_stacktrace=1"
export ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1"
"${prefix[@]}" ctest --test-dir build/all --output-on-failure \
  --no-tests=error -j2 "$@"
