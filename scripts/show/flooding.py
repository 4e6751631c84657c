"""floods: what an honest client keeps of its service beside each flood of
tests/e2e/flood_test.py, plain and over TLS, and what the flood costs the server.

Server, clients and what is claimed are those of `hostile` (enduring.py), but for
tokens, of which there are none, and the pace: floods are as fast as they can be with
what time the honest client leaves.
"""

import ssl
import sys
import tempfile

import enduring
import measuring

sys.path.append(str(measuring.ROOT / "tests/e2e"))
import flood_test  # noqa: E402
import floods  # noqa: E402
import trust  # noqa: E402

SECONDS = 20
QUIET_SECONDS = 10  # before and after
CONNECTIONS = {pieces.__name__: count for pieces, count, _ in flood_test.FLOODS}


class Plain(enduring.Scene):
    most_mib = flood_test.MOST_MIB
    honest_flags = []
    wrapped = []  # the authority's certificate

    def server_flags(self, folder):
        return []

    def attacker(self, programs, name, seconds, path):
        return [sys.executable, floods.__file__, name, CONNECTIONS[name],
                measuring.ADDRESS, seconds, path, *self.wrapped]


class Tls(Plain):

    def __init__(self, folder):
        authority = trust.Authority(folder)
        self._pair = authority.sign("server")
        self.wrapped = [authority.certificate]
        self.honest_flags = ["--tls", "--tls-ca", authority.certificate]
        self.context = ssl.create_default_context(cafile=authority.certificate)

    def server_flags(self, folder):
        key, certificate = self._pair
        return [f"--tls-key={key}", f"--tls-cert={certificate}"]


def sent_row(what, name, account):
    return [what, CONNECTIONS[name], " ".join(getattr(floods, name).__doc__.split()),
            f"{account['sent']['bytes'] / account['seconds'] / 1e6:.2f}",
            account["sent"]["connections"], account["back"]["connections ended"]]


def measure(options):
    result = measuring.describe(
        "floods", f"beside each of {len(CONNECTIONS)} floods, plain and over TLS, an "
        f"honest client keeps {enduring.LEAST_RATE:g} of its rate and at most "
        f"{enduring.MOST_P99:g} times its p99, and the server's memory grows less than "
        f"{Plain.most_mib} MiB", options.command)
    seconds = options.seconds or SECONDS
    quiet = min(QUIET_SECONDS, seconds)
    runs, rows = {}, []
    with tempfile.TemporaryDirectory() as folder:
        scenes = {"": Plain(), ", TLS": Tls(folder)}
        for name in CONNECTIONS:
            for kind, scene in scenes.items():
                run = enduring.attacked(options.programs, (name,), seconds, quiet,
                                        quiet, scene)
                runs[name + kind] = run
                rows.append(sent_row(name + kind, name, run["accounts"][name]))
    result |= {"runs": runs,
               "passed": all(all(run["holds"].values()) for run in runs.values())}
    return result, (
        f"Each flood for {seconds:.0f} s on a server of its own; the honest client is "
        f"alone for {quiet:.0f} s before and after it. It sends {enduring.RATE:.0f} "
        "requests a second to a simulated device that carries "
        f"{enduring.CAPACITY:.0f}, in batches; the rest is as in [hostile](hostile.md), "
        "but nothing has a token, and floods keep to no pace.\n\n" +
        enduring.cost_table(runs, Plain.most_mib) + "\n## What was sent\n\n" +
        measuring.table(["flood", "connections at once", "what", "MB/s",
                         "connections begun", "ended by the server"], rows))
