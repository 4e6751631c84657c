"""batch: jobs of ferry-batch that are killed and stopped, and beside online load.

The device is simulated, one instance of two levels of priority. Needs what
requirements/batch.txt lists, of .venv.
"""

import contextlib
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import numpy as np
import orjson
import pyarrow
import pyarrow.parquet

import measuring
import simulating

LEVELS = """dynamic_batching {
  priority_levels: 2
  default_priority_level: 1
  priority_queue_policy { key: 2 value { max_queue_size: 64 } }
}"""
SEED = 20
END_S = 120

# --- killed and stopped ---
ROWS = 100_000
SHARD_ROWS = 2_000
KILLS, STOPS = 20, 10
MOMENTS_S = (0.4, 1.4)  # of a run, before it is ended
FORMATS = ("jsonl", "npy", "parquet")
JOB_DEVICE = (64, 8, 0.05)  # max_batch_size, alpha and beta in ms

# --- beside online load ---
ONLINE = 0.5  # of the rows that full batches carry
SECONDS = 30
TRIES = 5
# The same rate of full batches by a device whose batches cost much whatever is in
# them, and by one whose rows cost all.
DEVICES = {"alpha 20 ms, beta 0.5 ms": (40, 20, 0.5),
           "alpha 1 ms, beta 0.975 ms": (40, 1, 0.975)}
# Requests that a job has under way, 0: its default, which fills the batches; and the
# rows of each.
JOBS = ((1, 1), (1, 4), (0, 40))
MOST_P99 = 1.1
LEAST_BUSY = 0.9


def server(programs, device):
    max_batch, alpha_ms, beta_ms = device
    return simulating.server(programs, alpha_ms, beta_ms, max_batch, batching=LEVELS)


def start(inputs, output, *flags):
    return subprocess.Popen(
        [sys.executable, "-m", "ferry_batch", *map(str, inputs), "--output",
         str(output), "--model", "sim", "-u", measuring.ADDRESS, *flags],
        env=os.environ | {"PYTHONPATH": str(measuring.ROOT / "deploy/batch")},
        stderr=subprocess.PIPE, text=True)


def end(job):
    """Returns the exit code; what it said is raised where it is not as expected."""
    said = job.communicate(timeout=10 * END_S)[1]
    if job.returncode not in (0, 75, -signal.SIGKILL):
        raise measuring.Failure(f"ferry-batch: {said.strip()[-500:]}")
    return job.returncode


def write_rows(folder, form):
    rows = np.random.default_rng(SEED).random((ROWS, 16), np.float32)
    path = folder / f"rows.{form}"
    if form == "npy":
        np.save(path, rows)
    elif form == "parquet":
        pyarrow.parquet.write_table(pyarrow.table({"input": list(rows)}), path)
    else:
        path.write_bytes(b"".join(
            orjson.dumps({"input": row}, option=orjson.OPT_SERIALIZE_NUMPY |
                         orjson.OPT_APPEND_NEWLINE) for row in rows))
    return path


def computed_rows():
    """Returns the rows that were computed, once nothing is left to compute."""
    until = time.monotonic() + END_S
    while time.monotonic() < until:
        lines = measuring.metrics()
        if not any(measuring.sum_of(lines, name) for name in
                   ("ferry_running_batches", "ferry_queue_requests")):
            return measuring.sum_of(lines, "ferry_batch_rows_sum")
        time.sleep(0.05)
    raise measuring.Failure("requests of a job that has ended are not computed")


def finished_rows(output):
    path = output / "ferry-batch.sqlite"
    if not path.exists():
        return 0
    with contextlib.closing(sqlite3.connect(path)) as ledger:
        try:
            return ledger.execute("SELECT sum(rows) FROM shard").fetchone()[0] or 0
        except sqlite3.OperationalError:  # it was killed before the tables were there
            return 0


def results(output):
    return {path.name: path.read_bytes() for path in output.glob("part-*")}


def disturb(form):
    """Returns what a job gives that is ended at seeded moments."""
    moments = random.Random(f"{SEED} {form}")
    ends = [signal.SIGKILL] * KILLS + [signal.SIGTERM] * STOPS
    moments.shuffle(ends)
    flags = (f"--shard-rows={SHARD_ROWS}",)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = [write_rows(folder, form)]
        began = time.monotonic()
        whole = end(start(rows, folder / "whole", *flags))
        seconds = time.monotonic() - began
        codes, again = [], []
        output = folder / "ended"
        for kind in [*ends, None]:
            computed, finished = computed_rows(), finished_rows(output)
            job = start(rows, output, *flags)
            if kind is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    job.wait(moments.uniform(*MOMENTS_S))
                job.send_signal(kind)
            codes.append(end(job))
            again.append((computed_rows() - computed) -
                         (finished_rows(output) - finished))
        is_same = whole == 0 and results(folder / "whole") == results(output)
    return {"seconds": round(seconds, 1), "is_same": is_same,
            "killed": codes.count(-signal.SIGKILL), "stopped": codes.count(75),
            "last_code": codes[-1], "most_again": max(again), "again": sum(again)}


# ---------------------------------------------------------------------------


def online(programs, rate, seconds):
    """Returns its p99 in ms. Asks again where the client itself was late."""
    for _ in range(TRIES):
        point = programs.json_of(
            "ferry-bench", "run", "-u", measuring.ADDRESS, "-m", "sim", "--rates",
            f"{rate:g}", "--duration-secs", f"{seconds:g}", "--warm-up-secs", "2",
        )["runs"][0]["points"][0]
        if point["errors"]:
            break
        if not point["void_reason"]:
            return point["latency"]["p99_us"] / 1e3
    raise measuring.Failure(f"online load: {point['void_reason']} {point['errors']}")


def expected_p99_ms(device, outstanding, rows_per_request):
    """Returns two batches' time, by decision 0064: a request comes when one has begun,
    and is in the next. With a job each batch has the online rows that came during the
    one before, and the job's."""
    max_batch, alpha_ms, beta_ms = device
    full = alpha_ms + beta_ms * max_batch
    if outstanding == 0:
        return 2 * full
    rate = ONLINE * max_batch / full  # rows a ms
    job_rows = outstanding * rows_per_request
    return 2 * min(full, (alpha_ms + beta_ms * job_rows) / (1 - beta_ms * rate))


def beside(programs, device, job_shape, options, seconds):
    """Returns p99 alone and beside a job, and how busy the device was."""
    max_batch, alpha_ms, beta_ms = device
    capacity = max_batch / (alpha_ms + beta_ms * max_batch) * 1e3
    outstanding, rows_per_request = job_shape
    flags = [f"--rows-per-request={rows_per_request}"]
    if outstanding:
        flags.append(f"--outstanding={outstanding}")
    ratios, busy, carried, alone = [], [], [], []
    with server(programs, device), tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = [write_rows(folder, "npy")]
        for pair in range(options.pairs):
            before = online(programs, ONLINE * capacity, seconds)
            job = start(rows, folder / f"out-{pair}", *flags)
            try:
                time.sleep(2)  # the file is read
                first, began = measuring.metrics(), time.monotonic()
                together = online(programs, ONLINE * capacity, seconds)
                last, passed = measuring.metrics(), time.monotonic() - began
            finally:
                job.send_signal(signal.SIGTERM)
                code = end(job)
            if code != 75:
                raise measuring.Failure("the job ended before its time: expected "
                                        "more rows")

            def grown(metric):
                return (measuring.sum_of(last, metric) -
                        measuring.sum_of(first, metric)) / passed
            alone.append(before)
            ratios.append(together / before)
            busy.append(grown("ferry_compute_busy_seconds_total"))
            carried.append(grown("ferry_batch_rows_sum") / capacity)
    return {"outstanding": outstanding, "rows_per_request": rows_per_request,
            "p99_alone_ms": measuring.median(alone),
            "expected_p99_ms": expected_p99_ms(device, *job_shape),
            "p99_ratio": measuring.median(ratios), "ratios": ratios,
            "busy": measuring.median(busy),
            "rows_of_capacity": measuring.median(carried)}


def measure(options):
    result = measuring.describe(
        "batch", f"jobs of {ROWS:,} rows that are killed {KILLS} times and stopped "
        f"{STOPS} times give the results of an undisturbed run, and no end costs more "
        "than a shard; beside online load at a half a job that has one row under way "
        f"keeps the device busy at least {LEAST_BUSY:.0%} of the time, with a p99 at "
        f"most {MOST_P99} times that alone; what more rows cost", options.command)
    seconds = options.seconds or SECONDS
    with server(options.programs, JOB_DEVICE):
        jobs = {form: disturb(form) for form in FORMATS}
    loads = {name: [beside(options.programs, device, shape, options, seconds)
                    for shape in JOBS] for name, device in DEVICES.items()}
    jobs_hold = all(
        job["is_same"] and job["last_code"] == 0 and job["most_again"] <= SHARD_ROWS and
        job["killed"] + job["stopped"] == KILLS + STOPS for job in jobs.values())
    few = [by_shape[0] for by_shape in loads.values()]
    result |= {"jobs": jobs, "loads": loads, "passed": jobs_hold and all(
        one["busy"] >= LEAST_BUSY and one["p99_ratio"] <= MOST_P99 for one in few)}
    page = (
        "A simulated device; client, job and server share the cores.\n\n"
        f"## {KILLS} times `kill -9`, {STOPS} times SIGTERM\n\n"
        f"At seeded moments, {MOMENTS_S[0]} to {MOMENTS_S[1]} s after each start; "
        f"shards of {SHARD_ROWS:,} rows. Rows again: those that the server computed "
        "and that were in no finished shard when the process ended.\n\n" +
        measuring.table(
            ["format", "undisturbed, s", "killed", "stopped with 75",
             "same bytes", "most rows again by one end", "in all"],
            [[form, job["seconds"], job["killed"], job["stopped"],
              "yes" if job["is_same"] else "no", f"{job['most_again']:,.0f}",
              f"{job['again']:,.0f}"] for form, job in jobs.items()]) +
        f"\n## Beside online load of {ONLINE:.0%} of full batches\n\n"
        f"Poisson requests of one row, {seconds:g} s alone and {seconds:g} s beside a "
        f"job, {options.pairs} pairs; medians. Full batches of 40 rows carry 1,000 "
        "rows/s on both devices.\n\n" +
        measuring.table(
            ["device, a batch of b rows: alpha + beta b", "the job's requests under way",
             "rows of each", "p99 alone, ms", "p99 beside / alone",
             "two batches' time / p99 alone", "busy", "rows, of full batches'"],
            [[name, one["outstanding"] or "default", one["rows_per_request"],
              f"{one['p99_alone_ms']:.1f}", f"{one['p99_ratio']:.2f}",
              f"{one['expected_p99_ms'] / one['p99_alone_ms']:.2f}",
              f"{one['busy']:.0%}", f"{one['rows_of_capacity']:.0%}"]
             for name, by_shape in loads.items() for one in by_shape]) +
        "\nAn online request waits for the batch that runs when it comes, which with a "
        "job is always one, and for its own. With j rows of a job in each batch and r "
        "online rows a ms both take (alpha + beta j) / (1 - beta r) ms, at most a full "
        "batch's time: a device that is full of rows has long batches, and a short p99 "
        "costs rows (decision 0064).\n")
    return result, page
