"""D-pipeline: a device that copies in, computes and copies out at once, on a
virtual clock: how busy the real batcher keeps it at saturation. Simulated: the
same numbers on every machine, and none of a real device.
"""

import measuring
import scheduling

DEVICE = {"alpha_ms": 1, "beta_ms": 0.05, "max_batch_size": 64}
FULL_MS = 4.2  # s(64)
LOAD = 1.5  # of what compute alone carries; the queue is always full
GATHER = 0.1
COPIES_IN = tuple(tenths / 10 for tenths in range(1, 11))
COPIES_OUT = (0, 0.3, 0.8)
DEPTHS = (1, 2)
MOST_COPY_IN = 0.8
LEAST_BUSY = 0.98


def overlapped(options, depth, copy_in, copy_out):
    return scheduling.simulate(
        options.programs, load=LOAD, pipeline_depth=depth, gather=GATHER,
        copy_in=copy_in, copy_out=copy_out,
        duration_secs=options.seconds or 10, **DEVICE)


def one_stream(options, copy_in, copy_out):
    """Gather, copies and compute, one after the other, as on a processor."""
    times = 1 + GATHER + copy_in + copy_out
    run = scheduling.simulate(
        options.programs, load=LOAD, alpha_ms=DEVICE["alpha_ms"] * times,
        beta_ms=DEVICE["beta_ms"] * times,
        max_batch_size=DEVICE["max_batch_size"],
        duration_secs=options.seconds or 10)
    run["busy_ratio"] /= times  # of that, it computes
    return run


def cell(run):
    return f"{run['busy_ratio']:.3f} / {run['goodput_rows_per_s']:.0f}"


def measure(options):
    result = measuring.describe(
        "D-pipeline", f"a simulated device that copies and computes at once is "
        f"busy at least {LEAST_BUSY} of the time at saturation, with two "
        f"batches in the pipeline and a copy in of up to {MOST_COPY_IN} of the compute",
        options.command)
    points = []
    for copy_out in COPIES_OUT:
        for copy_in in COPIES_IN:
            points.append({
                "copy_in": copy_in, "copy_out": copy_out,
                "one_stream": one_stream(options, copy_in, copy_out),
                "pipeline_depth": {
                    depth: overlapped(options, depth, copy_in, copy_out)
                    for depth in DEPTHS}})
    claimed = [point["pipeline_depth"][2]["busy_ratio"] for point in points
               if point["copy_in"] <= MOST_COPY_IN]
    result |= {"device": DEVICE, "gather": GATHER, "load": LOAD,
               "points": points, "simulated": True, "least_busy": min(claimed),
               "passed": min(claimed) >= LEAST_BUSY}
    return result, page(points)


def page(points):
    text = (f"Simulated, on a virtual clock: no device, driver or wire. The real "
            f"batcher and the steps of a batch that a device with streams "
            f"takes; a full batch of {DEVICE['max_batch_size']} computes for "
            f"{FULL_MS} ms and is gathered for {GATHER} of that. Compute alone "
            f"carries {DEVICE['max_batch_size'] / FULL_MS * 1e3:.0f} rows/s; "
            f"offered are {LOAD} times what it, or the one stream, carries. "
            "Copies are in parts of the compute. Cells: share of the time in "
            "which the device computes / rows/s. One stream: gather, copies and "
            "compute one after the other.\n")
    for copy_out in COPIES_OUT:
        text += f"\n## Copy out {copy_out}\n\n" + measuring.table(
            ["copy in", "one stream", *(f"pipeline of {depth}"
                                        for depth in DEPTHS)],
            [[point["copy_in"], cell(point["one_stream"]),
              *(cell(point["pipeline_depth"][depth]) for depth in DEPTHS)]
             for point in points if point["copy_out"] == copy_out])
    return text
