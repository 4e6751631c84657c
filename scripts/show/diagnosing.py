"""diagnose: causes that are provoked on a server that computes on this processor, and
whether ferryctl names each of them, and none where nothing is wrong.

The model reads 16 MB of weights in each batch, so that a batch of one row takes nearly
as long as one of many. What it takes is learned by the server itself before.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import measuring

sys.path.append(str(measuring.ROOT / "tests/e2e"))
import ferry_process  # noqa: E402  configs and repositories of the tests

WIDTH = 2048
MAX_BATCH = 64
SECONDS = 60  # of a recording; one with gaps is made again
MORE_S = 6  # of the load, before and after
LEARN_S = 4
CLIENTS = 4
TRIES = 3  # of a recording that has gaps, as others use the machine, too
CONFIG = (f'backend: "ferry_network"\nmax_batch_size: {MAX_BATCH}\n' +
          ferry_process.tensor("input", "input", "FP32", [WIDTH]) +
          ferry_process.tensor("output", "output", "FP32", [WIDTH]) +
          "dynamic_batching {}\n" + ferry_process.parameter("ferry.policy", "eager") +
          ferry_process.parameter("ferry.network", "mlp") +
          ferry_process.parameter("ferry.widths", f"{WIDTH},{WIDTH},{WIDTH}"))
# What is provoked: flags of the server, and load, by the rate at which batches of one
# row would keep the model busy.
CASES = {
    "small_batches": ((), lambda rate: ["--rates", f"{1.5 * rate:g}"]),
    "concurrency_limit": (("--queue-requests", 1),
                          lambda rate: ["--rates", f"{1.5 * rate:g}"]),
    "client_limited": ((), lambda _: ["--outstanding", CLIENTS]),
    "nothing": ((), lambda rate: ["--rates", f"{0.3 * rate:g}"])}


def bench(programs, what, seconds):
    return [programs.path("ferry-bench"), "run", "-u", measuring.ADDRESS, "-m",
            "reads", *what, "--warm-up-secs", 0, "--duration-secs", f"{seconds:g}"]


def one_row_s():
    """Returns what a batch of one row takes, as the server has learned it."""
    lines = measuring.metrics()
    return (measuring.sum_of(lines, "ferry_service_time_batch_seconds") +
            measuring.sum_of(lines, "ferry_service_time_row_seconds"))


def diagnosed(programs, flags, load, seconds):
    """Returns ferryctl's answer about a server under that load."""
    ferry_process.MODELS["reads"] = CONFIG
    folder = ferry_process.write_repository(["reads"])
    try:
        with measuring.server(programs, "--model-repository", folder, *flags,
                              model="reads"):
            measuring.run(["sh", "-c", '"$@" || true', "bench",
                           *bench(programs, ["--outstanding", 1], LEARN_S)])
            what = load(1 / one_row_s())
            for _ in range(TRIES):
                answer = recorded(programs, what, seconds)
                if answer is not None:
                    return answer
    finally:
        shutil.rmtree(folder)
    raise measuring.Failure("each recording has gaps: leave the machine alone")


def recorded(programs, what, seconds):
    """Returns the answer and the means that it rests on; None where the recording
    has gaps."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "recording.json")
        from_server = ["--duration", f"{seconds:.0f}s", "--from",
                       f"127.0.0.1:{measuring.METRICS_PORT}", "--save", path]
        with measuring.process(bench(programs, what, seconds + 2 * MORE_S),
                               lambda: measuring.metric("ferry_queue_requests") >= 0):
            answer = json.loads(measuring.run(
                [programs.path("ferryctl"), "diagnose", *from_server, "--json"]))
        recording = json.loads(path.read_text(encoding="utf-8"))
    needed = ("load", "busy", "batch_fill", "refused")
    if any(recording.get(name, [None]).count(None) > seconds / 100
           for name in needed):
        return None
    means = {name: sum(value or 0 for value in recording[name]) / seconds
             for name in (*needed, "stage", "requests_under_way")}
    return {"found": {row["cause"]: row for row in answer["rows"]}, "means": means}


def measure(options):
    seconds = options.seconds or SECONDS
    result = measuring.describe(
        "diagnose", "ferryctl diagnose names each of three causes that are provoked on "
        "a server that computes on the processor, and none of a server at rest",
        options.command)
    runs = {}
    for case, (flags, load) in CASES.items():
        measuring.say(case)
        runs[case] = diagnosed(options.programs, flags, load, seconds)
    holds = {case: case in run["found"] if case != "nothing" else not run["found"]
             for case, run in runs.items()}
    result |= {"runs": runs, "holds": holds, "passed": all(holds.values())}
    return result, page_of(result, seconds)


def page_of(result, seconds):
    rows = []
    for case, run in result["runs"].items():
        means = run["means"]
        found = ", ".join(f"{name} ({row['confidence']})"
                          for name, row in run["found"].items()) or "-"
        rows.append([case, found, "yes" if result["holds"][case] else "no",
                     *(f"{means[name] * 100:.1f}" for name in
                       ("load", "busy", "batch_fill", "stage", "refused")),
                     f"{means['requests_under_way']:.2f}"])
    return (
        f"An mlp of {WIDTH} by {WIDTH} twice, batches of up to {MAX_BATCH}, policy "
        f"eager. Each recording is of {seconds:.0f} s. small_batches: requests come "
        "at random, half more than batches of one row could serve. "
        "concurrency_limit: the same, and one request may queue. client_limited: "
        f"{CLIENTS} clients that wait for their answers. nothing: requests come at "
        "random, 0.3 times what batches of one row could serve.\n\n" +
        measuring.table(
            ["provoked", "found (confidence)", "right", "load %", "busy %",
             "batch_fill %", "stage %", "refused %", "under way"], rows))
