"""shm-attacks: attacks on shared memory beside an honest client, on the server as it is
and on one that is built for AddressSanitizer."""

import json
import os
import sys

import measuring

ROUNDS = 5
ASAN_BIN = measuring.ROOT / "build/asan-server/bin"


def ended(server):
    """Returns how each test ended in each round."""
    environment = os.environ | {"FERRY_SERVER": server}
    rounds = []
    for number in range(ROUNDS):
        measuring.say(f"{server}, round {number + 1}")
        rounds.append(json.loads(measuring.run(
            [sys.executable, measuring.ROOT / "scripts/show/run_suite.py",
             "shared_memory_test"], cwd=measuring.ROOT / "tests/e2e",
            env=environment)))
    return rounds


def measure(options):
    result = measuring.describe(
        "shm-attacks", "attacks on shared memory crash no server, also not one that is "
        "built for AddressSanitizer, and an honest client beside them has its own rows",
        options.command)
    servers = {"as it is": options.programs.path("ferry-server"),
               "AddressSanitizer": measuring.Programs(ASAN_BIN).path("ferry-server")}
    result["servers"] = {name: ended(server) for name, server in servers.items()}
    outcomes = {}
    for name, rounds in result["servers"].items():
        for one in rounds:
            for test in one:
                outcomes.setdefault(test["test"], {}).setdefault(name, []).append(
                    test["outcome"])
    result["passed"] = all(outcome == "passed" for by_server in outcomes.values()
                           for of in by_server.values() for outcome in of)
    return result, measuring.table(
        ["test", *(f"passed, {name}" for name in servers)],
        [[test, *(f"{by_server.get(name, []).count('passed')} of {ROUNDS}"
                  for name in servers)] for test, by_server in sorted(outcomes.items())])
