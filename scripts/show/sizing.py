"""fleet: as many servers as ferryctl capacity says, behind HAProxy with the file
that is shipped, keep the p99 at the planned peak for five minutes; one fewer do not.

Devices are simulated, so that what one carries is the same all along. What one
carries within the SLO is searched by ferry-bench on one server; ferryctl reads that
result.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import sys
import tempfile

import measuring

sys.path.append(str(measuring.ROOT / "tests/e2e"))
import ferry_process  # noqa: E402  the config of the simulated model

SLO_MS = 150
SERVERS = 3  # as many as the shipped file has
HEADROOM = 0.8
# The peak is so many times what one carries: more than two carry by HEADROOM,
# and less than three.
PEAK_OF_ONE = 2.3
MAX_BATCH, ALPHA_MS, BETA_MS = 8, 20, 2
SECONDS = 300
SEARCH_SECONDS = 20
PROXY_PORT = 18190
WARM_UP_S = 5
HAPROXY = measuring.ROOT / "scripts/haproxy.sh"
CONFIG = measuring.ROOT / "deploy/haproxy/haproxy.cfg"


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def accepts(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def fleet(programs, count):
    """Runs so many servers of a simulated device; gives their number."""
    ferry_process.MODELS["sim"] = ferry_process.sim_config(
        MAX_BATCH, alpha_ms=ALPHA_MS, beta_ms=BETA_MS)
    folder = ferry_process.write_repository(["sim"])
    try:
        with contextlib.ExitStack() as stack:
            for number in range(count):
                stack.enter_context(measuring.server(
                    programs, "--model-repository", folder, model="sim",
                    number=number))
            yield count
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def proxy(count):
    """Runs HAProxy before the first so many servers; the other slices of its file
    are ports that refuse."""
    environment = {"FERRY_LISTEN": f"127.0.0.1:{PROXY_PORT}"}
    for slice_ in range(SERVERS):
        offset = measuring.PORT_STEP * slice_
        is_there = slice_ < count
        grpc_port = measuring.GRPC_PORT + offset if is_there else closed_port()
        environment[f"FERRY_SLICE_{slice_}"] = f"127.0.0.1:{grpc_port}"
        environment[f"FERRY_CHECK_{slice_}"] = str(
            measuring.METRICS_PORT + offset if is_there else closed_port())
    settings = [f"{name}={value}" for name, value in environment.items()]
    with measuring.process(["env", *settings, HAPROXY, "-db", "-f", CONFIG],
                           lambda: accepts(PROXY_PORT)) as child:
        yield child


def load(programs, address, *what):
    """Returns the first run of ferry-bench against that address."""
    result = programs.json_of("ferry-bench", *what, "-u", address, "-m", "sim")
    return result["runs"][0]


def point_at(programs, rate, seconds):
    run = load(programs, f"127.0.0.1:{PROXY_PORT}", "run", "--rates", f"{rate:g}",
               "--duration-secs", f"{seconds:g}", "--warm-up-secs", WARM_UP_S)
    point = run["points"][0]
    return {"rate": rate, "planned": point["planned"], "ok": point["ok"],
            "errors": point["errors"], "void": point["void_reason"],
            "p50_ms": point["latency"]["p50_us"] / 1e3,
            "p99_ms": point["latency"]["p99_us"] / 1e3}


def keeps(point):
    return (not point["void"] and point["p99_ms"] <= SLO_MS and
            point["ok"] >= 0.99 * point["planned"])


def planned(programs, path, peak):
    """Returns ferryctl's answer about that peak."""
    text = measuring.run(
        [programs.path("ferryctl"), "capacity", "--result", path, "--slo-p99-ms",
         f"{SLO_MS:g}", "--peak-rate", f"{peak:g}", "--headroom", f"{HEADROOM:g}",
         "--spares", 0, "--json"])
    numbers = {number["name"]: number["value"]
               for number in json.loads(text)["numbers"]}
    return {name: numbers[name] for name in
            ("lambda_safe", "peak_replicas", "peak_replicas_rounded_twice",
             "replicas")}


def measure(options):
    programs = options.programs
    seconds = options.seconds or SECONDS
    result = measuring.describe(
        "fleet", "as many simulated servers as ferryctl capacity says keep a p99 of "
        f"{SLO_MS} ms at the peak for {seconds:.0f} s behind HAProxy, and one fewer "
        "do not", options.command)
    with tempfile.TemporaryDirectory() as folder, \
            fleet(programs, SERVERS) as count:
        path = str(pathlib.Path(folder, "one.json"))
        measuring.say("what one carries")
        measuring.run([programs.path("ferry-bench"), "search", "-u",
                       measuring.address(0), "-m", "sim", "--slo-ms",
                       f"{SLO_MS:g}", "--duration-secs", SEARCH_SECONDS, "--json",
                       path])
        one = planned(programs, path, 1)["lambda_safe"] / HEADROOM
        peak = PEAK_OF_ONE * one
        plan = planned(programs, path, peak)
        points = {}
        for servers in (count, count - 1):
            measuring.say(f"{servers} servers at {peak:.0f}/s")
            with proxy(servers):
                points[servers] = point_at(programs, peak, seconds)
    holds = {"planned": plan["replicas"] == count, "kept": keeps(points[count]),
             "missed": not keeps(points[count - 1])}
    result |= {"one": one, "peak": peak, "plan": plan, "points": points,
               "holds": holds, "passed": all(holds.values())}
    return result, page_of(result, count)


def page_of(result, count):
    plan = result["plan"]
    return (
        f"A simulated device that takes {ALPHA_MS} ms and {BETA_MS} ms a row, batches "
        f"of {MAX_BATCH}. One server carries {result['one']:.1f} requests/s within "
        f"{SLO_MS} ms, as `ferry-bench search` found. The peak is "
        f"{result['peak']:.1f}/s; `ferryctl capacity` with a headroom of {HEADROOM:g} "
        f"and no spare says {plan['replicas']:.0f} (rounded twice "
        f"{plan['peak_replicas_rounded_twice']:.0f}).\n\n" +
        measuring.table(
            ["servers", "planned", "OK", "failed", "p50 ms", "p99 ms",
             f"p99 <= {SLO_MS} ms"],
            [[servers, point["planned"], point["ok"],
              ", ".join(f"{code} {number}" for code, number in
                        point["errors"].items()) or "-",
              f"{point['p50_ms']:.1f}", f"{point['p99_ms']:.1f}",
              "kept" if keeps(point) else "missed"]
             for servers, point in result["points"].items()]) +
        f"\nClient, HAProxy and {count} servers share {os.cpu_count()} cores.\n")
