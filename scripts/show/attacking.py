"""attacks: what hostile clients cost, of an earlier build and of this one."""

import json
import os
import sys

import measuring

ATTACKS = measuring.ROOT / "tests/e2e/attacks.py"
GOES_ON = ("connections", "drain")  # where new calls have to fail for a while
MOST_MIB = 700


def attack(programs):
    """Returns what each attack did to the server of these programs."""
    out = measuring.run(
        [sys.executable, ATTACKS],
        env=os.environ | {"FERRY_SERVER": str(programs.path("ferry-server"))})
    return [json.loads(line) for line in out.splitlines()]


def counts(by_name):
    return ", ".join(f"{name}: {count}" for name, count in by_name.items())


def rows(side, attacks):
    for each in attacks:
        quiet, meanwhile = each["honest before"], each["honest meanwhile"]
        mib = each["MiB"]
        yield [each["what"], side,
               f"{mib['before']} / {mib['peak']} / {mib['idle']}"
               if mib["peak"] else "ended",
               f"{quiet['calls/s']} / {meanwhile['calls/s']}",
               f"{meanwhile['longest ms']}", counts(meanwhile["failed"]) or "0",
               counts(each["ready"]["answers"]),
               f"{each['ready']['longest ms']}", str(each["end"])]


def measure(options):
    result = measuring.describe(
        "attacks", f"no attack takes the server past {MOST_MIB} MiB, but large "
        "replies while they last, and no other client fails by it",
        options.command)
    sides = {}
    if options.before is not None:
        sides["before"] = attack(measuring.Programs(options.before))
    sides["now"] = attack(options.programs)
    result |= {"sides": sides, "passed": all(
        each["good"]
        and (each["MiB"]["peak"] <= MOST_MIB or each["attack"] == "large_replies")
        and (not each["honest meanwhile"]["failed"]
             or each["attack"] in GOES_ON) for each in sides["now"])}
    table = measuring.table(
        ["attack", "server", "MiB before / peak / idle",
         "another client's calls/s before / meanwhile", "its longest, ms",
         "its failed", "/v2/health/ready", "its longest, ms", "end"],
        sorted((row for side, attacks in sides.items()
                for row in rows(side, attacks)), key=lambda row: row[0]))
    return result, (
        "Each attack of `tests/e2e/attacks.py` once, on a server of its own; "
        "memory is what is resident, and idle is 20 s after the attack. The other "
        "client sends one small request after the other on a connection of its "
        "own; it runs on the same two cores. `before` is a build of f6e1f6c.\n\n"
        + table)
