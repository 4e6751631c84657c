"""traces: what it costs that one request in a hundred is traced, to a file. Its
instructions are counted by callgrind, on the echo server, as times differ from run to
run by more than it is about; they are told as a part of the processor time of a
request of the mlp, at a nanosecond each, which is more than they take, and of the
echo server's instructions, which does nothing but what a server does.
"""

import os
import tempfile

import measuring
import profiling
import wire

SHARE = 0.01
MOST_COST = 0.01
OUTSTANDING = 64
# Each counts with all that it calls; the last is what the writing thread does.
PARTS = [("begin", "ferry::InferCall::ComeBy"), ("end", "ferry::Tracer::End"),
         ("write", "ferry::Tracer::Shared::WriteFiles")]


def processor_us(options):
    """Returns the processor time of one request of the mlp."""
    with measuring.server(options.programs):
        readings = []
        for _ in range(2):  # the first loads, too
            measuring.closed_loop(options.programs, OUTSTANDING,
                                  options.seconds or 10, metrics=False)
            readings.append((measuring.metric("process_cpu_seconds_total"),
                             measuring.metric("ferry_requests_total")))
        (cpu, requests), (cpu_after, requests_after) = readings
        return (cpu_after - cpu) / (requests_after - requests) * 1e6


def measure(options):
    profiling.require_valgrind()
    result = measuring.describe(
        "traces", f"tracing {SHARE:.0%} of the requests costs less than "
        f"{MOST_COST:.0%} of the processor time of one of the mlp",
        options.command)
    with tempfile.TemporaryDirectory() as folder, wire.repository() as models:
        path, spans = f"{folder}/counts", f"{folder}/spans"
        programs = profiling.under_callgrind(options.programs, f"{folder}/bin",
                                             path)
        counts = profiling.count(options, measuring.server(
            programs, "--model-repository", models, f"--trace-file={spans}",
            f"--trace-share={SHARE}", model="echo"), path, options.seconds or 15)
        written = os.path.getsize(spans)
    parts = {label: counts.get(name, 0) for label, name in PARTS}
    instructions = sum(parts.values())
    request_us = processor_us(options)
    cost = instructions / 1e3 / request_us
    result |= {"echo": counts["all"], "parts": parts, "mlp_us": request_us,
               "cost": cost, "cost_of_echo": instructions / counts["all"],
               "bytes_written": written,
               "passed": cost < MOST_COST and all(parts.values())}
    page = (f"Tracing {SHARE:.0%} of the requests takes {instructions:.0f} "
            "instructions a request, of user space: at a nanosecond each "
            f"{cost:.3%} of the {request_us:.0f} us of processor time of a request "
            f"of the mlp, and {result['cost_of_echo']:.2%} of the "
            f"{counts['all']:.0f} instructions of one that is echoed. Of a second "
            "of callgrind's few are traced, so that what each write costs weighs "
            "more than it does.\n\n" +
            measuring.table(["part", "instructions a request"],
                            [[label, f"{number:.0f}"]
                             for label, number in parts.items()]))
    return result, page
