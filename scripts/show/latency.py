"""A3: one request at a time: what the server adds to wire and model.

Two comparisons. The literal one, echo + forward, is of three processes: its
scatter is that of s(1), which is bound by memory that the machine shares. The
one within a run takes the compute time of the very requests from the server's
own count, and as wire that of an echo that waits as long as the policy and reads
as much memory as the model before each answer: the wire of processors that have
slept, with nothing left in their caches, is not the wire of an idle echo.

The servers stay up, but for the last; turns are short and many and change their order, and what
is compared is of one round.
"""

import json
import tempfile

import measuring

WINDOW_MS = 5
EAGER_LIMIT_US = 60
WINDOW_LIMIT_US = 150
NOISE_US = 300  # a server that is faster than the wire by more was mismeasured
WEIGHTS_MIB = 50  # of the mlp in bf16
LEAST_ROUNDS = 15
ECHO, EAGER, WINDOW, STAND_IN = range(4)  # numbers of the servers
POLICIES = ("eager", "window")


def one_outstanding(options, seconds, number=0):
    """Returns the latency; without warm-up, so that the client's mean and the
    server's are of the same requests."""
    return measuring.closed_loop(options.programs, 1, seconds, metrics=False,
                                 warm_up=0, number=number)["latency"]


def sums(number=0):
    """Returns the server's sums and counts of durations, by metric name."""
    samples = [line.rsplit(" ", 1) for line in measuring.metrics(number)]
    return {name.split("{")[0]: float(value) for name, value in samples
            if "_seconds_sum" in name or "_seconds_count" in name}


def mean_us(before, after, name):
    count = after[f"{name}_count"] - before[f"{name}_count"]
    return (after[f"{name}_sum"] - before[f"{name}_sum"]) / count * 1e6


def stand_in(options, seconds, wait_ms):
    """Returns means of an echo that waits and reads before it answers: of that,
    and of the wire around it."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        with measuring.echo(options.programs, "--wait-ms", wait_ms,
                            "--read-mib", WEIGHTS_MIB, "--json", file.name,
                            number=STAND_IN):
            point = measuring.closed_loop(options.programs, 1, seconds,
                                          metrics=False, warm_up=0,
                                          number=STAND_IN)
        runs_us = json.load(file)["stand_in_us"][-point["ok"]:]
    before_us = sum(runs_us) / len(runs_us)
    return {"before_us": before_us,
            "wire_us": point["latency"]["mean_us"] - before_us}


def served(options, seconds, number):
    """Returns latency and the server's parts of it, means in microseconds."""
    before = sums(number)
    latency = one_outstanding(options, seconds, number)
    after = sums(number)
    parts = {part: mean_us(before, after, f"ferry_{part}_seconds")
             for part in ("queue_wait", "stage", "compute", "deliver")}
    return {"p50_us": latency["p50_us"], "mean_us": latency["mean_us"],
            "parts_us": parts}


def play_round(options, seconds, is_reversed):
    """Returns one round: a turn of each, and what that makes of the claim."""
    programs = options.programs
    turns = [
        ("echo", lambda: one_outstanding(options, seconds, ECHO)),
        ("eager", lambda: served(options, seconds, EAGER)),
        ("forward", lambda: measuring.forward(programs, [1], seconds)[1]),
        ("window", lambda: served(options, seconds, WINDOW)),
        ("eager_stand_in", lambda: stand_in(options, seconds, 0)),
        ("window_stand_in", lambda: stand_in(options, seconds, WINDOW_MS))]
    result = {name: turn()
              for name, turn in (reversed(turns) if is_reversed else turns)}
    forward = result.pop("forward")
    result["forward_us"] = forward["total_ms"] * 1e3
    result["gather_us"] = forward["stage_ms"] * 1e3
    echo = result.pop("echo")
    result["echo_p50_us"], result["echo_mean_us"] = echo["p50_us"], echo["mean_us"]
    floor_us = result["echo_p50_us"] + result["forward_us"]
    result["ratio"] = result["eager"]["p50_us"] / floor_us
    for name, wait_us in (("eager", 0), ("window", WINDOW_MS * 1e3)):
        turn = result[name]
        turn["adds_us"] = turn["p50_us"] - floor_us - wait_us
        turn["adds_in_run_us"] = (
            turn["mean_us"] - result[f"{name}_stand_in"]["wire_us"] -
            result["gather_us"] - turn["parts_us"]["compute"] - wait_us)
    return result


def rounds(options, seconds):
    done = []
    with measuring.echo(options.programs, number=ECHO), \
            measuring.server(options.programs, "--policy", "eager",
                             number=EAGER), \
            measuring.server(options.programs, "--policy", "window",
                             "--max-wait-ms", WINDOW_MS, number=WINDOW):
        for number in range(max(options.pairs, LEAST_ROUNDS)):
            done.append(play_round(options, seconds, number % 2 == 1))
            measuring.say(", ".join(
                [f"round {number + 1}"] +
                [f"{name} adds {done[-1][name]['adds_in_run_us']:.0f} us in the "
                 f"run, {done[-1][name]['adds_us']:.0f} us literally"
                 for name in POLICIES]))
    return done


def cells_of(pair, policy):
    turn, echo = pair[policy], pair[f"{policy}_stand_in"]
    return (turn["p50_us"], turn["adds_us"], turn["parts_us"]["compute"],
            echo["before_us"], echo["wire_us"], turn["adds_in_run_us"])


def measure(options):
    result = measuring.describe(
        "A3", f"one outstanding: p50 <= echo p50 + forward at b = 1 + "
        f"{EAGER_LIMIT_US} us under eager; that plus the window, within "
        f"{WINDOW_LIMIT_US} us, under window (mlp, bf16)", options.command)
    pairs = rounds(options, options.seconds or 1)

    def median_of(name, key):
        return measuring.median(p[name][key] for p in pairs)

    def holds(key):
        return (-NOISE_US <= median_of("eager", key) <= EAGER_LIMIT_US and
                abs(median_of("window", key)) <= WINDOW_LIMIT_US)

    literal, in_run = holds("adds_us"), holds("adds_in_run_us")
    forwards = [p["forward_us"] for p in pairs]
    echo_us = measuring.median(p["echo_mean_us"] for p in pairs)
    wires = {name: median_of(f"{name}_stand_in", "wire_us")
             for name in POLICIES}
    # What the wire alone adds to the literal sum, of what it may be in all.
    is_wire_alone_too_much = (wires["eager"] - echo_us > EAGER_LIMIT_US or
                              wires["window"] - echo_us > WINDOW_LIMIT_US)
    result |= {"pairs": pairs,
               "eager_adds_us": median_of("eager", "adds_us"),
               "window_adds_us": median_of("window", "adds_us"),
               "eager_adds_in_run_us": median_of("eager", "adds_in_run_us"),
               "window_adds_in_run_us": median_of("window", "adds_in_run_us"),
               "echo_mean_us": echo_us, "wire_us": wires,
               "window_ms": WINDOW_MS,
               "ratio": measuring.median(p["ratio"] for p in pairs),
               "limits_us": [EAGER_LIMIT_US, WINDOW_LIMIT_US],
               "holds_literally": literal, "holds_in_run": in_run,
               "passed": (literal or in_run) if measuring.has_bf16() else None}
    if measuring.has_bf16():
        result["verdict"] = {
            (True, True): "holds, literally and within a run",
            (True, False): "holds literally, not within a run",
            (False, True): "holds within a run, not literally" + (
                "; on this machine the wire of the echo alone takes that much "
                "more around a wait and a reading"
                if is_wire_alone_too_much else ""),
            (False, False): "does not hold"}[literal, in_run]
    page = (
        f"Literally: eager adds {result['eager_adds_us']:.0f} us to echo + "
        f"forward (at most {EAGER_LIMIT_US}), window "
        f"{result['window_adds_us']:.0f} us beyond its {WINDOW_MS} ms (within "
        f"{WINDOW_LIMIT_US}). Forward alone, in its own process, scattered from "
        f"{min(forwards):.0f} to {max(forwards):.0f} us meanwhile.\n\n"
        f"Within a run (mean latency - mean compute of the same requests - "
        f"gather - the wire of an echo that waits as long and reads {WEIGHTS_MIB} "
        f"MiB before each answer): eager adds {result['eager_adds_in_run_us']:.0f} us, window "
        f"{result['window_adds_in_run_us']:.0f} us beyond its wait.\n\n")
    page += (
        f"The echo's mean is {echo_us:.0f} us. The wire of the same echo, with "
        f"none of Ferry's code, takes {wires['eager']:.0f} us where it reads "
        f"{WEIGHTS_MIB} MiB before each answer, as the model does, and "
        f"{wires['window']:.0f} us where it waits {WINDOW_MS} ms besides: caches "
        f"are cold then and processors halted, for the client too. It reads "
        f"on the thread that answers, whose caches suffer more than those of "
        f"Ferry's.\n\n")
    page += measuring.table(
        ["round", "echo p50 us", "forward us"] +
        [f"{name} us" for policy in POLICIES for name in
         (f"{policy} p50", "adds", "compute", "stand-in", "its wire",
          "adds in run")],
        [[f"{number + 1}", f"{p['echo_p50_us']:.0f}", f"{p['forward_us']:.0f}"] +
         [f"{value:.0f}" for policy in POLICIES for value in cells_of(p, policy)]
         for number, p in enumerate(pairs)])
    return result, page
