"""B3: versions that change under load, and the memory of models that come and
go. Needs numpy and tritonclient, of .venv; to measure a .pt2 too, a Python that
can export one (see exporting.py)."""

import concurrent.futures
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import threading
import time

import exporting
import measuring

REQUESTS = 10_000
CHANGES = 20
CLIENTS = 8
CYCLES = 200
SETTLED = 20  # cycles after which memory is compared
SHOWN = [SETTLED, 100, CYCLES]
MOST_GROWTH_MB = 10
NOT_MEASURED = ("not measured: needs all of torch: scripts/setup.sh --full, or "
                "FERRY_EXPORT_PYTHON")

MLP = """backend: "ferry_network"
max_batch_size: 64
input { name: "input" data_type: TYPE_FP32 dims: 1024 }
output { name: "output" data_type: TYPE_FP32 dims: 1024 }
dynamic_batching {}
parameters { key: "ferry.network" value { string_value: "mlp" } }
parameters { key: "ferry.widths" value { string_value: "1024,2048,1024" } }
"""
SCRIPT = """backend: "pytorch"
max_batch_size: 64
input { name: "x" data_type: TYPE_FP32 dims: 1024 }
output { name: "y" data_type: TYPE_FP32 dims: 1024 }
dynamic_batching {}
"""


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


def explicit_server(programs, folder):
    write_config(folder, "mlp", MLP)
    return measuring.server(programs, "--model-repository", folder,
                            "--model-control-mode", "explicit")


def write_config(folder, name, text):
    pathlib.Path(folder, name).mkdir()
    pathlib.Path(folder, name, "config.pbtxt").write_text(text, "utf-8")


def write_network(folder, _):
    write_config(folder, "big", MLP)


def write_script(folder, _):
    writer = measuring.Programs(measuring.ROOT / "build/release/tests")
    measuring.run([writer.path("write_scripts"), folder, "wide"])
    write_config(folder, "big", SCRIPT)
    version = pathlib.Path(folder, "big", "1")
    version.mkdir()
    shutil.move(pathlib.Path(folder, "wide.pt"), version / "model.pt")


def write_package(folder, programs):
    measuring.say("exporting a .pt2")
    measuring.run(
        ["bash", measuring.ROOT / "scripts/export.sh",
         "examples/export/mlp.py:Mlp", "--arguments", '{"width": 2048}',
         "--input", "x:FP32:-1,64", "--format", "pt2", "--max-batch-size", "64",
         "--repository", folder, "--name", "big", "--server",
         programs.path("ferry-server")], cwd=measuring.ROOT)


# Model: what writes its folder; each has 8 to 9 MB of weights in bf16.
PACKAGE = "AOTInductor, `.pt2`"
MODELS = {"built-in network": write_network,
          "TorchScript, `.pt`": write_script, PACKAGE: write_package}


def can_export():
    """Returns whether a .pt2 can be made. A given Python must be able to."""
    try:
        exporting.export_python()
    except measuring.Failure:
        if "FERRY_EXPORT_PYTHON" in os.environ:
            raise
        return False
    return True


def ask(client, triton):
    """Sends one row to the model, whatever its input is called."""
    import numpy as np  # pylint: disable=import-outside-toplevel
    tensor = client.get_model_metadata("big").inputs[0]
    row = np.ones([1, *tensor.shape[1:]], np.float32)
    values = triton.InferInput(tensor.name, row.shape, tensor.datatype)
    values.set_data_from_numpy(row)
    client.infer("big", [values])


def cycle(client, triton, pid):
    """Loads, asks and unloads; returns the resident memory after each time."""
    sizes = []
    for number in range(CYCLES):
        client.load_model("big")
        ask(client, triton)
        loaded = measuring.resident_mb(pid)
        client.unload_model("big")
        while any(model.name == "big" and model.state != "UNAVAILABLE"
                  for model in client.get_model_repository_index().models):
            time.sleep(0.01)
        sizes.append(measuring.resident_mb(pid))
        if number % 50 == 49:
            measuring.say(f"{number + 1} cycles, {loaded:.0f} MB loaded, "
                          f"{sizes[-1]:.0f} MB unloaded")
    return sizes


def measure_memory(programs, write, triton):
    """Returns what a server of its own holds while a model comes and goes."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder, programs)
        with explicit_server(programs, folder) as child, \
                triton.InferenceServerClient(measuring.ADDRESS) as client:
            start = measuring.resident_mb(child.pid)
            sizes = cycle(client, triton, child.pid)
    kept = sizes[SETTLED - 1:]
    slope = statistics.linear_regression(range(len(kept)), kept).slope
    return {"start_mb": start, "resident_mb": sizes,
            "growth_mb": kept[-1] - kept[0], "kb_a_cycle": slope * 1000}


def measure_models(programs, exports, triton):
    """Returns of each model what it held, or None where it was not measured."""
    held = {}
    for model, write in MODELS.items():
        if model == PACKAGE and not exports:
            measuring.say(f"{model}: {NOT_MEASURED}")
            held[model] = None
            continue
        measuring.say(f"{model}: {CYCLES} cycles")
        held[model] = measure_memory(programs, write, triton)
    return held


def measure_versions(programs, scale, triton):
    with tempfile.TemporaryDirectory() as folder:
        with explicit_server(programs, folder), \
                triton.InferenceServerClient(measuring.ADDRESS) as control:
            seen = change_versions(folder, control, scale, triton)
    measuring.say(f"{seen['answered']} answered, {len(seen['failed'])} failed, "
                  f"by version {seen['versions']}")
    return seen


def measure(options):
    sys.path.append(str(measuring.ROOT / "tests/support"))
    # pylint: disable=import-outside-toplevel
    import scale_model
    import tritonclient.grpc as triton
    result = measuring.describe(
        "B3", f"{REQUESTS:,} requests across {CHANGES} changes of version: 0 "
        "failed, each answered by one whole version; memory returns over "
        f"{CYCLES} cycles of load, request and unload", options.command)
    exports = can_export()
    seen = measure_versions(options.programs, scale_model, triton)
    held = measure_models(options.programs, exports, triton)
    result |= {"seen": seen, "memory": held,
               "passed": not seen["failed"] and
                         seen["answered"] == REQUESTS and
                         len(seen["versions"]) == CHANGES + 1 and
                         all(one["growth_mb"] < MOST_GROWTH_MB
                             for one in held.values() if one)}
    return result, page(seen, held)


def page(seen, held):
    return (f"{seen['answered']:,} requests of {CLIENTS} clients, "
            f"{len(seen['failed'])} failed, {len(seen['versions'])} versions "
            "answered; of each answer every value is of the version that it "
            "names, and no client saw an older one after a newer one.\n\n"
            f"A model of 8 to 9 MB of weights, {CYCLES} times loaded, sent one "
            "request and unloaded, each kind on a server of its own: MB "
            "resident before the first cycle and after the others; the slope "
            f"and the growth (less than {MOST_GROWTH_MB} MB) are from cycle "
            f"{SETTLED} to the last.\n\n" +
            measuring.table(
                ["model", "start", *[f"after {count}" for count in SHOWN],
                 "kB a cycle", "growth, MB"],
                [row(model, one) for model, one in held.items()]))


def row(model, held):
    if held is None:
        return [model, NOT_MEASURED] + [""] * (len(SHOWN) + 2)
    shown = [held["resident_mb"][count - 1] for count in SHOWN]
    return [model, *[f"{size:.1f}" for size in [held["start_mb"], *shown]],
            f"{held['kb_a_cycle']:.1f}", f"{held['growth_mb']:.1f}"]
