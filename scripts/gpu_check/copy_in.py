"""What it costs to bring the rows of a batch to the device: gathered first, as
the server does, or each from where it lies (copy-in-benchmark).

Errors: Wrong, with the benchmark's own words.
"""

import json
import pathlib
import tempfile

from programs import Wrong, run

WITHIN_S = 120


def measure(program, environment, seconds):
    """Returns what each way took, in us: `total_us` from the first row to the
    last byte on the device, `host_us` of it in which the thread was busy."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        ended = run([program, f"--benchmark_min_time={seconds}",
                     f"--benchmark_out={path}", "--benchmark_out_format=json"],
                    WITHIN_S + 12 * seconds, environment)
        ended.require_success()
        return [read(one) for one in json.loads(path.read_text())["benchmarks"]]


def read(benchmark):
    if benchmark.get("error_occurred"):
        raise Wrong(f"{benchmark['name']}: {benchmark['error_message']}")
    if benchmark["time_unit"] != "ns":
        raise Wrong(f"expected times in ns, got {benchmark['time_unit']}")
    batch, way = benchmark["name"].split("/")[:2]
    return {"batch": batch, "way": way,
            "total_us": benchmark["real_time"] / 1e3,
            "host_us": benchmark["host_us"],
            "gbytes_per_second": benchmark["bytes_per_second"] / 1e9}

