"""What the policies do on a simulated device, on a virtual clock: C3, C6, the
closed form and the tables of policies. No wire, no noise: the same numbers on
every machine.
"""

import json
import tempfile

import measuring
import phi1

POLICIES = ("eager", "window", "adaptive")


def simulate(programs, *classes, log=None, **flags):
    command = [programs.path("ferry-bench"), "simulate"]
    for name, value in flags.items():
        command += ["--" + name.replace("_", "-"), str(value)]
    for each in classes:
        command += ["--class", each]
    if log:
        command += ["--log", log]
    return json.loads(measuring.run(command))


# ---------------------------------------------------------------------------
# C3: adaptive on four instances

INSTANCES_LOADS = (0.3, 0.5, 0.6, 0.68, 0.75, 0.8, 0.85, 0.9, 0.95)
INSTANCES_P99_MS = 4.0
LEAST_CARRIED = 0.9


def instances(options):
    result = measuring.describe(
        "C3-instances", "`adaptive` on 4 simulated instances of s(b) = 1 + 0.03 b "
        f"ms, B = 64, carries at least {LEAST_CARRIED} of capacity with p99 <= "
        f"{INSTANCES_P99_MS:.0f} ms", options.command)
    points = []
    for load in INSTANCES_LOADS:
        point = {"load": load}
        for policy in POLICIES:
            point[policy] = simulate(
                options.programs, policy=policy, instances=4, alpha_ms=1,
                beta_ms=0.03, load=load, duration_secs=options.seconds or 30)
        points.append(point)

    def carried(policy):
        return max((p["load"] for p in points
                    if p[policy]["latency_ms"]["p99"] <= INSTANCES_P99_MS),
                   default=0)

    result |= {"points": points, "simulated": True,
               "carried": {policy: carried(policy) for policy in POLICIES}}
    result["passed"] = result["carried"]["adaptive"] >= LEAST_CARRIED
    beyond = [f"{p['load']} ({p['adaptive']['latency_ms']['p99']:.3f} ms)"
              for p in points if p["load"] < result["carried"]["adaptive"] and
              p["adaptive"]["latency_ms"]["p99"] > INSTANCES_P99_MS]
    page = "Simulated. The highest load of those tried with p99 within it: "
    page += ", ".join(f"{policy} {carried(policy)}" for policy in POLICIES)
    if beyond:
        page += f"; below that `adaptive` is beyond it at {', '.join(beyond)}"
    page += ". Cells: mean / p99 ms / busy ratio.\n\n" + measuring.table(
        ["load", *POLICIES], [[p["load"], *(cell(p[n]) for n in POLICIES)]
                              for p in points])
    return result, page


def cell(run):
    latency = run["latency_ms"]
    if latency is None:
        return "-"
    return (f"{latency['mean']:.2f} / {latency['p99']:.2f} / "
            f"{run['busy_ratio']:.3f}")


# ---------------------------------------------------------------------------
# C4: overload, on the virtual clock

OVERLOADS = ((1.1, 0.95), (1.5, 0.93), (2.0, 0.90))
DEVICE = {"alpha_ms": 1, "beta_ms": 0.1, "max_batch_size": 32}
FULL_MS = 4.2  # s(32)
# One whose batches take about as long whatever their size: also s(B) = 4.2 ms.
VARYING = {"alpha_ms": 4, "beta_ms": 0.025, "max_batch_size": 8}
JITTERS = (0, 0.3, 0.6, 0.9)
TIMEOUTS = (1.5, 2, 3, 5, 10)  # in s(B)
VARYING_LOADS = (0.5, 0.9, 1.5)


def varying(options):
    """Returns runs on a device whose times vary as much as deadlines are long,
    and their table: admission is to refuse what would expire, and nothing else."""
    runs, rows = [], []
    for jitter in JITTERS:
        for load in VARYING_LOADS:
            cells = []
            for timeout in TIMEOUTS:
                run = simulate(options.programs,
                               f"timeout_ms={timeout * FULL_MS:g}", load=load,
                               jitter=jitter,
                               duration_secs=options.seconds or 30, **VARYING)
                what = run["classes"][0]
                expired = ((what["failed"] + what["late"]) /
                           max(what["sent"] - what["refused"], 1))
                goodput = run["goodput_of_saturation"] / min(load, 1)
                runs.append({"jitter": jitter, "load": load,
                             "timeout_ms": timeout * FULL_MS, "run": run})
                cells.append(f"{goodput:.2f} / {expired:.1%}")
            rows.append([jitter, load, *cells])
    return runs, measuring.table(
        ["jitter", "load", *(f"{timeout:g} s(B)" for timeout in TIMEOUTS)], rows)


def overload(options):
    result = measuring.describe(
        "C4-virtual", "goodput at 1.1, 1.5 and 2 times saturation, with a "
        "timeout of 10 s(B), is at least 0.95, 0.93, 0.90 of saturation, and "
        "of the admitted at most 1 % expire", options.command)
    rows, points, passed = [], [], True
    for load, least in OVERLOADS:
        for timeout in (10 * FULL_MS, 0):
            run = simulate(options.programs, f"timeout_ms={timeout}",
                           load=load, duration_secs=options.seconds or 30,
                           **DEVICE)
            what = run["classes"][0]
            admitted = what["sent"] - what["refused"]
            expired = what["failed"] / admitted
            points.append({"load": load, "timeout_ms": timeout, "run": run,
                           "expired_of_admitted": expired})
            goodput = run["goodput_of_saturation"]
            if timeout:
                passed = passed and goodput >= least and expired <= 0.01
            rows.append([load, timeout or "none", f"{goodput:.4f}",
                         least if timeout else "-", what["sent"],
                         what["refused"], what["failed"], what["late"],
                         f"{run['latency_ms']['p99']:.1f}"])
    runs, varying_table = varying(options)
    result |= {"points": points, "varying": runs, "simulated": True,
               "passed": passed}
    page = ("Simulated. Without a timeout the server cannot know what is of "
            "use: all are answered, after 130 s(B).\n\n")
    page += measuring.table(
        ["load", "timeout ms", "goodput of saturation", "at least", "sent",
         "refused", "failed", "late", "p99 ms"], rows)
    page += ("\nA device whose times are uniform in (1 +- jitter) s(b), with s(b) = "
             "4 + 0.025 b ms and B = 8, by timeout: goodput, of what is offered or of "
             "saturation where that is less / share of the admitted that expired or "
             "came late.\n\n" + varying_table)
    return result, page


# ---------------------------------------------------------------------------
# C6: priorities and shapes

def priorities(options):
    result = measuring.describe(
        "C6", "at 1.3x load with one fifth urgent, no urgent request is "
        "refused, urgent p99 <= 2.2 s(B) and goodput >= 0.95; with urgent work "
        "alone at 1.2x the low level keeps 5 % of rows; four shapes form "
        "batches as full as four servers of a quarter of the device",
        options.command)
    programs, seconds = options.programs, options.seconds or 30
    timeout = f"timeout_ms={10 * FULL_MS}"
    mixed = simulate(programs, f"urgent:weight=0.2,priority=1,{timeout}",
                     f"bulk:weight=0.8,priority=2,{timeout}", load=1.3,
                     duration_secs=seconds, **DEVICE)
    urgent = mixed["classes"][0]
    urgent_p99 = urgent["latency_ms"]["p99"] / FULL_MS
    floors = {}
    for name, width in (("same shape", 1), ("own shape", 2)):
        run = simulate(programs, f"urgent:weight=1,priority=1,{timeout}",
                       f"low:weight=0.2,priority=2,width={width},timeout_ms=420",
                       load=1.44,  # 1.2 urgent, 0.24 low
                       duration_secs=seconds, **DEVICE)
        floors[name] = run["classes"][1]["goodput"] / run["goodput_rows_per_s"]
    shapes = []
    for load in (0.3, 0.5, 0.7, 0.9):
        together = simulate(programs, *(f"w{width}:width={width}"
                                        for width in (1, 2, 3, 4)),
                            load=load, duration_secs=seconds, **DEVICE)
        apart = simulate(programs, load=load, duration_secs=seconds,
                         alpha_ms=4, beta_ms=0.4, max_batch_size=32)
        shapes.append({"load": load, "together": together, "apart": apart,
                       "ratio": together["rows_per_batch"] /
                                apart["rows_per_batch"]})
    checks = {
        "urgent requests refused": (urgent["refused"], "0",
                                    urgent["refused"] == 0),
        "urgent p99 in s(B)": (round(urgent_p99, 3), "<= 2.2",
                               urgent_p99 <= 2.2),
        "goodput of saturation": (round(mixed["goodput_of_saturation"], 4),
                                  ">= 0.95",
                                  mixed["goodput_of_saturation"] >= 0.95)}
    for name, share in floors.items():
        checks[f"low level's share of rows, {name}"] = (
            round(share, 4), ">= 0.05", share >= 0.05)
    for each in shapes:
        checks[f"rows a batch, four shapes to four servers, load "
               f"{each['load']}"] = (round(each["ratio"], 3), ">= 0.95",
                                     each["ratio"] >= 0.95)
    result |= {"mixed": mixed, "floors": floors, "shapes": shapes,
               "simulated": True,
               "passed": all(ok for _, _, ok in checks.values())}
    page = "Simulated: s(b) = 1 + 0.1 b ms, B = 32.\n\n" + measuring.table(
        ["what", "measured", "wanted", "holds"],
        [[what, value, wanted, "yes" if ok else "no"]
         for what, (value, wanted, ok) in checks.items()])
    page += "\nFour shapes: mean / p99 ms / busy ratio.\n\n" + measuring.table(
        ["load", "one server", "rows a batch", "four servers", "rows a batch"],
        [[s["load"], cell(s["together"]),
          f"{s['together']['rows_per_batch']:.2f}", cell(s["apart"]),
          f"{s['apart']['rows_per_batch']:.2f}"] for s in shapes])
    return result, page


# ---------------------------------------------------------------------------
# The closed form

def closed_form(options):
    result = measuring.describe(
        "phi1", "`eager` on one instance, batch uncapped, s(b) = 1 + 0.03 b ms: "
        "the mean latency is within 3 % of the closed form", options.command)
    alpha, beta, rows = 1.0, 0.03, 20000
    points = []
    for load in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        of_saturation = load * (alpha + rows * beta) / (rows * beta)
        with tempfile.NamedTemporaryFile(suffix=".csv") as log:
            simulate(options.programs, alpha_ms=alpha, beta_ms=beta,
                     max_batch_size=rows, queue_requests=1 << 20,
                     load=of_saturation, duration_secs=options.seconds or 60,
                     log=log.name)
            mean = phi1.mean_ms(log.name)
        expected = phi1.phi1(alpha, beta, load)
        points.append({"load": load, "mean_ms": mean, "phi1_ms": expected,
                       "ratio": mean / expected})
    result |= {"points": points, "simulated": True,
               "passed": all(abs(p["ratio"] - 1) <= 0.03 for p in points)}
    return result, "Simulated.\n\n" + measuring.table(
        ["lambda beta", "mean ms", "phi1 ms", "ratio"],
        [[p["load"], f"{p['mean_ms']:.4f}", f"{p['phi1_ms']:.4f}",
          f"{p['ratio']:.4f}"] for p in points])


# ---------------------------------------------------------------------------
# The tables of policies

SETUPS = (
    ("1 instance, s(b) = 1 + 0.03 b ms, B = 64", {
        "alpha_ms": 1, "beta_ms": 0.03, "max_batch_size": 64}, 1),
    ("the same, 2 batches in the pipeline", {
        "alpha_ms": 1, "beta_ms": 0.03, "max_batch_size": 64,
        "pipeline_depth": 2}, 1),
    ("the same, 1 in the pipeline, bursts of 8", {
        "alpha_ms": 1, "beta_ms": 0.03, "max_batch_size": 64}, 8),
    ("a slice: 1 instance, s(b) = 1 + 0.25 b ms, B = 32", {
        "alpha_ms": 1, "beta_ms": 0.25, "max_batch_size": 32}, 1),
    ("4 instances, s(b) = 1 + 0.03 b ms, B = 64", {
        "instances": 4, "alpha_ms": 1, "beta_ms": 0.03,
        "max_batch_size": 64}, 1),
    ("8 instances, s(b) = 3 + 0.1 b ms, B = 32", {
        "instances": 8, "alpha_ms": 3, "beta_ms": 0.1, "max_batch_size": 32}, 1),
)
LOADS = (0.05, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
SLOS = (2, 4)  # bounds of p99, in times of a full batch
PICTURE = "policies.svg"  # beside the tables


def slos_ms(flags):
    full = flags["alpha_ms"] + flags["beta_ms"] * flags["max_batch_size"]
    return [times * full for times in SLOS]


def carried_within(points, policy, bound_ms):
    """Returns the highest load that was tried up to which p99 stays within."""
    carried = 0
    for point in points:
        latency = point[policy]["latency_ms"]
        if latency is None or latency["p99"] > bound_ms:
            break
        carried = point["load"]
    return carried


def policies(options):
    # What only this claim needs is not installed for the others.
    import drawing  # pylint: disable=import-outside-toplevel
    result = measuring.describe(
        "policies", "eager, window (max_wait 5 ms) and adaptive across loads, "
        "bursts and instances", options.command)
    page, setups = ("Simulated. Cells: mean / p99 ms / busy ratio. Then the "
                    "highest load that was tried up to which p99 stays within "
                    f"{SLOS[0]} and {SLOS[1]} full batches. As a picture: "
                    f"[{PICTURE}]({PICTURE}).\n"), []
    for name, flags, burst in SETUPS:
        points = []
        for load in LOADS:
            points.append({"load": load} | {
                policy: simulate(options.programs, f"all:burst={burst}",
                                 policy=policy, load=load,
                                 duration_secs=options.seconds or 20, **flags)
                for policy in POLICIES})
        setups.append({"name": name, "flags": flags, "burst": burst,
                       "points": points})
        page += f"\n## {name}\n\n" + measuring.table(
            ["load", *POLICIES],
            [[p["load"], *(cell(p[n]) for n in POLICIES)] for p in points] +
            [[f"p99 <= {bound:.1f} ms",
              *(carried_within(points, n, bound) for n in POLICIES)]
             for bound in slos_ms(flags)])
    drawing.draw_policies(setups, [slos_ms(flags) for _, flags, _ in SETUPS],
                          measuring.RESULTS / PICTURE)
    result |= {"setups": setups, "simulated": True, "passed": True,
               "verdict": "a table; see docs/scheduling.md for what follows"}
    return result, page
