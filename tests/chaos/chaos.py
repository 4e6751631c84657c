"""Chaos: three servers behind a proxy, a client with a ledger, and seeded events.

    FERRY_SERVER=build/release/bin/ferry-server .venv/bin/python \
        tests/chaos/chaos.py --proxy haproxy --seed 1 --seconds 600 --json out.json

One of the three servers always serves, in the proxy's eyes, too: an event that would
take the last one hits another, or waits. Prints each event with its moment, then counts; exits 1 where a
request was lost, answered twice or with other rows, where too few were OK, or a
server ended by itself. `--kinds` keeps a run to some events; `--no-client-retries`
and `--no-proxy-retries` show what each of the two is worth.
"""

import argparse
import asyncio
import collections
import json
import shutil
import sys
import tempfile
import time

from client import Client
from fleet import Fleet
from ledger import Ledger
from plan import ON_A_SERVER, WEIGHTS, make_plan
from proxies import PROXIES

LEAST_OK = 0.999
RATE = 100  # requests a second
BURST = 5
SETTLE_S = 3


class Run:
    """One run; `result` when it is over."""

    def __init__(self, options, folder):
        self.options = options
        self.began = time.monotonic()
        self.ledger = Ledger(self.now)
        self.done = collections.Counter()
        self.events = []
        self.fleet = Fleet(folder)
        self.proxy = None
        self.client = None
        self._later = set()  # what goes on beside the next events

    def now(self):
        return time.monotonic() - self.began

    def say(self, what, **more):
        self.events.append({"at": round(self.now(), 2), "what": what, **more})
        print(f"{self.now():7.2f} {what}", flush=True)

    def later(self, work):
        task = asyncio.create_task(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def target(self, order):
        """Returns the first of that order that serves beside another one."""
        while True:
            down = await asyncio.to_thread(self.proxy.down, self.fleet.servers)
            steady = [server for server in self.fleet.steady()
                      if server not in down]
            if len(steady) > 1:
                return next(self.fleet.servers[i] for i in order
                            if self.fleet.servers[i] in steady)
            await asyncio.sleep(0.1)

    async def hit(self, event):
        server = (await self.target(event.order)
                  if event.kind in ON_A_SERVER else None)
        work = getattr(self, "do_" + event.kind)(event, server)
        if work is not None:
            self.later(work)
        self.done[event.kind] += 1

    def do_kill(self, _, server):
        self.say(f"kill -9 {server.name}")
        self.fleet.kill(server)

    def do_sigterm(self, event, server):
        self.say(f"SIGTERM {server.name}, down for {event.seconds:g} s after it")
        self.fleet.drain(server, event.seconds)

    def do_restart(self, _, server):
        self.say(f"SIGTERM {server.name}, and start again")
        self.fleet.drain(server)

    async def do_stop(self, event, server):
        self.say(f"SIGSTOP {server.name} for {event.seconds:g} s")
        self.fleet.stop(server)
        await asyncio.sleep(event.seconds)
        if event.kills:
            self.say(f"kill -9 {server.name}, which is stopped")
            self.done["kill"] += 1
            self.fleet.kill(server)
        else:
            self.say(f"SIGCONT {server.name}")
            self.fleet.go_on(server)

    async def do_certificate(self, *_):
        await asyncio.to_thread(self.fleet.rotate_certificate)
        self.say(f"certificate {self.fleet.certificates}")

    async def do_token(self, *_):
        self.say("a new token is in the file")
        await self.fleet.rotate_token()
        self.say("each server knows it: the client uses it")

    def do_new_version(self, *_):
        self.say(f"version {self.fleet.add_version()} of scale")

    async def do_broken_version(self, event, _):
        folder = self.fleet.add_broken_version()
        self.say(f"broken version {folder.name} of scale for {event.seconds:g} s")
        await asyncio.sleep(event.seconds)
        self.fleet.forget(folder)
        self.say(f"broken version {folder.name} is taken away")

    def do_rollback(self, *_):
        if len(self.fleet.present) < 2:
            self.say(f"version {self.fleet.add_version()} of scale, to go back from")
        else:
            self.say(f"version {self.fleet.remove_version()} of scale is taken away")

    async def do_proxy_reload(self, *_):
        while not self.proxy.reload():
            await asyncio.sleep(1)
        self.say("the proxy reads its file again")

    async def do_burst(self, event, _):
        self.say(f"{BURST} times the load for {event.seconds:g} s")
        self.client.factor = BURST
        await asyncio.sleep(event.seconds)
        self.client.factor = 1
        self.say("the load as before")

    async def play(self):
        options = self.options
        plan = make_plan(options.seed, options.seconds, options.kinds)
        async with self.fleet:
            with PROXIES[options.proxy](self.fleet.servers, self.fleet.ca,
                                        self.fleet.folder,
                                        options.proxy_retries) as self.proxy:
                await asyncio.to_thread(self.proxy.wait_until_ready)
                self.client = Client(
                    self.proxy.address, self.ledger, rate=options.rate,
                    seed=options.seed, retries=options.client_retries,
                    metadata=self.fleet.metadata, versions=self.fleet.versions)
                self.began = time.monotonic()
                is_over = asyncio.Event()
                load = asyncio.create_task(self.client.run(is_over))
                for event in plan:
                    await asyncio.sleep(max(0, event.at - self.now()))
                    if self.now() > options.seconds:
                        break
                    await self.hit(event)
                await asyncio.sleep(max(0, options.seconds - self.now()))
                while self._later:
                    await asyncio.wait(set(self._later))
                await asyncio.sleep(SETTLE_S)
                is_over.set()
                await load
        return self.result()

    def result(self):
        complaints = (self.ledger.complaints(self.options.least_ok) +
                      self.fleet.unexpected)
        if self.done["kill"] < self.options.least_kills:
            complaints.append(f"{self.done['kill']} kills, expected "
                              f"{self.options.least_kills}")
        return {"proxy": self.options.proxy, "seed": self.options.seed,
                "seconds": self.options.seconds, "rate": self.options.rate,
                "client_retries": self.options.client_retries,
                "proxy_retries": self.options.proxy_retries,
                **self.ledger.counts(), "latency_ms": self.client.latency_ms(),
                "events": dict(self.done),
                "ends": {str(code): n for code, n in self.fleet.ends.items()},
                "complaints": complaints, "passed": not complaints,
                "not_ok": self.ledger.told, "log": self.events}


def parse(arguments=None):
    parser = argparse.ArgumentParser(prog="chaos.py")
    parser.add_argument("--proxy", choices=sorted(PROXIES), required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rate", type=float, default=RATE,
                        help="requests a second")
    parser.add_argument("--kinds", type=lambda text: tuple(text.split(",")),
                        default=tuple(WEIGHTS), help="events, with commas between")
    for side in ("client", "proxy"):
        parser.add_argument(f"--no-{side}-retries", dest=f"{side}_retries",
                            action="store_false")
    parser.add_argument("--least-ok", type=float, default=LEAST_OK,
                        help="share of the requests")
    parser.add_argument("--least-kills", type=int, default=0)
    parser.add_argument("--json", help="where the result goes")
    parser.add_argument("--keep", help="where logs go of a run that fails")
    options = parser.parse_args(arguments)
    if not set(options.kinds) <= set(WEIGHTS):
        parser.error(f"--kinds: expected some of {','.join(WEIGHTS)}")
    return options


def run(options):
    """Returns the result of a run."""
    with tempfile.TemporaryDirectory(prefix="ferry-chaos-") as folder:
        result = asyncio.run(Run(options, folder).play())
        if options.keep and not result["passed"]:
            shutil.copytree(folder, options.keep, dirs_exist_ok=True)
    return result


def main():
    options = parse()
    result = run(options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    for told in result["not_ok"]:
        print(f"{told['at']:7.2f} request {told['request']}: {told['code']} "
              f"{told['text']}")
    print(json.dumps({key: value for key, value in result.items()
                      if key not in ("log", "not_ok")}, indent=1))
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
