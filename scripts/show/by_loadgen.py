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
MOST_OFF = 0.1  # of rates, and of medians where the device keeps up
MLP_SHARE = 0.3  # of saturation
CPU = "client's processor, us a request"
CLAIM = (f"MLPerf's LoadGen and ferry-bench measure the same on a simulated device, "
         f"rates within {MOST_OFF:.0%}, medians too where the device keeps up, and "
         "judge its server scenario alike")
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


def server_name(rate):
    return f"server, {rate:.0f}/s"


def scenarios(capacity, low, high):
    """Returns name and flags of what is played; `capacity` in samples/s."""
    server = ["--scenario", "server", "--latency-ms", BOUND_MS]
    offline = ["--scenario", "offline", "--target-qps", capacity]
    loads = {"single-stream": ["--scenario", "single-stream"],
             f"multi-stream of {STREAM_ROWS}":
                 ["--scenario", "multi-stream", "--samples-per-query",
                  STREAM_ROWS, "--min-queries", STREAM_QUERIES],
             server_name(low): [*server, "--target-qps", low]}
    if high:
        loads[server_name(high)] = [*server, "--target-qps", high]
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


def keeps_up(name, capacity):
    """Whether less is sent than the device can do. Where it cannot, the queue
    grows for as long as one sends, and a median says how long that was."""
    return name != server_name(OVERLOAD * capacity)


def agrees(name, rounds, capacity):
    """Whether both measured the same, most runs of it stand, and both judge it
    alike."""
    if any(each["issued"] != each["server_rows"] for each in rounds):
        return False
    same = ["samples/s"]
    if keeps_up(name, capacity):
        same.append("p50 latency, ms")
    return (all(abs(ratio(rounds, what) - 1) <= MOST_OFF for what in same) and
            measuring.most_stand([each["void"] for each in rounds]) and
            (not name.startswith("server") or
             all((each["verdict"] == "p99 kept") == each["is_valid"]
                 for each in rounds)))


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
             f"{valid} of {len(rounds)}", ", ".join(verdicts),
             measuring.standing([each["void"] for each in rounds])])
    return measuring.table(
        ["scenario", "LoadGen samples/s", "ferry-bench samples/s", "ratio", "p50",
         "p99", "LoadGen cpu us", "ferry-bench cpu us", "LoadGen VALID",
         "ferry-bench", "stand"], rows)


def page_of(simulated, mlp, version):
    return (
        f"{version} over tritonclient's gRPC in Python (scripts/loadgen.sh), and "
        "ferry-bench's scenario of the same name right after it; medians of "
        f"{len(next(iter(simulated.values())))} rounds, ratios are ferry-bench's to "
        "LoadGen's. What LoadGen says it issued is what the server counted, each "
        "time. `cpu` is the client's own, a request; ferry-bench's with its start.\n\n"
        f"A simulated device, s(b) = {ALPHA_MS} + {BETA_MS} b ms, batches of "
        f"{MAX_BATCH} at most; the bound of `server` is p99 <= {BOUND_MS} ms, its rates "
        f"{SHARE} of the knee and {OVERLOAD} of what the device can do. Of the "
        "latter only the rate and the verdict are compared: its queue grows while "
        "one sends, and its median says for how long. Void runs of ferry-bench do "
        "not stand, and most must:\n\n" +
        table(simulated) +
        "\nThe mlp on this machine's cores, which LoadGen's client shares; nothing is "
        "asked of these ratios:\n\n" + table(mlp))


def measure(options):
    result = measuring.describe(
        "loadgen", CLAIM, options.command)
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
               "passed": all(agrees(name, rounds, capacity)
                             for name, rounds in simulated.items())}
    version = next(iter(simulated.values()))[0]["version"]
    return result, page_of(simulated, mlp, version)
