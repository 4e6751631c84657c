"""hostile: what an honest client keeps of its service while hostile ones attack for
five minutes, and what each of them costs alone.

Each attacker has a process of its own (tests/e2e/hostile_clients.py), as niced as can
be and with so many connections or calls a second at most. Where there are two cores
the server has the first and all clients share the other: an attack then takes time
from the server by what the server does, and none from the honest client, which comes
before attackers on their core. How late the honest client sent is in the result.

The device is simulated, so that what a batch takes does not change with the machine.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time

import measuring

sys.path.append(str(measuring.ROOT / "tests/e2e"))
import ferry_process  # noqa: E402  the models and configs of the tests
import hostile_clients  # noqa: E402
import trust  # noqa: E402

ALPHA_MS, BETA_MS, MAX_BATCH = 8, 1, 8
CAPACITY = MAX_BATCH / (ALPHA_MS + BETA_MS * MAX_BATCH) * 1e3
RATE = CAPACITY / 2  # of the honest client
GREED = 5  # times that
DEADLINE_MS = 1000  # of both
GREEDY_CONNECTIONS = 8
SECONDS = 300
QUIET_SECONDS = 60
ALONE_SECONDS = 20  # of each attacker alone
WARM_UP_S = 2
START_S = 3  # of the attackers, before what is measured
STOP_S = 60
LEAST_RATE, MOST_P99, MOST_MIB = 0.9, 2.0, 64
TOKENS = {name: f"{name}-0123456789abcdef" for name in ("honest", "greedy", "watch")}
GREEDY = "greedy"
ATTACKERS = {attack.__name__: attack for attack in hostile_clients.ATTACKS}
ALL = (*ATTACKERS, GREEDY)


def authorization(name):
    return ["--header", f"authorization:Bearer {TOKENS[name]}"]


def bench(programs, rate, seconds, path, *more):
    return [programs.path("ferry-bench"), "run", "-u", measuring.ADDRESS, "-m", "sim",
            "--rates", f"{rate:g}", "--deadline-ms", DEADLINE_MS, "--queues", 1,
            "--warm-up-secs", WARM_UP_S, "--duration-secs", f"{seconds:g}", "--json",
            path, *more]


class Scene:
    """How the server, its honest client and attackers are started."""
    most_mib = MOST_MIB  # that the server's memory may grow
    honest_flags = authorization("honest")  # of ferry-bench
    context = None  # of pages

    def server_flags(self, folder):
        """Has the server know the three clients."""
        tokens = os.path.join(folder, ".tokens")
        trust.write(tokens, "".join(
            trust.token_line(name, "read" if name == "watch" else "infer,read", token)
            for name, token in TOKENS.items()))
        return [f"--auth-token-file={tokens}", "--open-health"]

    def attacker(self, programs, name, seconds, path):
        """Returns its command, which writes its account to the path."""
        if name == GREEDY:
            return bench(programs, GREED * RATE, seconds - WARM_UP_S, path,
                         "--connections", GREEDY_CONNECTIONS, *authorization(GREEDY))
        return [sys.executable, measuring.ROOT / "tests/e2e/hostile_clients.py", name,
                measuring.ADDRESS, TOKENS[GREEDY], seconds, path]


@contextlib.contextmanager
def server(programs, scene):
    """Runs it, and gives its process."""
    models = {name: ferry_process.MODELS[name] for name in hostile_clients.MODELS}
    ferry_process.MODELS["sim"] = ferry_process.sim_config(
        MAX_BATCH, alpha_ms=ALPHA_MS, beta_ms=BETA_MS)
    folder = ferry_process.write_repository(models)
    try:
        with measuring.server(
                programs, "--model-repository", folder, "--device-instances", 2,
                *scene.server_flags(folder), model="*") as process:
            yield process
    finally:
        shutil.rmtree(folder)


def ended_connections(scene):
    """Returns ferry_connections_ended_total by reason."""
    text = measuring.page("/metrics", headers=dict(
        [("Authorization", f"Bearer {TOKENS['watch']}")]), context=scene.context)
    return {line.split('"')[1]: int(float(line.rsplit(" ", 1)[1]))
            for line in text.splitlines()
            if line.startswith("ferry_connections_ended_total{")}


# --- what is watched, and the clients ---

class Watch:
    """A thread that looks at the server's process each second, while it is
    entered."""

    def __init__(self, pid):
        self._pid = pid
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._looks = []

    def _look(self):
        while True:
            self._looks.append({
                "at": time.monotonic(),
                "mib": round(measuring.resident_mb(self._pid) * 1e6 / 2**20, 1),
                "files": len(os.listdir(f"/proc/{self._pid}/fd")),
                "processor_s": measuring.cpu_seconds(self._pid)})
            if self._ends.wait(1):
                return

    def since(self, begin):
        """Returns what was seen since then: a list each, by the second."""
        looks = [look for look in self._looks if look["at"] >= begin]
        return {name: [look[name] for look in looks] for name in self._looks[0]}

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()


def point_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["runs"][0]["points"][0]


def honest(programs, scene, seconds, watch):
    """Returns what the honest client had of the server in so many seconds."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/honest.json"
        command = bench(programs, RATE, seconds, path, "--connections", 1,
                        *scene.honest_flags)
        # It ends with 1 where no request was answered, and has a result.
        measuring.run(["sh", "-c", '"$@" || [ -e "$0" ]', path, *command])
        point = point_of(path)
    seen = watch.since(begin + WARM_UP_S)
    used, at = seen["processor_s"], seen["at"]
    return {"planned": point["planned"], "ok": point["ok"],
            "ok_share": point["ok"] / point["planned"],
            "ok_rate": point["ok"] / point["window_s"], "failed": point["errors"],
            "ms": {name: round(point["latency"][f"{name}_us"] / 1e3, 2)
                   for name in ("p50", "p90", "p99", "max")},
            "lag_p99_ms": round(point["send_lag"]["p99_us"] / 1e3, 2),
            "server_cores": round((used[-1] - used[0]) / (at[-1] - at[0]), 3),
            "mib": seen["mib"], "files": seen["files"],
            "series": [{"end_s": round(one["end_s"], 2),
                        "ok": one["planned"] - one["failed"],
                        "p99_ms": round(one["p99_us"] / 1e3, 2)}
                       for one in point["series"]]}


@contextlib.contextmanager
def attackers(programs, scene, names, seconds):
    """Runs them for so long, and gives a dict that has, once they have ended, what
    each sent and what came back."""
    accounts = {}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        children = {}
        for name in names:
            command = scene.attacker(programs, name, seconds, f"{folder}/{name}")
            children[name] = stack.enter_context(measuring.process(
                ["nice", "-n", "19", *command], lambda: True))
        yield accounts
        for name, child in children.items():
            child.wait(STOP_S)
            if name == GREEDY:
                point = point_of(f"{folder}/{name}")
                accounts[name] = {
                    "sent": {"requests": point["planned"]},
                    "back": {"OK": point["ok"], **point["errors"]}}
            else:
                with open(f"{folder}/{name}", encoding="utf-8") as file:
                    accounts[name] = json.load(file)
            accounts[name]["seconds"] = seconds


def attacked(programs, names, seconds, quiet_seconds, after_seconds, scene=Scene()):
    """Returns the honest client's phases around an attack by those names, and what it
    cost, on a server of its own."""
    cores = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        with measuring.on_cores(cores[:-1] or cores):
            child = stack.enter_context(server(programs, scene))
        stack.enter_context(measuring.on_cores(cores[-1:]))
        measuring.say(f"{', '.join(names)}: {seconds:.0f} s")
        with Watch(child.pid) as watch:
            before = honest(programs, scene, quiet_seconds, watch)
            begin = time.monotonic()
            with attackers(programs, scene, names,
                           seconds + START_S + WARM_UP_S) as accounts:
                time.sleep(START_S)
                meanwhile = honest(programs, scene, seconds, watch)
                ended = ended_connections(scene)
            after = (honest(programs, scene, after_seconds, watch) if after_seconds
                     else None)
            is_alive = child.poll() is None
            mib = watch.since(begin)["mib"]
    run = {"attackers": names, "before": before, "meanwhile": meanwhile, "after": after,
           "accounts": accounts, "ended": ended, "is_alive": is_alive, "mib": mib}
    return run | judged(run, scene.most_mib)


def judged(run, most_mib):
    """Returns what is claimed of a run, and what of it holds. The better of the phases
    without attackers is what the p99 is held against: nothing that else happens on the
    machine makes one better."""
    before, meanwhile, after = run["before"], run["meanwhile"], run["after"]
    quiet_p99 = min(phase["ms"]["p99"] for phase in (before, after) if phase)
    growth = max(run["mib"]) - before["mib"][-1]
    rate_ratio = meanwhile["ok_share"] / before["ok_share"]
    p99_ratio = meanwhile["ms"]["p99"] / quiet_p99 if meanwhile["ok"] else None
    return {"rate_ratio": rate_ratio, "quiet_p99_ms": quiet_p99, "p99_ratio": p99_ratio,
            "growth_mib": growth, "holds": {
                "rate": rate_ratio >= LEAST_RATE,
                "p99": p99_ratio is not None and p99_ratio <= MOST_P99,
                "memory": growth < most_mib,
                "alive": run["is_alive"] and (after is None or after["ok"] > 0)}}


# --- the page ---

def counts(by_name):
    return ", ".join(f"{name} {count}" for name, count in by_name.items()) or "-"


def mark(value, holds):
    return value if holds else f"{value}, **does not hold**"


def cost_row(what, run):
    phase, holds = run["meanwhile"], run["holds"]
    return [what, mark(f"{run['rate_ratio']:.3f}", holds["rate"]),
            f"{run['quiet_p99_ms']:.1f} / {phase['ms']['p99']:.1f}",
            mark("-" if run["p99_ratio"] is None else f"{run['p99_ratio']:.2f}",
                 holds["p99"]), counts(phase["failed"]),
            mark(f"{run['growth_mib']:.1f}", holds["memory"]),
            f"{run['before']['server_cores']:.2f} / {phase['server_cores']:.2f}",
            counts({name: count for name, count in run["ended"].items() if count})]


def cost_table(runs, most_mib=MOST_MIB):
    return measuring.table(
        ["attackers", f"OK rate, of before (>= {LEAST_RATE:g})",
         "p99 ms, quiet / meanwhile", f"ratio (<= {MOST_P99:g})", "failed",
         f"MiB more (< {most_mib})", "server's cores, before / meanwhile",
         "connections ended"],
        [cost_row(what, run) for what, run in runs.items()])


def phase_row(what, name, phase):
    ms = phase["ms"]
    return [what, name, phase["planned"], phase["ok"], counts(phase["failed"]),
            f"{phase['ok_rate']:.1f}",
            f"{ms['p50']:.1f} / {ms['p90']:.1f} / {ms['p99']:.1f} / {ms['max']:.0f}",
            f"{phase['lag_p99_ms']:.2f}",
            f"{phase['mib'][0]:.0f} / {max(phase['mib']):.0f} / {phase['mib'][-1]:.0f}",
            max(phase["files"])]


def account_row(name, account):
    seconds = account["seconds"]
    what = (f"one identity, {GREED} times the honest rate over {GREEDY_CONNECTIONS} "
            "connections" if name == GREEDY else " ".join(
                ATTACKERS[name].__doc__.split()).rstrip("."))
    return [name, what, counts({key: f"{count / seconds:.1f}" for key, count in
                                account["sent"].items()}), counts(account["back"])]


def page_of(rounds, alone):
    whole = next(iter(rounds.values()))
    return (
        f"A simulated device that carries {CAPACITY:.0f} requests a second in batches "
        f"of {MAX_BATCH}; the honest client sends {RATE:.0f} a second at random "
        f"moments, whatever the answers, each with a deadline of {DEADLINE_MS} ms. The "
        "server has a core of its own; all clients share the other, where the honest "
        f"one comes first (nice {os.nice(0)}, attackers 19 more). Attackers keep to a "
        "pace, as the machine would else be measured instead of the server. Latencies "
        "are of what is OK, from the planned send; the quiet one is the better of "
        "before and after. Memory is resident, looked at each second; it grows from "
        "the end of the phase before to the most while and after.\n\n"
        "## What it cost the honest client\n\n" + cost_table(rounds | alone) +
        "\n## Phases\n\n" +
        measuring.table(
            ["attackers", "phase", "planned", "OK", "failed", "OK/s",
             "ms: p50 / p90 / p99 / longest", "sent late, p99 ms",
             "MiB: first / most / last", "descriptors"],
            [phase_row(what, name, run[name]) for what, run in rounds.items()
             for name in ("before", "meanwhile", "after")]) +
        "\n## What the attackers sent, all at once\n\n" +
        measuring.table(["attacker", "what", "sent a second", "came back, in all"],
                        [account_row(name, account) for name, account in
                         whole["accounts"].items()]))


def measure(options):
    result = measuring.describe(
        "hostile", "hostile clients of eight kinds for 5 minutes: an honest client "
        f"keeps {LEAST_RATE:g} of its rate and at most {MOST_P99:g} times its p99, and "
        f"the server's memory grows less than {MOST_MIB} MiB", options.command)
    seconds = options.seconds or SECONDS
    quiet = min(QUIET_SECONDS, seconds)
    short = min(ALONE_SECONDS, seconds)
    rounds = {"all": attacked(options.programs, ALL, seconds, quiet, quiet),
              f"all but {GREEDY}": attacked(options.programs, tuple(ATTACKERS), seconds,
                                            short, short)}
    alone = {name: attacked(options.programs, (name,), short, short / 2, 0)
             for name in ALL}
    result |= {"rounds": rounds, "alone": alone,
               "passed": all(rounds["all"]["holds"].values())}
    return result, page_of(rounds, alone)
