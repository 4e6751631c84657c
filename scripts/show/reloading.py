"""B3: versions that change under load, and the memory of models that come and
go. Needs numpy and tritonclient, of .venv."""

import concurrent.futures
import os
import sys
import tempfile
import threading
import time

import measuring

REQUESTS = 10_000
CHANGES = 20
CLIENTS = 8
CYCLES = 200
SETTLED = 20  # cycles after which memory is compared
MOST_GROWTH_MB = 10

MLP = """backend: "ferry_network"
max_batch_size: 64
input { name: "input" data_type: TYPE_FP32 dims: 1024 }
output { name: "output" data_type: TYPE_FP32 dims: 1024 }
dynamic_batching {}
parameters { key: "ferry.network" value { string_value: "mlp" } }
parameters { key: "ferry.widths" value { string_value: "1024,2048,1024" } }
"""


def resident_mb(pid):
    with open(f"/proc/{pid}/statm", encoding="utf-8") as stream:
        pages = int(stream.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def change_versions(folder, control, scale, triton):
    """Returns what the clients saw while versions changed."""
    scale.write_config(folder, "scale", scale.SCALE_CONFIG)
    scale.write_version(folder, 1)
    control.load_model("scale")
    lock = threading.Lock()
    seen = {"answered": 0, "failed": [], "versions": {}}

    def run(count):
        with triton.InferenceServerClient(measuring.ADDRESS) as own:
            newest = 0
            for _ in range(count):
                try:
                    version = scale.ask(own)  # asserts that it is whole
                    failure = (f"{version} after {newest}"
                               if version < newest else None)
                    newest = version
                except Exception as error:  # pylint: disable=broad-except
                    failure = repr(error)
                with lock:
                    seen["answered"] += 1
                    if failure:
                        seen["failed"].append(failure)
                    else:
                        seen["versions"][version] = (
                            seen["versions"].get(version, 0) + 1)

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        runs = [pool.submit(run, REQUESTS // CLIENTS) for _ in range(CLIENTS)]
        for change in range(1, CHANGES + 1):
            while seen["answered"] < change * REQUESTS / (CHANGES + 1):
                time.sleep(0.001)
            scale.write_version(folder, change + 1)
            control.load_model("scale")
        for each in runs:
            each.result()
    return seen


def cycle_models(folder, control, scale, pid):
    """Returns the resident memory after each load and unload."""
    scale.write_config(folder, "big", MLP)
    sizes = []
    for number in range(CYCLES):
        control.load_model("big")
        loaded = resident_mb(pid)
        control.unload_model("big")
        while any(model.name == "big" and model.state != "UNAVAILABLE"
                  for model in control.get_model_repository_index().models):
            time.sleep(0.01)
        sizes.append(resident_mb(pid))
        if number % 50 == 49:
            measuring.say(f"{number + 1} cycles, {loaded:.0f} MB loaded, "
                          f"{sizes[-1]:.0f} MB unloaded")
    return sizes


def measure(options):
    sys.path.append(str(measuring.ROOT / "tests/support"))
    # pylint: disable=import-outside-toplevel
    import scale_model
    import tritonclient.grpc as triton
    result = measuring.describe(
        "B3", f"{REQUESTS:,} requests across {CHANGES} changes of version: 0 "
        "failed, each answered by one whole version; memory returns over "
        f"{CYCLES} loads and unloads", options.command)
    with tempfile.TemporaryDirectory() as folder:
        scale_model.write_config(folder, "mlp", MLP)
        with measuring.server(options.programs, "--model-repository", folder,
                              "--model-control-mode", "explicit") as child, \
                triton.InferenceServerClient(measuring.ADDRESS) as control:
            seen = change_versions(folder, control, scale_model, triton)
            measuring.say(f"{seen['answered']} answered, "
                          f"{len(seen['failed'])} failed, by version "
                          f"{seen['versions']}")
            sizes = cycle_models(folder, control, scale_model, child.pid)
    growth = sizes[-1] - sizes[SETTLED - 1]
    result |= {"seen": seen, "resident_mb": sizes, "growth_mb": growth,
               "passed": not seen["failed"] and
                         seen["answered"] == REQUESTS and
                         len(seen["versions"]) == CHANGES + 1 and
                         growth < MOST_GROWTH_MB}
    page = (f"{seen['answered']:,} requests of {CLIENTS} clients, "
            f"{len(seen['failed'])} failed, {len(seen['versions'])} versions "
            "answered; of each answer every value is of the version that it "
            "names, and no client saw an older one after a newer one.\n\n"
            f"A model of 8 MB of weights, loaded and unloaded {CYCLES} times: "
            f"{sizes[0]:.0f} MB resident after the first, {sizes[SETTLED - 1]:.0f}"
            f" MB after {SETTLED}, {sizes[-1]:.0f} MB after the last; growth "
            f"{growth:.1f} MB (less than {MOST_GROWTH_MB}).\n")
    return result, page
