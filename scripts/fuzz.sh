#!/usr/bin/env bash
# Fuzzes one of the targets of tests/fuzz/, with all set-up and builds before.
#
#   scripts/fuzz.sh TARGET [--runs N] [--jobs J] [--keep]
#
# TARGET is codec, config, files, clients, http, http2, regions or scheduler. N
# executions (1,000,000) by J processes (one a core) that share what they find in
# build/fuzz/found/TARGET. A crash leaves its input there; to see it again:
#
#   build/fuzz/bin/codec_fuzzer build/fuzz/found/codec-crash-...
#
# --keep reduces what was found and the kept corpus to the inputs that add
# coverage, and writes them to tests/fuzz/corpus/TARGET.found. Add an input that
# crashed to tests/fuzz/corpus/TARGET/ together with its fix.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in
  codec | config | files | clients | http | http2 | regions | scheduler) ;;
  -h | --help)
    sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    die "expected codec, config, files, clients, http, http2, regions or" \
      "scheduler, got '${1:-}'; see --help"
    ;;
esac
bash scripts/build.sh fuzz "$1_fuzzer"
exec .venv/bin/python scripts/show/fuzzers.py "$@"
