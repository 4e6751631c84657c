"""chaos: three servers behind HAProxy and Envoy while they are killed, stopped,
drained and given other files, planned ends without retries, and SIGTERMs to single
servers; by tests/chaos. Half an hour."""

import json
import os
import re
import sys
import tempfile

import measuring

CHAOS = measuring.ROOT / "tests" / "chaos"
SEED = 7
SECONDS = 600  # of all events behind a proxy; others take a share of it
LEAST_KILLS = 60  # in so long
SIGTERMS = 100
NAMES = {"haproxy": "HAProxy", "envoy": "Envoy"}
KILLS = ("--kinds=kill", "--least-ok=0")
NO_PROXY, NO_CLIENT = "--no-proxy-retries", "--no-client-retries"
# What: share of the seconds, flags, whether it is judged.
RUNS = {
    "all events": (1, (), True),
    "planned SIGTERM alone, no retries": (
        0.1, ("--kinds=sigterm,restart", "--least-ok=1", NO_CLIENT, NO_PROXY),
        True),
    "kill -9, the client's retries alone": (0.04, (*KILLS, NO_PROXY), False),
    "kill -9, the proxy's retries alone": (0.04, (*KILLS, NO_CLIENT), False),
    "kill -9, no retries": (0.04, (*KILLS, NO_CLIENT, NO_PROXY), False),
}


def environment(programs, **more):
    return os.environ | {"FERRY_SERVER": programs.path("ferry-server"),
                         "PYTHONDONTWRITEBYTECODE": "1"} | more


def chaos(options, proxy, what):
    """Returns the result of a run, of one that fails, too."""
    share, flags, is_judged = RUNS[what]
    seconds = round(share * (options.seconds or SECONDS))
    if is_judged and what == "all events":
        flags = (*flags, f"--least-kills={LEAST_KILLS * seconds // SECONDS}")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/result.json"
        words = [f"--proxy={proxy}", f"--seed={SEED}", f"--seconds={seconds}",
                 *flags]
        measuring.say(f"{NAMES[proxy]}: {what}, {seconds} s")
        measuring.run(["sh", "-c", '"$@" || [ $? = 1 ]', "sh", sys.executable,
                       CHAOS / "chaos.py", *words, "--json", path],
                      env=environment(options.programs))
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    return result | {"command": " ".join(["tests/chaos/chaos.py", *words]),
                     "load_average_after": os.getloadavg()}


def sigterms(options):
    """Returns the outcomes of the requests by kind of trial."""
    measuring.say(f"{SIGTERMS} SIGTERMs")
    out = measuring.run(
        ["sh", "-c", '"$@" 2>&1 || [ $? = 1 ]', "sh", sys.executable, "-m",
         "unittest", "sigterm_test"],
        cwd=CHAOS, env=environment(options.programs, FERRY_SEED=str(SEED),
                                   FERRY_SIGTERMS=str(SIGTERMS)))
    return {"kinds": {name: json.loads(counts.replace("'", '"')) for name, counts in
                      re.findall(r"^\.?(\w+): (\{.*\})$", out, re.M)},
            "passed": out.rstrip().endswith("OK"),
            "tail": "" if out.rstrip().endswith("OK") else out[-4000:]}


def row(proxy, what, result):
    outcomes = result["outcomes"]
    others = ", ".join(f"{code} {count}" for code, count in outcomes.items()
                       if code != "OK")
    ms = result["latency_ms"]
    return [NAMES[proxy], what, f"{result['seconds']:g}", result["sent"],
            result["lost"], result["twice"], result["wrong"],
            f"{result['ok_ratio']:.4%}", others or "-",
            result["ends"].get("-9", 0), result["ends"].get("0", 0),
            f"{ms['p50']:g} / {ms['p99']:g} / {ms['longest']:g}"]


def events_row(proxy, result):
    return [NAMES[proxy], ", ".join(f"{kind} {count}" for kind, count in
                                    sorted(result["events"].items()))]


def failures(runs):
    """Returns what was not as promised, and the first requests that failed."""
    lines = []
    for proxy, by_what in runs.items():
        for what, result in by_what.items():
            if not RUNS[what][2]:
                continue
            lines += [f"- {NAMES[proxy]}, {what}: {complaint}"
                      for complaint in result["complaints"]]
            lines += [f"- {NAMES[proxy]}, {what}: at {told['at']} s request "
                      f"{told['request']} {told['code']}: {told['text'][:160]}"
                      for told in result["not_ok"]]
    return "\n".join(["", "Not OK:", "", *lines, ""]) if lines else ""


def measure(options):
    result = measuring.describe(
        "chaos", "with the documented retries no request is lost, answered twice or "
        "with other rows, and 99.9 % are OK, through 60 kills behind each proxy; "
        "planned SIGTERM fails none without a retry", options.command)
    runs = {proxy: {what: chaos(options, proxy, what) for what in RUNS}
            for proxy in NAMES}
    ends = sigterms(options)
    result |= {"runs": runs, "sigterms": ends, "passed": ends["passed"] and all(
        run["passed"] for by_what in runs.values()
        for what, run in by_what.items() if RUNS[what][2])}
    page = (
        f"`tests/chaos`, seed {SEED}: three servers with TLS and tokens, an open loop "
        "of 100 requests a second; the client's retries are those of "
        "[reliability](../../docs/reliability.md), the proxies' those of the files "
        "that are shipped. One server always serves, in the proxy's eyes, too. Client, proxy and servers share "
        "the cores, so the times are no measurement.\n\n" +
        measuring.table(
            ["proxy", "what", "s", "sent", "lost", "twice", "wrong rows", "OK",
             "others", "kill -9", "drained", "ms: p50 / p99 / longest"],
            [row(proxy, what, run) for proxy, by_what in runs.items()
             for what, run in by_what.items()]) +
        "\nThe longest are of requests that a stopped server held (SIGSTOP). The "
        "last three of each proxy are there to show what the retries are for.\n\n" +
        measuring.table(["proxy", "events"], [
            events_row(proxy, by_what["all events"])
            for proxy, by_what in runs.items()]) + failures(runs) +
        f"\n## {SIGTERMS} SIGTERMs to single servers\n\n"
        "At seeded moments, without proxy and retries: with little to do, with a full "
        "queue, with a batch that hangs (exit code 4), and a second one while it "
        "drains (exit code 143). Each request had one outcome, and what the server's "
        f"access log has as OK came to its client: "
        f"{'holds' if ends['passed'] else 'does not hold'}.\n\n" +
        measuring.table(["trials", "outcomes of the requests"], [
            [name, ", ".join(f"{code} {count}" for code, count in counts.items())]
            for name, counts in ends["kinds"].items()]))
    return result, page
