"""precision: small networks, with and without what 16-bit floats cannot hold,
as ferry-server serves them by default, against fp32: what is served of each,
how far its answers are off for rows unlike those that the server compares
with, and how long its load takes. --before DIR: also by the programs there,
loads in turn with them (--pairs).

The networks are those of tests/e2e/write_networks.cc; two large ones, of
tests/e2e/write_scripts.cc, are there for the time of a load alone.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

import measuring

sys.path.append(str(measuring.ROOT / "tests/e2e"))
from output_error import ROUNDING, TOLERANCE, TYPES, error_of

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


def answers(client, folder, network):
    """Returns the answers to the network's rows, each a request, sent at once."""
    import tritonclient.grpc as triton
    given = {}
    for tensor in network["inputs"]:
        rows = np.fromfile(folder / network["name"] / f"rows.{tensor['name']}",
                           TYPES[tensor["type"]])
        given[tensor["name"]] = rows.reshape(network["rows"], *tensor["dims"])

    def alone(row):
        inputs = []
        for tensor in network["inputs"]:
            values = given[tensor["name"]][row:row + 1]
            inputs.append(triton.InferInput(tensor["name"], values.shape,
                                            tensor["type"]))
            inputs[-1].set_data_from_numpy(values)
        return client.infer(network["name"], inputs).as_numpy("y")
    with concurrent.futures.ThreadPoolExecutor(network["rows"]) as pool:
        return np.concatenate(list(pool.map(alone, range(network["rows"]))))


def load_ms(client, name):
    """Returns how long a load takes after an unload."""
    client.unload_model(name)
    until = time.monotonic() + 10
    while client.is_model_ready(name) and time.monotonic() < until:
        time.sleep(0.01)
    begin = time.monotonic()
    client.load_model(name)
    return (time.monotonic() - begin) * 1000


def served(client, folder, network):
    """Loads it; returns what is served, and how far its answers are off."""
    import tritonclient.grpc as triton
    name = network["name"]
    try:
        client.load_model(name)
    except triton.InferenceServerException as error:
        return {"refused": error.message()}
    parameters = client.get_model_config(name).config.parameters
    one = {"serving": parameters["ferry.precision"].string_value,
           "said": parameters["ferry.precision.max_error"].string_value}
    if "inputs" in network:
        expected = np.fromfile(folder / name / "expected",
                               TYPES[network["output"]])
        try:
            got = answers(client, folder, network)
            one["error"] = error_of(expected.reshape(got.shape), got)
        except triton.InferenceServerException as error:
            one["fails"] = error.message()
    return one


def serve(servers, folder, networks, pairs):
    """Returns for each of the programs, by network, what was served, its error
    and the median time of its loads."""
    import tritonclient.grpc as triton
    found = [{} for _ in servers]
    with contextlib.ExitStack() as running:
        clients = []
        for number, programs in enumerate(servers):
            running.enter_context(measuring.server(
                programs, "--model-repository", folder, "--probe-loads", "off",
                "--model-control-mode", "explicit", model=FIRST,
                number=number))
            clients.append(running.enter_context(
                triton.InferenceServerClient(measuring.address(number))))
        for network in networks + [{"name": name} for name in LARGE]:
            name = network["name"]
            for client, ones in zip(clients, found):
                ones[name] = served(client, folder, network)
            taken = [[] for _ in servers]
            for _ in range(pairs):
                for client, ones, times in zip(clients, found, taken):
                    if "refused" not in ones[name]:
                        times.append(load_ms(client, name))
            for ones, times in zip(found, taken):
                ones[name]["load_ms"] = times
                measuring.say(f"{name}: {ones[name]}")
    return found


def text_of(one):
    if one is None:
        return ["-"] * 3
    if "refused" in one:
        return ["refused", "-", "-"]
    return [one["serving"],
            f"{one['error']:.2%}" if "error" in one else
            "fails" if "fails" in one else "-",
            f"{measuring.median(one['load_ms']):.0f}"]


def is_silently_off(one):
    return "fails" in one or ("error" in one and one["error"] > (
        TOLERANCE if one["serving"] == "bf16" else ROUNDING))


def measure(options):
    result = measuring.describe(
        "precision", "no network is off by more than 5 % without a word: it is "
        "within, or served in fp32, or refused", options.command)
    servers = [options.programs]
    if options.before is not None:
        servers.append(measuring.Programs(options.before))
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        networks = write_models(options.programs, folder)
        now, *before = serve(servers, folder, networks, options.pairs)
    before = before[0] if before else {}
    silent = [name for name, one in now.items() if is_silently_off(one)]
    silent_before = [name for name, one in before.items()
                     if is_silently_off(one)]
    result |= {"now": now, "before": before, "silently_off": silent,
               "silently_off_before": silent_before, "passed": not silent}
    rows = [[name, *text_of(one), *text_of(before.get(name))]
            for name, one in now.items()]
    page = (f"{len(networks)} networks of a few layers by the default "
            "precision, for 16 rows unlike those that the server compares "
            "with, each a request; errors are of the largest value of fp32, of "
            "integers the share that differs. Loads: the median of "
            f"{options.pairs}, without a probe load. Ready, and fails or off by "
            f"more than 5 % without a word: {', '.join(silent) or 'none'}")
    if before:
        page += (f"; before the comparison {len(silent_before)}: "
                 f"{', '.join(silent_before)}")
    page += ".\n\n" + measuring.table(
        ["network", "served", "error", "load, ms", "before", "error",
         "load, ms"], rows)
    return result, page
