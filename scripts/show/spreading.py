"""balancers: 10,000 requests over three servers by each balancer, while one server is
told to end, and what share each server had before.

The servers have TLS and tokens, their device is simulated; the client sends nothing
again. In front: HAProxy, Envoy and nginx with the files of deploy/, and gRPC's own
policies in the client, which finds the servers by a name. Envoy's shares by what
servers say of their load are measured on servers of which one is slower. Then servers
whose batches take seconds end within budgets, as those of machines that a cloud takes
back.
"""

import asyncio
import collections
import json
import os
import re
import sys
import tempfile
import time
import urllib.request

import grpc
import measuring

for name in ("deploy", "chaos", "e2e", "support"):  # both have an envoy_test
    sys.path.append(str(measuring.ROOT / "tests" / name))
# pylint: disable=wrong-import-position
import client as chaos_client  # noqa: E402
import ferry_process  # noqa: E402
import fleet as fleets  # noqa: E402
import ledger as ledgers  # noqa: E402
import names  # noqa: E402
import proxies  # noqa: E402
import trust  # noqa: E402

REQUESTS = 10_000
RATE = 250  # a second
DRAIN_AT = 4_000
LEAST_SHARE = 0.2  # of a third
# What a drain may take, the part of it that is the delay, and a batch's time. A request
# that has just missed a batch takes two.
BUDGETS = ((20, 8, 5), (110, 10, 30))  # seconds
BUDGET_LOAD = 0.3
BATCH_ROWS, MEAN_ROWS = 16, 2  # of a batch, and a request of the client


def policy(name):
    """Returns the options that docs/reliability.md gives, with that policy."""
    return [*chaos_client.documented_options(), ("grpc.service_config", json.dumps(
        {"loadBalancingConfig": [{name: {}}]}))]


class Named(names.Names):
    """The client finds the servers by a name, which one that drains leaves."""

    def __init__(self, servers, ca, _):
        super().__init__(lambda: [one.host for one in servers
                                  if one.state == "up" and one.is_ready])
        self.address = self.target(servers[0].grpc_port)
        self.connect = chaos_client.connect_to(
            grpc.ssl_channel_credentials(trust.read(ca)))

    def wait_until_ready(self):
        pass


# What stands in front, the options of the client, and flags of the servers.
BALANCERS = {
    "HAProxy, deploy/haproxy": (proxies.Haproxy, [], []),
    "Envoy, deploy/envoy": (proxies.Envoy, [], []),
    "Envoy, weighted by load": (proxies.WeightedEnvoy, [],
                                ["--endpoint-load-metrics"]),
    "nginx, deploy/nginx": (proxies.Nginx, [], []),
    "gRPC round_robin": (Named, policy("round_robin"), []),
    "gRPC weighted_round_robin": (Named, policy("weighted_round_robin"),
                                  ["--endpoint-load-metrics"]),
}


def served(fleet):
    """Returns how many requests each server has answered."""
    counts = collections.Counter()
    for server in fleet.servers:
        request = urllib.request.Request(
            f"https://localhost:{server.metrics_port}/metrics",
            headers={"Authorization": f"Bearer {fleet.token}"})
        with urllib.request.urlopen(request, timeout=10,
                                    context=fleet.context) as reply:
            found = re.findall(r"^ferry_requests_total{.*} (\S+)$",
                               reply.read().decode(), re.M)
        counts[server.name] = sum(map(float, found))
    return counts


async def one_run(kind, options, flags):
    with tempfile.TemporaryDirectory() as folder:
        async with fleets.Fleet(folder, *flags, alpha_ms=5,
                                has_one_port=kind is Named) as fleet:
            with kind(fleet.servers, fleet.ca, folder) as balancer:
                await asyncio.to_thread(balancer.wait_until_ready)
                ledger = ledgers.Ledger()
                client = chaos_client.Client(
                    balancer.address, ledger, rate=RATE, seed=1, retries=False,
                    metadata=fleet.metadata, options=options, connect=getattr(
                        balancer, "connect", grpc.aio.insecure_channel))
                is_over = asyncio.Event()
                sending = asyncio.create_task(client.run(is_over))
                while ledger.sent < DRAIN_AT:
                    await asyncio.sleep(0.05)
                shares = await asyncio.to_thread(served, fleet)
                fleet.drain(fleet.servers[1])
                while ledger.sent < REQUESTS:
                    await asyncio.sleep(0.05)
                is_over.set()
                await sending
                if fleet.unexpected or not fleet.ends:
                    raise measuring.Failure(f"servers ended with {fleet.ends}: "
                                            f"{fleet.unexpected}")
    total = sum(shares.values())
    return ledger.counts() | {
        "shares": [shares[name] / total for name in sorted(shares)],
        "told": ledger.told[:5], "latency_ms": client.latency_ms()}


async def one_drain(budget_s, delay_s, batch_s):
    """Ends a server that has batches of seconds to answer."""
    with tempfile.TemporaryDirectory() as folder:
        async with fleets.Fleet(folder, f"--exit-timeout-secs={budget_s - delay_s}",
                                drain_delay_s=delay_s,
                                alpha_ms=1000 * batch_s) as fleet:
            with proxies.Haproxy(fleet.servers, fleet.ca, folder) as balancer:
                await asyncio.to_thread(balancer.wait_until_ready)
                ledger = ledgers.Ledger()
                client = chaos_client.Client(
                    balancer.address, ledger, seed=1, retries=False, only="sim",
                    rate=(BUDGET_LOAD * len(fleet.servers) * BATCH_ROWS / MEAN_ROWS /
                          batch_s),
                    deadline_s=budget_s, metadata=fleet.metadata)
                is_over = asyncio.Event()
                sending = asyncio.create_task(client.run(is_over))
                await asyncio.sleep(3 * batch_s)
                began = time.monotonic()
                fleet.drain(fleet.servers[1])
                while not fleet.ends:
                    await asyncio.sleep(0.05)
                took = time.monotonic() - began
                await asyncio.sleep(3 * batch_s)
                is_over.set()
                await sending
                if fleet.unexpected:
                    raise measuring.Failure(f"servers ended with {fleet.ends}: "
                                            f"{fleet.unexpected}")
    return ledger.counts() | {"took_s": took, "told": ledger.told[:5],
                              "latency_ms": client.latency_ms()}


def drains():
    """Returns a drain of each budget, and whether none lost a request."""
    runs, holds = {}, True
    for budget_s, delay_s, batch_s in BUDGETS:
        measuring.say(f"a drain within {budget_s} s")
        run = asyncio.run(one_drain(budget_s, delay_s, batch_s))
        runs[budget_s] = run
        holds &= run["outcomes"] == {"OK": run["sent"]} and run["took_s"] <= budget_s
    return runs, holds


def drains_page(runs):
    return ("\nA server of three behind HAProxy ends while its batches take seconds; "
            "nothing is sent again.\n\n" + measuring.table(
                ["budget, s", "delay, s", "a batch, s", "sent", "failed",
                 "the end took, s", "longest answer, s"],
                [[budget_s, delay_s, batch_s, run["sent"],
                  run["sent"] - run["outcomes"].get("OK", 0), f"{run['took_s']:.1f}",
                  f"{run['latency_ms']['longest'] / 1e3:.1f}"]
                 for (budget_s, delay_s, batch_s), run in zip(BUDGETS,
                                                              runs.values())]))


def weighted(programs):
    """Returns the share of each server behind Envoy, by load and without."""
    ferry_process.SERVER = programs.path("ferry-server")
    for name in ("server", "bench", "launch"):
        os.environ[f"FERRY_{name.upper()}"] = programs.path(f"ferry-{name}")
    import envoy_test  # pylint: disable=import-outside-toplevel
    case = envoy_test.EnvoyTest("test_each_gets_what_it_carries")
    envoy_test.EnvoyTest.setUpClass()
    result = {}
    for label, flags in (("by their load", ["--endpoint-load-metrics"]),
                         ("without it", [])):
        try:
            result[label] = case.shares(*flags)
        finally:
            case.doCleanups()
    carries = [one / sum(envoy_test.CAPACITIES) for one in envoy_test.CAPACITIES]
    return {"carries": carries, "shares": result}


def measure(options):
    result = measuring.describe(
        "balancers", f"{REQUESTS:,} requests over three servers by each balancer, none "
        "sent again by the client: none fails while a server ends, and each server "
        "has its part; ends within 20 s and 110 s lose none", options.command)
    fleets.SERVER = options.programs.path("ferry-server")
    rows, holds = [], True
    result |= {"runs": {}, "weighted": weighted(options.programs)}
    for label, how in BALANCERS.items():
        measuring.say(label)
        run = asyncio.run(one_run(*how))
        result["runs"][label] = run
        failed = run["sent"] - run["outcomes"].get("OK", 0)
        holds &= (failed == 0 and run["wrong"] == 0 and run["twice"] == 0 and
                  min(run["shares"]) >= LEAST_SHARE)
        rows.append([label, f"{run['sent']:,}", failed,
                     ", ".join(f"{share:.1%}" for share in run["shares"]),
                     f"{run['latency_ms']['p50']:.1f}",
                     f"{run['latency_ms']['p99']:.1f}"])
    result["drains"], all_answered = drains()
    result["passed"] = holds and all_answered
    page = ("The second server is told to end after "
            f"{DRAIN_AT:,} requests, with a delay of {fleets.DRAIN_DELAY_S} s, and "
            "starts again.\n\n")
    page += measuring.table(["balancer", "sent", "failed", "shares before that",
                             "p50, ms", "p99, ms"], rows)
    shares = result["weighted"]
    page += ("\nEnvoy's client-side weighted round robin, one server half as fast as "
             "the others:\n\n")
    page += measuring.table(["", "server 0", "server 1", "server 2"], [
        ["carries", *(f"{part:.1%}" for part in shares["carries"])]] + [
            [f"had, {label}", *(f"{part:.1%}" for part in had)]
            for label, had in shares["shares"].items()])
    return result, page + drains_page(result["drains"])
