"""probe-loads: what it costs to load a version in a process of its own first."""

import contextlib
import pathlib
import shutil
import statistics
import tempfile
import time

import measuring

LEAST_PAIRS = 7
CONFIG = """backend: "pytorch"
max_batch_size: 8
input {{ name: "x" data_type: TYPE_FP32 dims: [ {dims} ] }}
output {{ name: "y" data_type: TYPE_FP32 dims: [ {out} ] }}
"""
# Script: what write_scripts is told to write, sizes of a row of input and output.
SCRIPTS = {"pixels": ([], "3", "3"), "wide": (["wide"], "1024", "1024"),
           "residual": (["residual"], "3, 224, 224", "1000")}
WAYS = {"on": 0, "off": 1}  # and the numbers of their servers


def write(folder):
    writer = measuring.Programs(measuring.ROOT / "build/release/tests")
    for name, (arguments, dims, out) in SCRIPTS.items():
        version = pathlib.Path(folder, "models", name, "1")
        version.mkdir(parents=True)
        measuring.run([writer.path("write_scripts"), folder, *arguments])
        shutil.move(pathlib.Path(folder, f"{name}.pt"), version / "model.pt")
        (version.parent / "config.pbtxt").write_text(
            CONFIG.format(dims=dims, out=out), "utf-8")
    return pathlib.Path(folder, "models")


def load(client, name):
    """Returns the seconds of a load, and unloads."""
    begin = time.monotonic()
    client.load_model(name)
    took = time.monotonic() - begin
    client.unload_model(name)
    while any(model.name == name and model.state != "UNAVAILABLE"
              for model in client.get_model_repository_index().models):
        time.sleep(0.01)
    return took


def measure(options):
    import tritonclient.grpc as triton  # pylint: disable=import-outside-toplevel
    result = measuring.describe(
        "probe-loads", "a load with a probe load takes at most 2.2 times as long "
        "and a second", options.command)
    seconds = {name: {way: [] for way in WAYS} for name in SCRIPTS}
    with contextlib.ExitStack() as stack:
        models = write(stack.enter_context(tempfile.TemporaryDirectory()))
        clients = {}
        for way, number in WAYS.items():
            stack.enter_context(measuring.server(
                options.programs, "--model-repository", models,
                "--model-control-mode", "explicit", "--probe-loads", way,
                model="pixels", number=number))
            clients[way] = stack.enter_context(
                triton.InferenceServerClient(measuring.address(number)))
            clients[way].unload_model("pixels")
            for name in SCRIPTS:  # compiles oneDNN's kernels
                load(clients[way], name)
        for _ in range(max(options.pairs, LEAST_PAIRS)):
            for name in SCRIPTS:
                for way, client in clients.items():
                    seconds[name][way].append(load(client, name))
    medians = {name: {way: statistics.median(each) for way, each in ways.items()}
               for name, ways in seconds.items()}
    result |= {"seconds": seconds, "medians": medians,
               "passed": all(ways["on"] <= 2.2 * ways["off"] + 1
                             for ways in medians.values())}
    rows = [[name, f"{ways['off']:.2f}", f"{ways['on']:.2f}",
             f"{ways['on'] - ways['off']:.2f}"]
            for name, ways in medians.items()]
    return result, (
        "Medians of seconds of `RepositoryModelLoad`, by turns on two servers: a "
        "script that returns its input, one with 16 MB of weights in two linear "
        "layers, and a ResNet-18.\n\n" +
        measuring.table(["script", "without", "with", "more"], rows))
