"""C4: overload over gRPC, on the simulated device in real time and on the mlp.

Goodput is what the server itself counts, on its own clock: results that went
out before they were due. That every request is answered is what the client counts.

On the mlp the model and the wire share the machine's cores: each request that
is sent and refused takes time from the model, and a saturation measured
without those requests says less of what is left. So the goodput is told as a share
of the turn next to it, too, of the same load with deadlines ignored: of what the
machine serves beside that traffic. It is the share of saturation that is judged.
"""

import contextlib
import json
import os
import tempfile
import time

import measuring

LOADS = {1.1: 0.95, 1.5: 0.93, 2.0: 0.90}  # and the least goodput
MOST_EXPIRED = 0.01  # of the admitted
ANSWERS = ("RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED")  # beside results

DEVICE = """backend: "ferry_sim"
max_batch_size: 32
input { name: "input" data_type: TYPE_FP32 dims: 16 }
output { name: "output" data_type: TYPE_FP32 dims: 16 }
dynamic_batching {}
parameters { key: "ferry.alpha_ms" value { string_value: "1" } }
parameters { key: "ferry.beta_ms" value { string_value: "0.1" } }
"""


@contextlib.contextmanager
def device(programs):
    """Runs the simulated device: s(32) = 4.2 ms."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/mlp/1")
        with open(f"{folder}/mlp/config.pbtxt", "w",
                  encoding="utf-8") as stream:
            stream.write(DEVICE)
        with measuring.server(programs, "--model-repository", folder):
            yield


def counters(limit_ms):
    """Returns the server's counts of answered, late and refused requests; of
    the answered those within the limit, or a little less: the histogram's
    bound below it."""
    counts = {"ok": 0, "failed": 0, "late": 0, "refused": 0, "within": 0,
              "at": time.monotonic()}
    for line in measuring.metrics():
        name = line.split("{")[0]
        value = float(line.rsplit(" ", 1)[1])
        if name == "ferry_requests_total":
            counts["ok" if 'code="OK"' in line else "failed"] += value
        elif name == "ferry_late_replies_total":
            counts["late"] += value
        elif name == "ferry_refused_total":
            counts["refused"] += value
        elif name == "ferry_request_seconds_bucket":
            bound = float(line.split('le="')[1].split('"')[0])
            if bound * 1e3 <= limit_ms:
                counts["within"] = max(counts["within"], value)
    return counts


def play(programs, seconds, limit_ms, *load):
    """Returns what the server did a second, in the middle of that load, and what
    the client says of all of it."""
    with tempfile.NamedTemporaryFile(suffix=".json") as told:
        command = [programs.path("ferry-bench"), "run", "-u", measuring.ADDRESS,
                   "-m", "mlp", "--warm-up-secs", 0, "--duration-secs",
                   seconds + 2, "--json", told.name, *load]
        with measuring.process(command, lambda: True) as client:
            time.sleep(1.5)  # learned, and the queue as long as it gets
            before = counters(limit_ms)
            time.sleep(seconds)
            after = counters(limit_ms)
            client.wait(60)
        point = json.load(told)["runs"][0]["points"][0]
    span = after.pop("at") - before.pop("at")
    return ({key: (after[key] - before[key]) / span for key in after} |
            {"client": {key: point[key] for key in ("planned", "ok", "errors")}})


def unanswered(done):
    """Returns how many of the client's requests ended in none of the ways that
    the server answers in."""
    client = done["client"]
    return client["planned"] - client["ok"] - sum(
        client["errors"].get(code, 0) for code in ANSWERS)


def saturation(programs, seconds):
    return play(programs, seconds, 0, "--outstanding", 128)["ok"]


def overload(programs, name, running, full_ms, seconds, is_beside_ignored=True):
    """Returns a point for each load with a timeout of ten batches, and one
    without beside it."""
    points = []
    with running:
        # Taken anew before and after each: a machine that others share changes
        # its speed.
        before = saturation(programs, seconds / 2)
        for load, least in LOADS.items():
            for timeout_ms in (10 * full_ms, 0)[:1 + is_beside_ignored]:
                rate = load * before
                done = play(programs, seconds, 10 * full_ms, "--rates", rate, "--timeout-ms",
                            timeout_ms, "--max-outstanding", 1 << 16)
                after = saturation(programs, seconds / 2)
                capacity = (before + after) / 2
                before = after
                admitted = done["ok"] + done["failed"]
                points.append({
                    "model": name, "load": load, "timeout_ms": timeout_ms,
                    "saturation": capacity, "offered": rate, "done": done,
                    "goodput": (done["ok"] - done["late"] if timeout_ms else
                                done["within"]) / capacity,
                    "expired": done["failed"] / admitted,
                    "unanswered": unanswered(done),
                    "least": least if timeout_ms else None})
                measuring.say(f"{name} at {load}, timeout {timeout_ms:.0f} ms: "
                              f"goodput {points[-1]['goodput']:.3f}")
            if is_beside_ignored:
                useful, ignored = (point["done"] for point in points[-2:])
                points[-2]["of_ignored"] = ((useful["ok"] - useful["late"]) /
                                            ignored["ok"])
    return points


def measure(options):
    result = measuring.describe(
        "C4", "over gRPC, at 1.1, 1.5 and 2 times saturation with the parameter "
        "`timeout` of 10 s(B): goodput, on the server's clock, is at least "
        "0.95, 0.93, 0.90 of saturation; every request is answered; of the "
        "admitted at most 1 % expire", options.command)
    programs = options.programs
    seconds = options.seconds or 4
    full_ms = measuring.forward(programs, [64], 1)[64]["total_ms"]
    runs = []
    for _ in range(options.pairs):
        runs.append(
            overload(programs, "simulated", device(programs), 4.2, seconds) +
            overload(programs, "mlp", measuring.server(
                programs, "--max-batch-size", 64), full_ms, seconds))
    rows, passed = [], True
    for same in zip(*runs):
        point = same[0]
        goodput = measuring.median(p["goodput"] for p in same)
        expired = measuring.median(p["expired"] for p in same)
        of_ignored = None
        not_answered = sum(p["unanswered"] for p in same)
        passed = passed and not_answered == 0
        if point["least"] is not None:
            of_ignored = measuring.median(p["of_ignored"] for p in same)
            passed = passed and (goodput >= point["least"] and
                                 expired <= MOST_EXPIRED)
        rows.append(
            [point["model"], point["load"],
             f"{point['timeout_ms']:.0f}" if point["timeout_ms"] else "none",
             f"{goodput:.3f}", f"{of_ignored:.3f}" if of_ignored else "-",
             point["least"] or "-", f"{expired:.2%}", not_answered] +
            [f"{measuring.median(value(p) for p in same):.0f}" for value in (
                lambda p: p["saturation"], lambda p: p["offered"],
                lambda p: p["done"]["ok"], lambda p: p["done"]["late"],
                lambda p: p["done"]["refused"])])
    result |= {"runs": runs, "passed": passed}
    page = (f"Medians of {options.pairs} runs; saturation is the mean of what was "
            "measured before and after each turn. The device is simulated, in real "
            "time, in the rows that say so. Without a timeout the server cannot "
            "know what is of use, and all that the client's two connections "
            "carry at once is ahead of each; its goodput is what was answered "
            "within ten batches all the same. `of ignored` is the goodput as a "
            "share of what was served in the turn next to it, of the same load "
            "without a timeout: what can be had on the mlp, which shares its cores "
            "with client and wire. `unanswered` counts requests of the client, of all "
            "runs, that ended neither with a result nor refused nor as expired.\n\n")
    page += measuring.table(
        ["model", "load", "timeout ms", "goodput", "of ignored", "at least",
         "expired", "unanswered",
         "saturation/s", "offered/s", "ok/s", "of it late", "refused/s"], rows)
    return result, page
