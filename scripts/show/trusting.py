"""trust: what it costs a request that its frames are counted, that it has a token,
and that it comes over TLS: instructions counted by callgrind, on the echo server, as
times differ from run to run by more.
"""

import os
import sys
import tempfile

import measuring
import profiling
import wire

sys.path.append(str(measuring.ROOT / "tests/e2e"))
import trust  # noqa: E402  the authority of the tests

TOKEN = "0123456789abcdef" * 4
# Each counts with all that it calls.
PARTS = [("count frames, and read", "recvmsg"), ("of it: count", "ferry::FrameCounter::Read"),
         ("write", "sendmsg"),
         ("look at the token", "ferry::Authorizer::Authorize")]


def measure(options):
    profiling.require_valgrind()
    result = measuring.describe(
        "trust", "instructions a request, user space, of the echo backend (1 KiB "
        f"each way, {profiling.OUTSTANDING} outstanding), plain, with a token, and "
        "over TLS, counted by callgrind", options.command)
    counted = {}
    with tempfile.TemporaryDirectory() as folder, wire.repository() as models:
        authority = trust.Authority(folder)
        key, certificate = authority.sign("server")
        tokens = os.path.join(folder, "tokens")
        trust.write(tokens, trust.token_line("bench", "infer", TOKEN))
        known = [f"--auth-token-file={tokens}", "--open-health"], [
            "--header", f"authorization:Bearer {TOKEN}"]
        encrypted = [f"--tls-cert={certificate}", f"--tls-key={key}"], [
            "--tls", "--tls-ca", authority.certificate]
        for name, parts in (("plain", []), ("token", [known]),
                            ("TLS", [encrypted]),
                            ("TLS and token", [known, encrypted])):
            path = f"{folder}/counts-{len(counted)}"
            programs = profiling.under_callgrind(options.programs,
                                                 f"{folder}/bin-{len(counted)}", path)
            counted[name] = profiling.count(
                options, measuring.server(
                    programs, "--model-repository", models,
                    *(flag for flags, _ in parts for flag in flags),
                    model="echo"),
                path, options.seconds or 8,
                [flag for _, flags in parts for flag in flags])
    plain = counted["plain"]["all"]
    result |= {"all": {name: counts["all"] for name, counts in counted.items()},
               "parts": {name: {label: counts.get(function) for label, function
                                in PARTS} for name, counts in counted.items()},
               "verdict": "counted", "passed": None}
    return result, measuring.table(
        ["connection", "instructions a request", "of plain",
         *(label for label, _ in PARTS)],
        [[name, f"{counts['all']:.0f}", f"{counts['all'] / plain:.3f}",
          *(f"{counts[function]:.0f}" if counts.get(function) else "-"
            for _, function in PARTS)]
         for name, counts in counted.items()])
