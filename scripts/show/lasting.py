"""soak: half an hour at 70 % load over TLS with tokens, with cancels, deadlines, wrong
requests, models that are loaded again, certificates and tokens that are replaced and
scrapes: is memory flat, and are descriptors and threads those of the start?

The device is simulated, as for E6, so that 70 % stays 70 %. Each minute has a
ferry-bench of its own, with a new connection and the newest token; in its middle
certificate and tokens are replaced. One connection stays open throughout. Needs numpy
and tritonclient, of .venv.
"""

import collections
import concurrent.futures
import contextlib
import os
import pathlib
import re
import secrets
import shutil
import ssl
import sys
import tempfile
import threading
import time
from unittest import mock

import long_run
import measuring
import simulating

ALPHA_MS, BETA_MS, MAX_BATCH = 5, 0.2, 64
OTHER_ALPHA_MS = 5.001  # of the config that is loaded by turns
SATURATION = MAX_BATCH / (ALPHA_MS + BETA_MS * MAX_BATCH) * 1e3  # rows a second
LOAD = 0.7
MAX_ROWS = 8  # of a request, 1 to this
RATE = LOAD * SATURATION / ((1 + MAX_ROWS) / 2)
SECONDS = 1800
ROUND_S = 60
WARM_UP_S = 60
RELOAD_S = 10
QUIET_S = 60  # without a client but the one that stays, before things are counted
FITTED_FROM_S = 300
TAKEN_S = 60  # in which new certificates and tokens are in force
MIB_PER_HOUR = 60e6 / 2**20  # in an MB a minute
MOST_SLOPE = 1.0  # MiB an hour, the upper end of the interval
# gRPC's executors begin a thread where work waits, up to so many each, and end none. Its
# timers begin one where all of theirs are at work, and know no bound (timer_manager.cc
# of gRPC): here they may have as many.
GROWING_POOLS = {"default-executo", "resolver-execut", "grpc_global_tim"}
MOST_OF_POOL = 2 * os.cpu_count()
LEAST_SENT = 0.95  # of the planned requests
# A server that is built for a sanitizer is slower: it has a part of the rate.
SANITIZED_SECONDS = 600
SANITIZERS = {"asan": ("ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS", 0.5),
              "tsan": ("TSAN_OPTIONS", 0.1)}
# What ThreadSanitizer cannot judge.
SUPPRESSIONS = measuring.ROOT / "scripts/show/tsan_suppressions.txt"
SCOPES = ("infer", "read", "admin")
CODES = {"OK", "CANCELLED", "DEADLINE_EXCEEDED", "INVALID_ARGUMENT", "NOT_FOUND",
         "RESOURCE_EXHAUSTED"}
SUMMED = ("sent", "answered", "sum_by_code", "answered_twice",
          "answers_to_nothing_sent", "wrong_id", "wrong_rows", "malformed")


class Trust:
    """The certificates and tokens; those of the last two rotations are known."""

    def __init__(self, folder, trust):
        self.trust = trust
        self.authority = trust.Authority(folder)
        self.token_file = os.path.join(folder, "tokens")
        self.number = 0
        self.tokens = {}
        self.lines = ""
        self.tokens = self.replace()
        self.context = ssl.create_default_context(
            cafile=self.authority.certificate)

    def replace(self):
        """Writes new ones, and returns the tokens."""
        self.number += 1
        tokens = {scope: secrets.token_hex(32) for scope in SCOPES}
        new = "".join(
            self.trust.token_line(f"{scope}-{self.number}", scope, token)
            for scope, token in tokens.items())
        self.trust.write(self.token_file, self.lines + new)
        self.lines = new
        self.pair = self.authority.sign(f"server-{self.number}", "server")
        return tokens

    def flags(self):
        return [f"--tls-key={self.pair[0]}", f"--tls-cert={self.pair[1]}",
                f"--auth-token-file={self.token_file}", "--open-health"]

    def page(self, path):
        headers = dict(self.trust.bearer(self.tokens["read"]))
        return measuring.page(path, headers=headers, context=self.context)

    def metric(self, name):
        return measuring.sum_of(self.page("/metrics").splitlines(), name)

    def rotate(self):
        """Returns when new ones are in force; then they are used."""
        before = self.metric("ferry_trust_reloads_total")
        tokens = self.replace()
        until = time.monotonic() + TAKEN_S
        while self.metric("ferry_trust_reloads_total") != before + 2:
            if time.monotonic() > until:
                raise measuring.Failure("new certificates were not taken")
            time.sleep(0.1)
        self.tokens = tokens

    def client(self, scope, triton):
        """Returns a client over TLS that shows the newest token."""
        # pylint: disable=import-outside-toplevel
        from tritonclient.grpc import InferenceServerClientPlugin
        known = self

        class ShowToken(InferenceServerClientPlugin):

            def __call__(self, request):
                request.headers.update(known.trust.bearer(known.tokens[scope]))
        client = triton.InferenceServerClient(
            measuring.ADDRESS, ssl=True,
            root_certificates=self.authority.certificate)
        client.register_plugin(ShowToken())
        return client


class Models:
    """The folder of models: `sim`, and `scale`, whose answers name a version."""

    def __init__(self, folder, scale):
        self.folder = folder
        self.scale = scale
        self.count = 0
        self.write_sim(ALPHA_MS)
        scale.write_config(folder, "scale", scale.SCALE_CONFIG)
        scale.write_version(folder, 1)

    def write_sim(self, alpha_ms):
        os.makedirs(os.path.join(self.folder, "sim", "1"), exist_ok=True)
        self.scale.write_config(self.folder, "sim", simulating.config(
            alpha_ms, BETA_MS, MAX_BATCH))

    def reload(self, admin, client):
        """Loads both by turns in two ways; a version of scale comes and goes."""
        self.count += 1
        newest = 1 + self.count % 2
        alpha_ms = OTHER_ALPHA_MS if newest == 2 else ALPHA_MS
        self.write_sim(alpha_ms)
        admin.load_model("sim")
        config = client.get_model_config("sim").config
        told = config.parameters["ferry.alpha_ms"].string_value
        if float(told) != alpha_ms:
            raise measuring.Failure(f"expected alpha {alpha_ms}, got {told}")
        if newest == 2:
            self.scale.write_version(self.folder, 2)
        else:
            shutil.rmtree(os.path.join(self.folder, "scale", "2"))
        admin.load_model("scale")
        version = self.scale.ask(client)
        if version != newest:
            raise measuring.Failure(f"expected version {newest}, got {version}")


class Beside:
    """Does things from time to time in threads, until `with` ends, and keeps how
    often they were done and what failed."""

    def __init__(self):
        self.counts = collections.Counter()
        self.failed = []
        self.stop = threading.Event()
        self.threads = []

    def try_to(self, name, do):
        try:
            do()
        except Exception as error:  # pylint: disable=broad-except
            self.failed.append(f"{name}: {error!r}")
        else:
            self.counts[name] += 1

    def every(self, seconds, name, do):
        def run():
            due = time.monotonic() + seconds
            while not self.stop.wait(max(0, due - time.monotonic())):
                self.try_to(name, do)
                due = max(due + seconds, time.monotonic())
        self.threads.append(threading.Thread(target=run))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def held(pid):
    """Returns what a process holds."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as stream:
        anonymous = next(line for line in stream if line.startswith("RssAnon:"))
    return {"mb": round(measuring.resident_mb(pid), 3),
            "anonymous_mb": round(int(anonymous.split()[1]) * 1024 / 1e6, 3),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(os.listdir(f"/proc/{pid}/task"))}


def held_in_quiet(pid):
    """Returns it, with the names of the threads, after a while without load."""
    time.sleep(QUIET_S)
    names = collections.Counter()
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/comm"):
        with contextlib.suppress(FileNotFoundError):
            names[path.read_text(encoding="utf-8").strip()] += 1
    return held(pid) | {"thread_names": dict(sorted(names.items()))}


class Soak:
    """The running server, its clients, and what they saw."""

    def __init__(self, options, server, trust, models, rate=RATE):
        self.programs = options.programs
        self.rate = rate
        self.server = server
        self.trust = trust
        self.models = models
        self.accounts = []
        self.samples = collections.defaultdict(list)
        self.counts = collections.Counter()
        self.failed = []

    def load(self, seconds):
        """One ferry-bench, with the tokens of now."""
        self.accounts.append(self.programs.json_of(
            "ferry-bench", "soak", "-u", measuring.ADDRESS, "-m", "sim", "--tls",
            "--tls-ca", self.trust.authority.certificate, "--header",
            f"authorization:Bearer {self.trust.tokens['infer']}",
            "--duration-secs", str(seconds), "--rate", f"{self.rate:.1f}",
            "--burst-factor", "1", "--max-rows", str(MAX_ROWS),
            "--wait-ready-secs", str(TAKEN_S), "--seed",
            str(len(self.accounts) + 1)))

    def sample(self, begin):
        self.samples["seconds"].append(round(time.monotonic() - begin, 3))
        for name, value in held(self.server.pid).items():
            self.samples[name].append(value)

    def run(self, rounds, seconds, admin, client):
        """Loads for so many rounds, with all that goes on beside."""
        beside = Beside()
        begin = time.monotonic()
        beside.every(1, "samples", lambda: self.sample(begin))
        beside.every(1, "scrapes", lambda: self.trust.page("/metrics"))
        beside.every(1, "answers over the connection that stays",
                     lambda: self.models.scale.ask(client))
        beside.every(RELOAD_S, "reloads of each model",
                     lambda: self.models.reload(admin, client))
        with beside, concurrent.futures.ThreadPoolExecutor(1) as pool:
            for number in range(rounds):
                loaded = pool.submit(beside.try_to, "rounds of load",
                                     lambda: self.load(seconds))
                time.sleep(seconds / 2)
                beside.try_to("rotations", self.trust.rotate)
                loaded.result()
                measuring.say(f"{number + 1} of {rounds} rounds, "
                              f"{held(self.server.pid)}, {len(beside.failed)} failed")
        self.counts.update(beside.counts)
        self.failed += beside.failed

    def forget(self):
        """After the warm-up; what failed in it counts."""
        for kept in (self.accounts, self.samples, self.counts):
            kept.clear()


def added(accounts):
    """Returns the sums of ferry-bench's accounts."""
    codes = collections.Counter()
    for account in accounts:
        codes.update(account["by_code"])
    return {name: sum(account[name] for account in accounts)
            for name in SUMMED} | {
        "by_code": dict(sorted(codes.items())),
        "balances": bool(accounts) and all(account["balances"]
                                           for account in accounts)}


def refused_by(page):
    """Returns the requests that were refused since the server's start, by reason."""
    counts = collections.Counter()
    for reason, count in re.findall(
            r'^ferry_refused_total{.*reason="(\w+)".*} (\S+)$', page, re.M):
        counts[reason] += int(float(count))
    return {reason: count for reason, count in sorted(counts.items()) if count}


def fit(samples, seconds):
    """Returns the slope of memory after its first minutes, with its interval."""
    from_s = min(FITTED_FROM_S, seconds * FITTED_FROM_S / SECONDS)
    kept = [i for i, at in enumerate(samples["seconds"]) if at >= from_s]
    rise, half = long_run.slope([samples["seconds"][i] for i in kept],
                                [samples["mb"][i] for i in kept])
    return {"from_s": from_s, "mib_per_hour": rise * MIB_PER_HOUR,
            "half_interval": half * MIB_PER_HOUR}


def ends_as_it_must(load):
    """Whether each request was answered once, with a code that may come."""
    return load["balances"] and set(load["by_code"]) <= CODES


def faults(result):
    """Returns what does not hold: the load, memory, what is left over, outcomes."""
    slope, load = result["memory_fit"], result["load"]
    found = []
    if load["sent"] < LEAST_SENT * result["planned"]:
        found.append(f"{load['sent'] / result['planned']:.0%} of the planned requests "
                     "were sent, so the load was less than it was to be")
    if slope["mib_per_hour"] + slope["half_interval"] > MOST_SLOPE:
        found.append("memory is not shown to be flat")
    start, end = result["start"], result["end"]
    if end["descriptors"] > start["descriptors"]:
        found.append(f"{end['descriptors']} descriptors instead of "
                     f"{start['descriptors']}")
    for name, threads in end["thread_names"].items():
        most = (MOST_OF_POOL if name in GROWING_POOLS
                else start["thread_names"].get(name, 0))
        if threads > most:
            found.append(f"{threads} threads {name} instead of {most}")
    if not ends_as_it_must(load):
        found.append("requests ended as they must not")
    if result["failed"]:
        found.append(f"{len(result['failed'])} failed of what went on beside")
    return found


@contextlib.contextmanager
def soaked_server(options, servers=None, rate=RATE):
    """Gives a Soak, and the clients whose connections stay. The server is of the
    programs `servers`, or as the others."""
    # pylint: disable=import-outside-toplevel
    sys.path += [str(measuring.ROOT / "tests" / name)
                 for name in ("e2e", "support")]
    import scale_model
    import tritonclient.grpc as triton
    import trust as tests_trust
    with tempfile.TemporaryDirectory() as folder, \
            tempfile.TemporaryDirectory() as model_folder:
        trust = Trust(folder, tests_trust)
        models = Models(model_folder, scale_model)
        with measuring.server(
                servers or options.programs, "--model-repository", model_folder,
                "--model-control-mode", "explicit", "--load-model", "scale",
                *trust.flags(), model="sim") as server, \
                trust.client("admin", triton) as admin, \
                trust.client("infer", triton) as client:
            yield Soak(options, server, trust, models, rate), admin, client


def measure(options):
    seconds = options.seconds or SECONDS
    rounds = max(1, round(seconds / ROUND_S))
    result = measuring.describe(
        "soak", f"{seconds:.0f} s at {LOAD:.0%} load over TLS, with cancels, "
        "deadlines, reloads, rotations and scrapes: after "
        f"{FITTED_FROM_S / 60:.0f} minutes memory grows at most {MOST_SLOPE:.0f} MiB "
        "an hour, descriptors and threads are those of the start, and nothing fails",
        options.command)
    with soaked_server(options) as (soak, admin, client):
        soak.run(1, WARM_UP_S, admin, client)
        soak.forget()
        start = held_in_quiet(soak.server.pid)
        rows = soak.trust.metric("ferry_rows_total")
        begin = time.monotonic()
        soak.run(rounds, seconds / rounds, admin, client)
        took = time.monotonic() - begin
        rows = soak.trust.metric("ferry_rows_total") - rows
        failures = soak.trust.metric("ferry_trust_reload_failures_total")
        refused = refused_by(soak.trust.page("/metrics"))
        end = held_in_quiet(soak.server.pid)
        if failures:
            soak.failed.append(f"{failures:.0f} rotations were not taken")
        if soak.server.poll() is not None:
            soak.failed.append(f"ferry-server ended with {soak.server.poll()}")
    result |= {"rate": RATE, "planned": RATE * seconds, "took_s": took,
               "start": start, "end": end, "computed_share": rows / took / SATURATION,
               "load": added(soak.accounts), "refused": refused,
               "counts": dict(soak.counts),
               "failed": soak.failed, "memory_fit": fit(soak.samples, seconds),
               "samples": dict(soak.samples)}
    return judged(result), page_of(result)


def sanitize(options, name, seconds):
    """Soaks a server that is built for a sanitizer; returns what it reported."""
    variables, share = SANITIZERS[name]
    built = measuring.ROOT / f"build/{name}-server"
    servers = measuring.Programs(built / "bin")
    rate = RATE * share
    with tempfile.TemporaryDirectory() as folder:
        settings = f"log_path={folder}/report:exitcode=66"
        if name == "tsan":
            settings += f":suppressions={SUPPRESSIONS}:print_suppressions=1"
        # A sanitizer's dlopen() looks by its own run path, not by the program's.
        changed = (dict.fromkeys(variables.split(), settings) |
                   {"LD_LIBRARY_PATH": str(built / "lib")})
        with mock.patch.dict(os.environ, changed):
            with soaked_server(options, servers, rate) as (soak, admin, client):
                begin = time.monotonic()
                rounds = max(1, round(seconds / ROUND_S))
                soak.run(rounds, seconds / rounds, admin, client)
                took = time.monotonic() - begin
            code = soak.server.returncode
        told = [path.read_text(encoding="utf-8", errors="replace")
                for path in sorted(pathlib.Path(folder).iterdir())]
    suppressed = r"(?m)^(?: *(\d+) (race:.*)|ThreadSanitizer: Matched .*)$"
    matched = collections.Counter()
    for count, line in re.findall(suppressed, "".join(told)):
        matched[line] += int(count or 0)
    return {"sanitizer": name, "rate": rate, "took_s": took, "exit_code": code,
            "reports": [text for text in told if re.sub(suppressed, "", text).strip()],
            "suppressed": {line: count for line, count in matched.items() if line},
            "load": added(soak.accounts),
            "counts": dict(soak.counts), "failed": soak.failed}


def sanitizers(options):
    seconds = options.seconds or SANITIZED_SECONDS
    result = measuring.describe(
        "soak-sanitizers", f"{seconds:.0f} s each of the soak's load, at a part of its "
        "rate, on servers built for AddressSanitizer with UBSan and for "
        "ThreadSanitizer: no report, and nothing fails", options.command)
    runs = [sanitize(options, name, seconds) for name in SANITIZERS]
    result |= {"runs": runs, "passed": all(
        not run["reports"] and run["exit_code"] == 0 and not run["failed"] and
        ends_as_it_must(run["load"]) for run in runs)}
    result["verdict"] = "holds" if result["passed"] else "does not hold"
    rows = []
    for run in runs:
        codes = ", ".join(f"{code} {count}"
                          for code, count in run["load"]["by_code"].items())
        beside = ", ".join(f"{name} {count}"
                           for name, count in sorted(run["counts"].items()))
        rows.append([run["sanitizer"], f"{run['took_s']:.0f}", f"{run['rate']:.0f}",
                     run["load"]["sent"], codes, beside, len(run["failed"]),
                     len(run["reports"]), run["exit_code"]])
    page = measuring.table(
        ["built for", "seconds", "requests/s wanted", "sent", "answers", "beside",
         "failed", "reports", "exit code"], rows)
    page += ("\nReports left out: of libraries that are not compiled for "
             "ThreadSanitizer, and of `ferry::` code that their threads run one after "
             f"the other (`{SUPPRESSIONS.relative_to(measuring.ROOT)}` says why), by "
             "line: " + (", ".join(
                 f"`{line}` {count}" for run in runs
                 for line, count in run["suppressed"].items()) or "none") + ".\n")
    for run in runs:
        page += "".join(f"\n- {run['sanitizer']}: {one}" for one in run["failed"][:10])
        page += "".join(f"\n```\n{one[:4000]}\n```\n" for one in run["reports"][:5])
    return result, page + "\n"


def judged(result):
    found = faults(result)
    return result | {"passed": not found, "verdict": "; ".join(
        ["does not hold", *found]) if found else "holds"}


def page_of(result):
    load, slope, samples = (result[name] for name in
                            ("load", "memory_fit", "samples"))
    page = (f"A simulated device, in real time: s(b) = {ALPHA_MS} + {BETA_MS} b ms, "
            f"batches of {MAX_BATCH} at most, so at most {SATURATION:.0f} rows/s. "
            f"{result['rate']:.0f} requests/s of 1 to {MAX_ROWS} rows are {LOAD:.0%} "
            f"of it, {result['planned']:.0f} in all; {load['sent']} were sent. "
            f"{result['computed_share']:.0%} of the rows/s were computed: some "
            "requests are wrong, cancelled or late before that.\n\n"
            f"Resident memory after the first {slope['from_s']:.0f} s: "
            f"{slope['mib_per_hour']:+.3f} ± {slope['half_interval']:.3f} MiB/h (95 %; "
            f"least squares over the means of {long_run.BLOCKS} blocks, Student's t, "
            "of one reading a second).\n\n")
    page += measuring.table(
        ["ferry-server", "after warm-up, idle", "most under load", "after it, idle"],
        [[label, result["start"][name], max(samples[name]), result["end"][name]]
         for name, label in (("mb", "MB resident"), ("anonymous_mb", "of it anonymous"),
                             ("descriptors", "descriptors"),
                             ("threads", "threads"))])
    gone, come = (collections.Counter(result[a]["thread_names"]) -
                  collections.Counter(result[b]["thread_names"])
                  for a, b in (("start", "end"), ("end", "start")))
    page += (f"\nThreads that came: {', '.join(come.elements()) or 'none'}; that went: "
             f"{', '.join(gone.elements()) or 'none'}. gRPC's executors and timers may have "
             f"{MOST_OF_POOL} threads each, and end none.\n")
    page += (f"\nSent {load['sent']}, answered {load['answered']}, sum by code "
             f"{load['sum_by_code']}, answered twice {load['answered_twice']}, "
             f"another's id {load['wrong_id']}, another's rows "
             f"{load['wrong_rows']}.\n\n")
    page += measuring.table(["code", "answers"], load["by_code"].items())
    refused = ", ".join(f"{count} {reason}"
                        for reason, count in result["refused"].items())
    page += f"\nRefused, with the warm-up: {refused or 'none'}.\n"
    page += "\n" + measuring.table(["beside", "times"],
                                   sorted(result["counts"].items()))
    page += f"\nFailed: {len(result['failed'])}.\n"
    return page + "".join(f"- {one}\n" for one in result["failed"][:20])
