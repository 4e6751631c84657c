#!/usr/bin/env bash
# Measures one claim of Ferry on this machine and writes what came out, with
# machine, commit, date, command and every pair, to bench/results/<CLAIM>.json
# and a readable .md beside it. Exits 1 where the claim does not hold.
#
#   scripts/show.sh CLAIM [--pairs N] [--seconds S] [--bin DIR]
#
# A1  batching on against off                 A4  the queue against mutex + swap
# A3  one request: what the server adds
# A5  10 minutes of mixed load, and 60 s under ThreadSanitizer
# A6  a fresh clone on a bare Debian 12: scripts/check_bare.sh
# attacks  what hostile clients cost in memory, and other clients in time; ten
#     minutes a build. --before DIR: the programs of f6e1f6c
# balancers  10,000 requests over three servers by HAProxy, Envoy, nginx and gRPC's own
#     policies, while one ends (scripts/haproxy.sh, envoy.sh, nginx.sh); six minutes
# batch  jobs of ferry-batch that are killed and stopped, and beside online load;
#     half an hour
# B1  every client against a real server, and wrong requests
# B2  what Triton answers to the same wrong requests
# B3  versions that change under load, memory of models that come and go; of a
#     .pt2 too where there is all of torch, as for B5
# B4-codec, B4-config, B4-files, B4-clients, B4-http, B4-http2, B4-regions,
#     B4-scheduler  a fuzz target: executions, bugs, of the codec the coverage too (--runs N;
#     needs llvm-14); half an hour each
# B5  MiniLM as .pt, .pt2 and int8: error, speed, memory; to make the models
#     it needs all of torch: scripts/setup.sh --full, or FERRY_EXPORT_PYTHON
# C1  perf_analyzer: Ferry against an echo with none of its code
# C2  served against called in a loop, with 64, 128 and 256 outstanding
# C3  latency under open-loop load, by policy and max_wait
# C4  overload over gRPC, with timeouts
# chaos  servers that are killed, stopped and drained behind HAProxy and Envoy
#     (scripts/haproxy.sh, scripts/envoy.sh), with a ledger of requests; half an hour
# cluster  the manifests on a Kubernetes of one node (scripts/cluster.sh), with the
#     image of scripts/image.sh: roll-outs, kills, drains, the autoscaler; half an hour
# core  the core before decision 0037 and now, with its counts; half an hour.
#     --before DIR: the programs of that commit, built in a worktree of 3c1aa82
# C5  the bytes moved for a large tensor      profile  instructions by stage
# E1  ferry-bench against the closed form, raw stamps and a stalled server
# E2  ferry-bench and perf_analyzer on the same servers
# E3  a real Triton by the same commands and in the same report (240 MB, once)
# E4  ferry-bench search on a device whose knee is known
# E5  the report of a full sweep, its page and screenshots, and the README's
#     picture, in Chromium; eleven minutes
# E6  half an hour at 70 % load: memory and schedule
# G4  how late a queued request is answered that expires or is cancelled
# diagnose  causes that are provoked on the processor, and what ferryctl finds; six
#     minutes
# emfile  descriptors that idle connections use up: when a server is not ready, and how
#     soon a new client is answered once they have ended; a minute
# fleet  as many servers as ferryctl capacity says, and one fewer, behind HAProxy;
#     eleven minutes
# floods  an honest client beside each flood of frames, plain and over TLS; half an hour
# hang  a batch and threads that hang, the main thread too: when a server is not
#     ready, and when it is gone; nine minutes
# hostile  an honest client beside hostile ones of eight kinds, all at once for five
#     minutes and each alone; twenty minutes
# load  ferry_load_ratio against what arrives, and the busy ratio beside it, under
#     each policy; on a virtual clock and, seven minutes, on servers
# live-page  the live page after some minutes of load, in pictures
# loadgen  MLPerf's own LoadGen beside ferry-bench's scenarios (155 MB, once)
# probe-loads  what a load in a process of its own first costs
# precision  small networks in bf16 against fp32, and times of loads, on the
#     processor; --before DIR: also by the programs there
# same-host  perf_analyzer by shared memory on Triton and Ferry, and on Ferry over a UNIX
#     socket and loopback; ten minutes (scripts/tritonserver.sh)
# scrapes  what ten scrapes of /metrics a second cost
# sends  planned requests a second that ferry-bench itself can send
# shm-attacks  tests/e2e/shared_memory_test.py, on the server and on one that is built
#     for AddressSanitizer; a minute
# shipped  deb, tarball and images: installed, served, upgraded, purged; the image of
#     scripts/image.sh, and that of ferry-batch, in dist/; four minutes
# soak    half an hour at 70 % load over TLS, with cancels, deadlines, reloads,
#     rotations of certificate and tokens, and scrapes: memory, descriptors, threads
# soak-sanitizers  the same on servers built for AddressSanitizer and ThreadSanitizer,
#     at less load, ten minutes each: is one report made?
# trust   what tokens and TLS cost a request (needs valgrind)
# traces  what tracing one request in a hundred costs (needs valgrind)
# grpc-api  completion queues against the callback API
#
# On a simulated device and a virtual clock, the same on every machine:
# C3-instances    adaptive on four instances      C6    priorities and shapes
# C4-virtual  overload with timeouts          phi1  the closed form
# D-pipeline  a device that copies and computes at once: busy at saturation
# channels-last  TorchScript convolutions in both layouts, on the processor
# policies    the policies across loads, bursts, instances, bounds of p99, as
#             tables and as a picture (requirements/show.txt, into .venv)
#
# --bin DIR uses the programs there instead of building; leave the machine alone
# while it measures.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in
  A6) exec bash scripts/check_bare.sh "${@:2}" ;;
  -h | --help)
    sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    grep -qF "    \"${1:-}\": " scripts/show/main.py ||
      die "expected a claim, got '${1:-}'; see --help"
    ;;
esac

case " $* " in
  *" --bin "*) ;;
  " B4-"*) bash scripts/build.sh fuzz ;;
  *)
    bash scripts/build.sh release ferry-server ferry-bench ferryctl ferry-forward \
      grpc-echo answer-benchmark queue-benchmark paused-producer copy-count
    case $1 in
      B1 | B3 | channels-last | same-host)
        bash scripts/build.sh release write_scripts
        ;;
    esac
    if [ "$1" = B1 ]; then
      bash scripts/make_minilm.sh
    fi
    if [ "$1" = shipped ]; then
      bash scripts/build.sh release all
    fi
    if [ "$1" = shm-attacks ]; then
      bash scripts/build.sh asan-server
    fi
    if [ "$1" = soak-sanitizers ]; then
      bash scripts/build.sh asan-server
      bash scripts/build.sh tsan-server
    fi
    if [ "$1" = A5 ]; then
      bash scripts/build.sh tsan batcher_soak
    fi
    ;;
esac
if [ "$1" = E5 ] || [ "$1" = live-page ]; then
  bash scripts/setup.sh --browser
fi
if { [ "$1" = policies ] || [ "$1" = load ] || [ "$1" = E5 ] ||
  [ "$1" = live-page ]; } &&
  ! .venv/bin/python -c 'import matplotlib' 2>/dev/null; then
  step "installing requirements/show.txt" .venv/bin/python -m pip install \
    --disable-pip-version-check --no-deps --require-hashes \
    -r requirements/locked/show.txt
fi
exec .venv/bin/python scripts/show/main.py "$@"
