"""Runs the measurement of one claim; see scripts/show.sh."""

import argparse
import functools
import shlex
import sys

import answering
import attacking
import batching
import breaking
import by_loadgen
import clients
import clustering
import copying
import core
import diagnosing
import enduring
import exhausting
import exporting
import flooding
import fuzzing
import grpc_api
import hanging
import instrument
import lasting
import latency
import layouts
import living
import load_signal
import loads
import long_run
import measuring
import offline
import overloading
import pipelining
import precision
import probing
import profiling
import queueing
import real_triton
import reloading
import reporting
import same_host
import scraping
import scheduling
import searching
import sending
import serving
import sharing
import shipping
import sizing
import soaking
import spreading
import tracing
import trusting
import triton_answers
import two_clients
import wire

CLAIMS = {  # scripts/show.sh looks here, a line each
    "A1": batching.measure,
    "A3": latency.measure,
    "A4": queueing.measure,
    "A5": soaking.measure,
    "attacks": attacking.measure,
    "balancers": spreading.measure,
    "batch": offline.measure,
    "B1": clients.measure,
    "B2": triton_answers.measure,
    "B3": reloading.measure,
    "B4-codec": functools.partial(fuzzing.measure, "codec"),
    "B4-config": functools.partial(fuzzing.measure, "config"),
    "B4-files": functools.partial(fuzzing.measure, "files"),
    "B4-clients": functools.partial(fuzzing.measure, "clients"),
    "B4-http": functools.partial(fuzzing.measure, "http"),
    "B4-http2": functools.partial(fuzzing.measure, "http2"),
    "B4-regions": functools.partial(fuzzing.measure, "regions"),
    "B4-scheduler": functools.partial(fuzzing.measure, "scheduler"),
    "B5": exporting.measure,
    "C1": wire.measure,
    "C2": serving.measure,
    "C3": loads.measure,
    "C3-instances": scheduling.instances,
    "C4": overloading.measure,
    "C4-virtual": scheduling.overload,
    "C5": copying.measure,
    "C6": scheduling.priorities,
    "channels-last": layouts.measure,
    "chaos": breaking.measure,
    "cluster": clustering.measure,
    "core": core.measure,
    "D-pipeline": pipelining.measure,
    "E1": instrument.measure,
    "E2": two_clients.measure,
    "E3": real_triton.measure,
    "E4": searching.measure,
    "E5": reporting.measure,
    "E6": long_run.measure,
    "G4": answering.measure,
    "diagnose": diagnosing.measure,
    "emfile": exhausting.measure,
    "fleet": sizing.measure,
    "floods": flooding.measure,
    "hang": hanging.measure,
    "hostile": enduring.measure,
    "load": load_signal.measure,
    "live-page": living.measure,
    "loadgen": by_loadgen.measure,
    "same-host": same_host.measure,
    "scrapes": scraping.measure,
    "traces": tracing.measure,
    "soak": lasting.measure,
    "soak-sanitizers": lasting.sanitizers,
    "trust": trusting.measure,
    "sends": sending.measure,
    "shipped": shipping.measure,
    "shm-attacks": sharing.measure,
    "phi1": scheduling.closed_form,
    "policies": scheduling.policies,
    "precision": precision.measure,
    "probe-loads": probing.measure,
    "profile": profiling.measure,
    "grpc-api": grpc_api.measure,
}


def parse():
    parser = argparse.ArgumentParser(prog="scripts/show.sh")
    parser.add_argument("claim", choices=sorted(CLAIMS))
    parser.add_argument("--pairs", type=int, default=5,
                        help="alternating pairs; a claim wants 5 or more")
    parser.add_argument("--seconds", type=float, default=None,
                        help="of each run, instead of the claim's own")
    parser.add_argument("--runs", type=int, default=None,
                        help="executions of a fuzz target (B4-...), tries (emfile)")
    parser.add_argument("--bin", default=measuring.ROOT / "build/release/bin",
                        help="folder of the built programs")
    parser.add_argument("--before", default=None,
                        help="folder of the programs of another commit "
                        "(attacks, core, precision)")
    parser.add_argument("--tsan-bin",
                        default=measuring.ROOT / "build/tsan/bin",
                        help="folder of the programs built for TSan")
    options = parser.parse_args()
    options.command = shlex.join(["scripts/show.sh", *sys.argv[1:]])
    options.programs = measuring.Programs(options.bin)
    return options


def main():
    options = parse()
    try:
        result, page = CLAIMS[options.claim](options)
    except measuring.Failure as failure:
        print(f"show: error: {failure}", file=sys.stderr)
        return 1
    measuring.write(result, page)
    return 1 if result["passed"] is False else 0


if __name__ == "__main__":
    sys.exit(main())
