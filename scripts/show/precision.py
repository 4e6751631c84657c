"""precision: small networks, with and without what 16-bit floats cannot hold,
as ferry-server serves them by default, against fp32: what is served of each,
how far its answers are off for rows unlike those that the server compares
with, and how long its load takes. --before DIR: also by the programs there.

The networks are those of tests/e2e/write_networks.cc; two large ones, of
tests/e2e/write_scripts.cc, are there for the time of a load alone.
"""

import json
import os
import pathlib
import tempfile
import time

import numpy as np

import measuring

TOLERANCE = 0.05  # of ferry.precision_tolerance
ROUNDING = 1e-3  # fp32 by other kernels
TYPES = {"FP32": np.float32, "INT64": np.int64}
FIRST = "mlp"  # loaded at start, so that LibTorch is there
LARGE = {
    "residual": 'input { name: "x" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }\n'
                'output { name: "y" data_type: TYPE_FP32 dims: [ 1000 ] }\n',
    "wide": 'input { name: "x" data_type: TYPE_FP32 dims: [ 1024 ] }\n'
            'output { name: "y" data_type: TYPE_FP32 dims: [ 1024 ] }\n'}


def write_models(programs, folder):
    """Returns what there is, as networks.json lists it, and writes the rest."""
    tests = programs.folder.parent / "tests"
    measuring.run([tests / "write_networks", folder])
    for name, tensors in LARGE.items():
        os.makedirs(pathlib.Path(folder) / name / "1")
        measuring.run([tests / "write_scripts",
                       pathlib.Path(folder) / name / "1", name])
        (pathlib.Path(folder) / name / "config.pbtxt").write_text(
            'platform: "pytorch_libtorch"\nmax_batch_size: 16\n'
            f'default_model_filename: "{name}.pt"\ndynamic_batching {{}}\n' +
            tensors, encoding="utf-8")
    return json.loads((pathlib.Path(folder) / "networks.json").read_text())


def error_of(expected, found):
    """Returns how far an output is off, as a share of its largest value."""
    if not np.issubdtype(expected.dtype, np.floating):
        return float(np.mean(expected != found))
    if not np.array_equal(np.isfinite(expected), np.isfinite(found)):
        return float("inf")
    expected, found = np.nan_to_num(expected), np.nan_to_num(found)
    return float(np.abs(expected - found).max() /
                 (np.abs(expected).max() or 1))


def answers(client, folder, network):
    """Returns the answers to the network's rows, sent together."""
    import tritonclient.grpc as triton
    inputs = []
    for tensor in network["inputs"]:
        rows = np.fromfile(folder / network["name"] / f"rows.{tensor['name']}",
                           TYPES[tensor["type"]])
        rows = rows.reshape(network["rows"], *tensor["dims"])
        inputs.append(triton.InferInput(tensor["name"], rows.shape,
                                        tensor["type"]))
        inputs[-1].set_data_from_numpy(rows)
    return client.infer(network["name"], inputs).as_numpy("y")


def load_seconds(client, name, times):
    """Returns the median of that many loads, each after an unload."""
    taken = []
    for _ in range(times):
        client.unload_model(name)
        until = time.monotonic() + 10
        while client.is_model_ready(name) and time.monotonic() < until:
            time.sleep(0.01)
        begin = time.monotonic()
        client.load_model(name)
        taken.append(time.monotonic() - begin)
    return measuring.median(taken)


def serve(programs, folder, networks, times):
    """Returns by name what was served, its error, and how long it loads."""
    import tritonclient.grpc as triton
    found = {}
    with measuring.server(programs, "--model-repository", folder,
                          "--model-control-mode", "explicit", model=FIRST):
        with triton.InferenceServerClient(measuring.ADDRESS) as client:
            for network in networks + [{"name": name} for name in LARGE]:
                name = network["name"]
                try:
                    client.load_model(name)
                except triton.InferenceServerException as error:
                    found[name] = {"refused": error.message()}
                    continue
                parameters = client.get_model_config(name).config.parameters
                one = {"serving": parameters["ferry.precision"].string_value,
                       "said": parameters["ferry.precision.max_error"]
                               .string_value,
                       "load_s": load_seconds(client, name, times)}
                if "inputs" in network:
                    got = answers(client, folder, network)
                    expected = np.fromfile(folder / name / "expected",
                                           TYPES[network["output"]])
                    one["error"] = error_of(expected.reshape(got.shape), got)
                found[name] = one
                measuring.say(f"{name}: {one}")
    return found


def text_of(one):
    if one is None:
        return ["-"] * 3
    if "refused" in one:
        return ["refused", "-", "-"]
    return [one["serving"],
            f"{one['error']:.2%}" if "error" in one else "-",
            f"{one['load_s'] * 1000:.0f}"]


def is_silently_off(one):
    return "error" in one and one["error"] > (
        TOLERANCE if one["serving"] == "bf16" else ROUNDING)


def measure(options):
    result = measuring.describe(
        "precision", "no network is off by more than 5 % without a word: it is "
        "within, or served in fp32, or refused", options.command)
    times = max(options.pairs // 2, 1)
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        networks = write_models(options.programs, folder)
        now = serve(options.programs, folder, networks, times)
        before = {} if options.before is None else serve(
            measuring.Programs(options.before), folder, networks, times)
    silent = [name for name, one in now.items() if is_silently_off(one)]
    silent_before = [name for name, one in before.items()
                     if is_silently_off(one)]
    result |= {"now": now, "before": before, "silently_off": silent,
               "silently_off_before": silent_before, "passed": not silent}
    rows = [[name, *text_of(one), *text_of(before.get(name))]
            for name, one in now.items()]
    page = (f"{len(networks)} networks of a few layers by the default "
            "precision, for 16 rows unlike those that the server compares "
            "with; errors are of the largest value of fp32, of integers the "
            f"share that differs. Off by more than 5 % without a word: "
            f"{', '.join(silent) or 'none'}")
    if before:
        page += (f"; before the comparison {len(silent_before)}: "
                 f"{', '.join(silent_before)}")
    page += ".\n\n" + measuring.table(
        ["network", "served", "error", "load, ms", "before", "error",
         "load, ms"], rows)
    return result, page
