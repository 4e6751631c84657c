"""load: ferry_load_ratio against what truly arrives, under each policy, with the
busy ratio beside it. On the virtual clock, where rates over the run and the learned
s(b) make it as the server does; and on a real server, whose device is simulated.

Each policy has a server of its own, all at once; a minute is what the ratio is over.
"""

import concurrent.futures
import contextlib
import time

import measuring
import scheduling
import simulating

POLICIES = scheduling.POLICIES
LOADS = (0.05, 0.2, 0.5, 0.7, 0.9, 1.2)
FULL = 64
VIRTUAL_MS = {"alpha_ms": 1, "beta_ms": 0.03}
# Slow, so that two cores carry three times 1.2 of its capacity.
REAL_MS = {"alpha_ms": 20, "beta_ms": 0.6}
MINUTE_S = 62
MOST_OFF = 0.05
PICTURE = "load.svg"


def capacity(times):
    """Returns rows a second in full batches of s(b) = alpha + beta * b."""
    return FULL / (times["alpha_ms"] + times["beta_ms"] * FULL) * 1e3


def on_the_virtual_clock(options):
    points = []
    for load in LOADS:
        point = {"load": load}
        for policy in POLICIES:
            run = scheduling.simulate(
                options.programs, policy=policy, load=load, max_wait_ms=5,
                max_batch_size=FULL, duration_secs=options.seconds or 30,
                **VIRTUAL_MS)
            learned = {"alpha_ms": run["learned_ms"]["batch"],
                       "beta_ms": run["learned_ms"]["row"]}
            sent = sum(one["sent"] for one in run["classes"])
            truth = sent / run["duration_s"] / capacity(VIRTUAL_MS)
            told = sent / run["duration_s"] / capacity(learned)
            point[policy] = {"truth": truth, "told": told,
                             "busy": run["busy_ratio"]}
        points.append(point)
    return points


def offer(options, number, rate, seconds):
    """Sends Poisson arrivals to that server; returns the true load, what the
    server tells while they last, and its busy ratio."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        busy = measuring.metric("ferry_compute_busy_seconds_total", number)
        begun = time.monotonic()
        load = pool.submit(
            options.programs.json_of, "ferry-bench", "run", "-u",
            measuring.address(number), "-m", "sim", "--rates", f"{rate:g}",
            "--duration-secs", f"{seconds:g}", "--warm-up-secs", "0")
        time.sleep(seconds - 0.5)  # it began some tenths later
        told = {"told": measuring.metric("ferry_load_ratio", number),
                "told_5s": measuring.metric("ferry_load_5s_ratio", number)}
        passed = time.monotonic() - begun
        busy = measuring.metric("ferry_compute_busy_seconds_total", number) - busy
        point = load.result()["runs"][0]["points"][0]
    return told | {"truth": point["offered_rate"] / capacity(REAL_MS),
                   "busy": busy / passed}


def on_a_server(options):
    seconds = options.seconds or MINUTE_S
    points = []
    for load in LOADS:
        with contextlib.ExitStack() as stack:
            pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor())
            for number, policy in enumerate(POLICIES):
                stack.enter_context(simulating.server(
                    options.programs, REAL_MS["alpha_ms"], REAL_MS["beta_ms"],
                    FULL, "--policy", policy, "--max-wait-ms", 50,
                    # What a client holds back has not arrived: docs/load.md.
                    "--grpc-max-streams", 16_384,
                    number=number))
            rate = load * capacity(REAL_MS)
            offered = {policy: pool.submit(offer, options, number, rate, seconds)
                       for number, policy in enumerate(POLICIES)}
            points.append({"load": load} | {
                policy: one.result() for policy, one in offered.items()})
        measuring.say(f"load {load}: " + ", ".join(
            f"{policy} {points[-1][policy]['told']:.3f}" for policy in POLICIES))
    return points


def off(point):
    return point["told"] / point["truth"] - 1


def table(points):
    return measuring.table(
        ["offered", *POLICIES],
        [[point["load"],
          *(f"{one['truth']:.3f} / {one['told']:.3f} ({off(one):+.1%}) / "
            f"{one['busy']:.3f}" for one in map(point.get, POLICIES))]
         for point in points])


def measure(options):
    result = measuring.describe(
        "load", "`ferry_load_ratio` is within 5 % of the load that arrives, under "
        f"each policy at {', '.join(map(str, LOADS))}; the busy ratio beside it",
        options.command)
    virtual = on_the_virtual_clock(options)
    real = on_a_server(options)
    worst = {name: max(abs(off(point[policy])) for point in points
                       for policy in POLICIES)
             for name, points in (("virtual", virtual), ("real", real))}
    result |= {"virtual": virtual, "real": real, "worst": worst,
               "simulated": True,
               "passed": max(worst.values()) <= MOST_OFF}
    # What only few claims need is not installed for the others.
    import drawing  # pylint: disable=import-outside-toplevel
    drawing.draw_loads(virtual, measuring.RESULTS / PICTURE)
    page = (
        "The device is simulated. Cells: load that arrived / load told (off by) / "
        f"busy ratio. The loads told are off by {worst['virtual']:.1%} at most on "
        f"the virtual clock, by {worst['real']:.1%} on a server.\n\n"
        f"![load and busy ratio by policy]({PICTURE})\n\n"
        f"## On the virtual clock, s(b) = {VIRTUAL_MS['alpha_ms']} + "
        f"{VIRTUAL_MS['beta_ms']} b ms, B = {FULL}\n\n" + table(virtual) +
        f"\n## On a server, s(b) = {REAL_MS['alpha_ms']} + {REAL_MS['beta_ms']} b "
        f"ms, B = {FULL}: the last minute\n\n" + table(real))
    return result, page
