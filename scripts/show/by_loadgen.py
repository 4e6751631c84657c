"""loadgen: MLPerf's own LoadGen and ferry-bench, the four scenarios each on the
same servers.

On the simulated device a batch takes so long that LoadGen's client in Python is not
what is measured: there both must agree. On the mlp, which shares two cores with that
client, they are told beside each other.
"""

import contextlib
import json
import subprocess
import tempfile

import knee
import measuring
import simulating

ALPHA_MS, BETA_MS, MAX_BATCH = 20, 1, 16
BOUND_MS = 150
SHARE = 0.6  # of the knee: kept
OVERLOAD = 1.2  # of what the device can do: missed
STREAM_ROWS = 8
STREAM_QUERIES = 662  # the fewest that LoadGen judges a p99 by
SECONDS = 5
ROUNDS = 3
MOST_OFF = 0.1  # of rates and medians, on the simulated device
MLP_SHARE = 0.3  # of saturation
CPU = "client's processor, us a request"
SCRIPT = measuring.ROOT / "scripts/loadgen.sh"


def play(options, model, seconds, seed, flags):
    """Returns what scripts/loadgen.sh says of one scenario."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/result.json"
        command = ["bash", SCRIPT, "-u", measuring.ADDRESS, "-m", model,
                   "--min-duration-secs", seconds, "--seed", seed, "--bench",
                   options.programs.path("ferry-bench"), "--json", path, *flags]
        done = subprocess.run([str(word) for word in command], text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise measuring.Failure(f"{SCRIPT.name} exited {done.returncode}: "
                                    f"{done.stderr.strip()[-2000:]}")
        with open(path, encoding="utf-8") as stream:
            told = json.load(stream)
    loadgen, bench = told["loadgen"], told["bench"]
    return {"version": told["version"],
            "loadgen": told["compared"], "is_valid": loadgen["is_valid"],
            "results": loadgen["results"], "issued": loadgen["samples"],
            "server_rows": loadgen["server"]["rows"],
            "verdict": bench["verdict"], "command": bench["command"],
            "void": bench["point"]["void_reason"]}


def scenarios(capacity, low, high):
    """Returns name and flags of what is played; `capacity` in samples/s."""
    server = ["--scenario", "server", "--latency-ms", BOUND_MS]
    offline = ["--scenario", "offline", "--target-qps", capacity]
    loads = {"single-stream": ["--scenario", "single-stream"],
             f"multi-stream of {STREAM_ROWS}":
                 ["--scenario", "multi-stream", "--samples-per-query",
                  STREAM_ROWS, "--min-queries", STREAM_QUERIES],
             f"server, {low:.0f}/s": [*server, "--target-qps", low]}
    if high:
        loads[f"server, {high:.0f}/s"] = [*server, "--target-qps", high]
    return loads | {"offline": offline}


def play_all(options, model, loads):
    """Returns the rounds of each load."""
    played = {name: [] for name in loads}
    for number in range(ROUNDS):
        for name, flags in loads.items():
            played[name].append(play(options, model, options.seconds or SECONDS,
                                     10 * number + 1, flags))
        measuring.say(f"{model}: round {number + 1} of {ROUNDS}")
    return played


def ratio(rounds, what):
    """The median of ferry-bench's figure, of LoadGen's beside it."""
    return measuring.median(
        ours / theirs for each in rounds
        for name, theirs, ours in each["loadgen"] if name == what)


def middle(rounds, what, of_bench):
    return measuring.median(
        (ours if of_bench else theirs) for each in rounds
        for name, theirs, ours in each["loadgen"] if name == what)


def agrees(name, rounds):
    """Whether both measured the same, and judge it alike."""
    if any(each["issued"] != each["server_rows"] for each in rounds):
        return False
    if not name.startswith("server"):
        return all(abs(ratio(rounds, what) - 1) <= MOST_OFF
                   for what in ("samples/s", "p50 latency, ms"))
    return all((each["verdict"] == "p99 kept") == each["is_valid"]
               for each in rounds)


def table(played):
    rows = []
    for name, rounds in played.items():
        valid = sum(each["is_valid"] for each in rounds)
        verdicts = sorted({each["verdict"] for each in rounds})
        rows.append(
            [name, *(f"{middle(rounds, 'samples/s', of_bench):.1f}"
                     for of_bench in (False, True)),
             *(f"{ratio(rounds, what):.3f}" for what in
               ("samples/s", "p50 latency, ms", "p99 latency, ms")),
             *(f"{middle(rounds, CPU, of_bench):.0f}"
               for of_bench in (False, True)),
             f"{valid} of {len(rounds)}", ", ".join(verdicts)])
    return measuring.table(
        ["scenario", "LoadGen samples/s", "ferry-bench samples/s", "ratio", "p50",
         "p99", "LoadGen cpu us", "ferry-bench cpu us", "LoadGen VALID",
         "ferry-bench"], rows)


def page_of(simulated, mlp, version):
    return (
        f"{version} over tritonclient's gRPC in Python (scripts/loadgen.sh), and "
        "ferry-bench's scenario of the same name right after it; medians of "
        f"{len(next(iter(simulated.values())))} rounds, ratios are ferry-bench's to "
        "LoadGen's. What LoadGen says it issued is what the server counted, each "
        "time. `cpu` is the client's own, a request; ferry-bench's with its start.\n\n"
        f"A simulated device, s(b) = {ALPHA_MS} + {BETA_MS} b ms, batches of "
        f"{MAX_BATCH} at most; the bound of `server` is p99 <= {BOUND_MS} ms, its rates "
        f"{SHARE} of the knee and {OVERLOAD} of what the device can do:\n\n" +
        table(simulated) +
        "\nThe mlp on this machine's cores, which LoadGen's client shares; nothing is "
        "asked of these ratios:\n\n" + table(mlp))


def measure(options):
    result = measuring.describe(
        "loadgen", "MLPerf's LoadGen and ferry-bench measure the same on a simulated "
        f"device, rates and medians within {MOST_OFF:.0%}, and judge its server "
        "scenario alike", options.command)
    measuring.run(["bash", SCRIPT, "--version"])
    capacity = MAX_BATCH / (ALPHA_MS + BETA_MS * MAX_BATCH) * 1e3
    low = SHARE * knee.knee(ALPHA_MS, BETA_MS, MAX_BATCH, BOUND_MS)
    with simulating.server(options.programs, ALPHA_MS, BETA_MS, MAX_BATCH):
        simulated = play_all(options, "sim", scenarios(
            capacity, low, OVERLOAD * capacity))
    with contextlib.ExitStack() as stack:
        stack.enter_context(measuring.server(options.programs,
                                             "--max-batch-size", 64))
        saturation = measuring.closed_loop(options.programs, 64, 2,
                                           metrics=False)["achieved_rate"]
        mlp = play_all(options, "mlp", scenarios(
            saturation, MLP_SHARE * saturation, None))
    result |= {"simulated": simulated, "mlp": mlp,
               "ratio": ratio(simulated["offline"], "samples/s"),
               "passed": all(agrees(name, rounds)
                             for name, rounds in simulated.items())}
    version = next(iter(simulated.values()))[0]["version"]
    return result, page_of(simulated, mlp, version)
