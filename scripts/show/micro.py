"""micro: every hot primitive of Ferry beside its peers, by bench/micro.

Repetitions are interleaved at random, so that a slow moment of the machine
meets all alike. Of what has one thread, the time is the thread's own and the
instructions are counted too: those are the same everywhere.
"""

import collections
import concurrent.futures
import json
import re
import shutil
import tempfile

import measuring

# Files of one family, and what it is.
PROGRAMS = {
    "queue-benchmark": "The submit queue: producers push, one consumer drains",
    "event-count-benchmark": "Wake-ups",
    "future-benchmark": "A request in the same process, submit to reply",
    "answer-benchmark": "Queued requests that end while a batch runs",
    "deadline-heap-benchmark": "Queued requests by when they are due",
    "batcher-benchmark": "Admission, decisions, forecasts",
    "histogram-benchmark": "Counting latencies",
    "codec-benchmark": "ModelInferRequest in, ModelInferResponse out",
    "gather-benchmark": "Rows into a batch",
    "arrival-benchmark": "The load generator: clock and arrivals",
}

# Contestants that are Ferry's. The first of an operation is compared.
OURS = {
    "push_list", "event_count", "event_count_default_slack", "scheduler",
    "in_process_client", "deadline_heap", "admission", "eager",
    "window", "adaptive", "service_time_model", "wait_estimate",
    "histogram_4_bits", "histogram_7_bits", "batch_statistics",
    "infer_decoder", "infer_decoder_new_fields", "infer_response",
    "gather_rows", "gather_padded_rows", "skip_bytes_elements",
    "float_to_bf16", "clock", "pacer", "arrival_process"}

# What a peer does not do, of those that do less than ours. Where such a one is
# faster, the difference is the price of what it lacks.
LESS = {
    "ticket_ring": "stops behind a producer that is descheduled in mid-push "
                   "(A4)",
    "moodycamel": "keeps order only among the items of one producer",
    "std_promise": "a promise a request, no batch, bound, deadline, cancel or "
                   "statistics",
    "lazy_priority_queue": "keeps what was served until it would have been "
                           "due, and so grows with the longest timeout",
    "kept_values": "memory grows with the values",
    "memcpy_of_one_block": "the memory's own time: rows that lie together",
    "memcpy_by_hand": "no check of empty rows",
    "truncation": "does not round",
    "protobuf": "does not check the request against the model",
    "protobuf_reused": "as protobuf, and keeps the largest message's memory",
    "protobuf_arena": "as protobuf",
    "futex": "a system call each time",
    "clock_nanosleep": "cannot be woken",
    "std_distribution": "other numbers with another standard library",
    "absl_exponential": "other numbers in each process: no seed to repeat",
    "absl_wall_clock": "jumps when the clock is set",
    "atomic_wait": "no time limit",
    "absl_notification": "of one use",
    "binary_semaphore": "a second Notify() before the first is taken is a bug",
}

REPETITIONS = 5
SECONDS = 0.03  # of a repetition, at least
PRODUCERS = (1, 2, 4)
ALIKE = 0.05  # of the time: less is not called faster
CALLGRIND_NS = 3e6  # of a benchmark's loop, before callgrind makes it slower
MOST_ITERATIONS = 20_000
SKIPPED = re.compile(r"^push/.*/threads:8$")

Name = collections.namedtuple("Name", "operation contestant size")


def parse(name):
    """Returns "operation/contestant/size" in its parts."""
    operation, contestant, *rest = name.split("/")
    size = " ".join(part.replace("threads:", "threads ") for part in rest
                    if part != "real_time")
    return Name(operation, contestant, size)


# ---------------------------------------------------------------------------
# Times

def run_times(program, seconds):
    """Returns what each benchmark of a program measured, by name."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        measuring.run([
            program, f"--benchmark_repetitions={REPETITIONS}",
            f"--benchmark_min_time={seconds}",
            "--benchmark_enable_random_interleaving=true",
            f"--benchmark_out={out.name}", "--benchmark_out_format=json"])
        runs = json.load(out)["benchmarks"]
    found = {}
    for one in runs:
        name = one["run_name"]
        if one["run_type"] != "iteration" or SKIPPED.match(name):
            continue
        # A thread's own time where it works alone; else time on the wall.
        key = "real_time" if "/real_time" in name else "cpu_time"
        measured = found.setdefault(name, {"clock": key, "ns": []})
        measured["ns"].append(one["late_us"] * 1e3 if "late_us" in one
                              else one[key])
        measured["is_lateness"] = "late_us" in one
        for counter in ("items_per_second", "bytes_per_second"):
            if counter in one:
                measured.setdefault(counter, []).append(one[counter])
        if "bytes_copied" in one:
            measured["bytes_copied"] = one["bytes_copied"]
        for counter in ("late_p99_us", "late_max_us"):
            if counter in one:
                measured.setdefault(counter, []).append(one[counter])
    # As the program lists them: the results come in the order of a shuffle.
    listed = measuring.run([program, "--benchmark_list_tests"]).split()
    found = {name: found[name] for name in listed if name in found}
    for measured in found.values():
        measured["median_ns"] = measuring.median(measured["ns"])
        for counter in ("items_per_second", "bytes_per_second", "late_p99_us"):
            if counter in measured:
                measured[counter] = measuring.median(measured[counter])
        if "late_max_us" in measured:
            measured["late_max_us"] = max(measured["late_max_us"])
    return found


# ---------------------------------------------------------------------------
# Instructions

def instructions_of(program, name, iterations):
    """Returns the instructions of a whole run, or None where the benchmark is
    not counted (bench/micro/counted.h)."""
    with tempfile.NamedTemporaryFile() as out:
        text = measuring.run([
            "valgrind", "--tool=callgrind",
            f"--callgrind-out-file={out.name}", program,
            "--iterations", iterations, "--benchmark_format=json",
            f"--benchmark_filter=^{re.escape(name)}(/iterations:.*)?$"])
        seen = json.loads(text[text.index("{"):])["benchmarks"]
        if [one["iterations"] for one in seen] != [iterations]:
            return None
        with open(out.name, encoding="utf-8") as stream:
            total = re.search(r"^(?:summary|totals): (\d+)", stream.read(),
                              re.MULTILINE)
    return int(total.group(1))


def count(program, name, nanoseconds):
    """Returns the instructions of one pass of the loop, or None."""
    iterations = int(max(20, min(MOST_ITERATIONS, CALLGRIND_NS / nanoseconds)))
    few = instructions_of(program, name, iterations)
    if few is None:
        return None
    many = instructions_of(program, name, 2 * iterations)
    return (many - few) / iterations


def counted_names(program):
    """Returns the names of the benchmarks that --iterations holds for."""
    listed = measuring.run([program, "--iterations", 1,
                            "--benchmark_list_tests"])
    return [name.removesuffix("/iterations:1")
            for name in listed.split() if name.endswith("/iterations:1")]


def count_all(options, benchmarks):
    """Adds the instructions to what was measured; two at a time, as they do
    not depend on the load."""
    if shutil.which("valgrind") is None:
        measuring.say("valgrind is not installed: no instructions")
        return False
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waiting = {}
        for program, measured in benchmarks.items():
            path = options.programs.path(program)
            for name in counted_names(path):
                waiting[program, name] = pool.submit(
                    count, path, name, measured[name]["median_ns"])
        for (program, name), instructions in waiting.items():
            benchmarks[program][name]["instructions"] = instructions.result()
    return True


# ---------------------------------------------------------------------------
# Comparisons

def verdict(ours, peer, contestant):
    """Says who is faster: all repetitions on one side, and more than ALIKE."""
    if contestant in OURS:
        return "ours too"
    ratio = ours["median_ns"] / peer["median_ns"]
    if max(ours["ns"]) < min(peer["ns"]) and ratio < 1 - ALIKE:
        return "ours"
    if min(ours["ns"]) > max(peer["ns"]) and ratio > 1 / (1 - ALIKE):
        return "peer, which does less" if contestant in LESS else "**peer**"
    return "alike"


def compare(measured):
    """Returns the comparisons of one program: ours against each other
    contestant of the operation and size, ours alone where there is none."""
    groups = collections.defaultdict(list)
    for name in measured:
        parts = parse(name)
        groups[parts.operation, parts.size].append((parts.contestant, name))
    found = []
    for (operation, size), contestants in groups.items():
        ours = next((one for one in contestants if one[0] in OURS), None)
        if ours is None:
            raise measuring.Failure(
                f"{operation}: expected a contestant of Ferry's, got "
                f"{', '.join(contestant for contestant, _ in contestants)}")
        others = [one for one in contestants if one != ours]
        for contestant, name in others or [(None, None)]:
            one = {"operation": operation, "size": size, "ours": ours[0],
                   "ours_name": ours[1], "peer": contestant,
                   "peer_name": name}
            if name is not None:
                a, b = measured[ours[1]], measured[name]
                one["ratio"] = a["median_ns"] / b["median_ns"]
                one["verdict"] = verdict(a, b, contestant)
                if a.get("instructions") and b.get("instructions"):
                    one["instruction_ratio"] = (a["instructions"] /
                                                b["instructions"])
            found.append(one)
    return found


def measure(options):
    result = measuring.describe(
        "micro", "what each hot primitive costs, beside its peers",
        options.command)
    seconds = options.seconds or SECONDS
    benchmarks = {}
    for program in PROGRAMS:
        measuring.say(f"{program}")
        benchmarks[program] = run_times(options.programs.path(program),
                                        seconds)
    measuring.say("instructions")
    has_counts = count_all(options, benchmarks)
    comparisons = {program: compare(measured)
                   for program, measured in benchmarks.items()}
    verdicts = [one for many in comparisons.values() for one in many
                if "verdict" in one]
    tally = collections.Counter(one["verdict"].strip("*") for one in verdicts)
    result |= {"repetitions": REPETITIONS, "seconds": seconds,
               "passed": None, "tally": dict(tally),
               "has_instructions": has_counts, "benchmarks": benchmarks,
               "comparisons": comparisons}
    of_peers = len(verdicts) - tally["ours too"]
    result["verdict"] = (
        f"of {of_peers} comparisons Ferry's is faster in {tally['ours']}, "
        f"alike in {tally['alike']}; slower in {tally['peer']}, and in "
        f"{tally['peer, which does less']} than a peer that does less")
    return result, page(result)


# ---------------------------------------------------------------------------
# The page

def quantity(number):
    """Returns a number with three digits that count."""
    if number is None:
        return "-"
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def row(measured, one):
    ours = measured[one["ours_name"]]
    if one["peer"] is None:
        return [one["operation"], one["size"], one["ours"],
                quantity(ours["median_ns"]), "-", "-", "-",
                quantity(ours.get("instructions")), "-", "-"]
    peer = measured[one["peer_name"]]
    return [one["operation"], one["size"], one["ours"],
            quantity(ours["median_ns"]), one["peer"],
            quantity(peer["median_ns"]), f"{one['ratio']:.2f}",
            quantity(ours.get("instructions")),
            quantity(peer.get("instructions")), one["verdict"]]


def copied(measured):
    rows = [[*parse(name), f"{one['bytes_copied']:.0f}",
             f"{one['bytes_per_second'] / 1e9:.1f}"]
            for name, one in measured.items() if "bytes_copied" in one]
    if not rows:
        return ""
    return ("\nBytes of the tensor that move, and its GB/s:\n\n" +
            measuring.table(["operation", "contestant", "bytes", "copied",
                             "GB/s"], rows))


def late(measured):
    rows = [[*parse(name)[:2], f"{one['median_ns'] / 1e3:.1f}",
             f"{one['late_p99_us']:.1f}", f"{one['late_max_us']:.1f}"]
            for name, one in measured.items() if "late_p99_us" in one]
    if not rows:
        return ""
    return ("\nHow late they are answered, in us; the last is the most of all "
            "repetitions, and G4 says 1,000:\n\n" +
            measuring.table(["operation", "contestant", "mean", "p99", "most"],
                            rows))


def page(result):
    text = (f"Nanoseconds of one pass, the median of {result['repetitions']} "
            "interleaved repetitions; of what waits for a moment (\"timed_wait\", "
            "\"expires\", \"cancelled\") how late it ends. With one thread it is the "
            "thread's own time, else time on the wall, for all producers together. "
            "Ratio: ours / peer, below 1 ours is faster. Faster is called who is so in "
            f"every repetition and by {ALIKE:.0%}. Instructions, of user space, by "
            "callgrind where one thread does not wait; it counts each byte of a large "
            "memcpy.\n")
    for program, title in PROGRAMS.items():
        measured = result["benchmarks"][program]
        text += f"\n## {title}\n\n" + measuring.table(
            ["operation", "size", "ours", "ns", "peer", "ns", "ratio",
             "instr. ours", "instr. peer", "faster"],
            [row(measured, one) for one in result["comparisons"][program]])
        text += copied(measured) + late(measured)
    peers = {one["peer"] for many in result["comparisons"].values()
             for one in many}
    text += "\n## What those peers lack\n\n"
    text += "".join(f"- `{peer}`: {lack}.\n" for peer, lack in LESS.items()
                    if peer in peers)
    return text
