"""same-host: clients on the server's machine, by perf_analyzer: shared memory with
Triton and with Ferry, and Ferry over a UNIX socket and over loopback.

Images of 602,112 bytes to their mean, by TorchScript in Ferry and NumPy in Triton's
Python backend, and rows of 256 KiB to themselves; both in fp32.
"""

import contextlib
import csv
import os
import shutil
import tempfile

import numpy as np
import tritonclient.grpc as triton

import measuring
import real_triton

OUTSTANDING = (1, 8, 32)
LEAST_SHARED, LEAST_SOCKET = 1.3, 1.2
WINDOWS = 6  # at most, of which three are alike within PERCENT
PERCENT = 50
MOST_OFF = 1e-5  # of a mean of numbers of the order of 1
SIZES = {"image": (150_528, 1), "echo": (65_536, 65_536)}
MAX_BATCH = 16
TENSORS = """max_batch_size: %d
input { name: "input" data_type: TYPE_FP32 dims: %d }
output { name: "output" data_type: TYPE_FP32 dims: %d }
instance_group { count: 1 kind: KIND_CPU }
dynamic_batching {}
"""
FERRY = {"echo": 'backend: "ferry_echo"\n',
         "image": 'backend: "pytorch"\nparameters { key: "ferry.precision" value { '
                  'string_value: "fp32" } }\n'}
ANSWERS = {"echo": "rows", "image": "rows.mean(axis=1, keepdims=True)"}
TRITON_MODEL = '''"""%s."""
import triton_python_backend_utils as triton


class TritonPythonModel:
    def answer(self, request):
        rows = triton.get_input_tensor_by_name(request, "input").as_numpy()
        return triton.InferenceResponse([triton.Tensor("output", %s)])

    def execute(self, requests):
        return [self.answer(each) for each in requests]
'''


def write_model(folder, name, backend):
    """Returns the folder of its version."""
    version = f"{folder}/{name}/1"
    os.makedirs(version)
    with open(f"{folder}/{name}/config.pbtxt", "w", encoding="utf-8") as stream:
        stream.write(backend + TENSORS % (MAX_BATCH, *SIZES[name]))
    return version


def write_models(ferry, other):
    with tempfile.TemporaryDirectory() as scripts:
        measuring.run([measuring.ROOT / "build/release/tests/write_scripts", scripts])
        for name in SIZES:
            version = write_model(ferry, name, FERRY[name])
            if name == "image":
                shutil.copy(f"{scripts}/mean.pt", f"{version}/model.pt")
            version = write_model(other, name, 'backend: "python"\n')
            with open(f"{version}/model.py", "w", encoding="utf-8") as stream:
                stream.write(TRITON_MODEL % (name, ANSWERS[name]))


@contextlib.contextmanager
def serve(programs):
    """Runs Triton, Ferry, and Ferry on a UNIX socket; yields the addresses."""
    measuring.run([real_triton.TRITON, "--fetch"])
    with contextlib.ExitStack() as stack:
        folder, other, sockets = (
            stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(3))
        write_models(folder, other)
        address = measuring.address(1)
        stack.enter_context(real_triton.process(other, address, SIZES))
        common = ["--model-repository", folder, "--load-model", "echo",
                  "--allow-client-shm"]
        stack.enter_context(measuring.server(programs, *common, model="image",
                                             number=0))
        socket = f"unix:{sockets}/ferry.sock"
        stack.enter_context(measuring.server(
            programs, *common, "--grpc-address", socket, model="image", number=2))
        yield {"triton": address, "ferry": measuring.address(0), "socket": socket}


def answers_differ_by(addresses):
    """Returns by how much the two servers' answers to an image differ at most."""
    row = np.random.default_rng(2).standard_normal(
        (1, SIZES["image"][0])).astype(np.float32)
    both = []
    for name in ("ferry", "triton"):
        with triton.InferenceServerClient(addresses[name]) as client:
            given = triton.InferInput("input", list(row.shape), "FP32")
            given.set_data_from_numpy(row)
            both.append(client.infer("image", [given]).as_numpy("output"))
    return float(np.max(np.abs(both[0] - both[1])))


def analyze(address, model, outstanding, seconds, shared):
    """Returns the rate and p99 in ms that perf_analyzer measures, in the first of
    three tries whose windows are alike."""
    memory = (["--shared-memory", "system", "--output-shared-memory-size",
               4 * SIZES[model][1]] if shared else [])
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/points.csv"
        command = [measuring.ROOT / "scripts/perf_analyzer.sh", "-m", model, "-u",
                   address, "-i", "grpc", "-a", "--concurrency-range", outstanding,
                   "-p", int(seconds * 1000), "-r", WINDOWS, "-s", PERCENT, "-f", path,
                   *memory]
        for rest in (2, 1, 0):
            try:
                measuring.run(command)
                break
            except measuring.Failure as failure:
                if rest == 0 or "stable measurement" not in str(failure):
                    raise
        with open(path, newline="", encoding="utf-8") as stream:
            point = next(csv.DictReader(stream))
    return {"rate": float(point["Inferences/Second"]),
            "p99_ms": float(point["p99 latency"]) / 1e3}


# What is measured: where, and whether by shared memory.
WAYS = {"triton_shared": ("triton", True), "ferry_shared": ("ferry", True),
        "ferry_socket": ("socket", False), "ferry_tcp": ("ferry", False),
        "triton_tcp": ("triton", False), "ferry_socket_shared": ("socket", True)}


def measure_cell(options, addresses, model, outstanding):
    """Returns a dict of ways for each turn, in turning order."""
    turns = []
    for number in range(options.pairs):
        ways = list(WAYS)
        if number % 2:
            ways.reverse()
        turns.append({way: analyze(addresses[WAYS[way][0]], model, outstanding,
                                   options.seconds or 0.7, WAYS[way][1])
                      for way in ways})
    return turns


def ratio(turns, one, other):
    return measuring.median(turn[one]["rate"] / turn[other]["rate"] for turn in turns)


def measure(options):
    result = measuring.describe(
        "same-host", f"by shared memory Ferry carries {LEAST_SHARED} times what Triton "
        f"does with its Python backend, and over a UNIX socket {LEAST_SOCKET} times what it does over loopback",
        options.command)
    cells, rows = [], []
    with serve(options.programs) as addresses:
        result["answers_differ_by"] = answers_differ_by(addresses)
        passed = result["answers_differ_by"] <= MOST_OFF
        for model in SIZES:
            for outstanding in OUTSTANDING:
                turns = measure_cell(options, addresses, model, outstanding)
                shared = ratio(turns, "ferry_shared", "triton_shared")
                socket = ratio(turns, "ferry_socket", "ferry_tcp")
                passed = passed and shared >= LEAST_SHARED and socket >= LEAST_SOCKET
                cells.append({"model": model, "outstanding": outstanding,
                              "shared": shared, "socket": socket, "turns": turns})
                rates = [f"{measuring.median(turn[way]['rate'] for turn in turns):.0f}"
                         for way in WAYS]
                rows.append([model, outstanding, *rates, f"{shared:.2f}",
                             f"{socket:.2f}"])
                measuring.say(f"{model}, {outstanding} outstanding: {rows[-1][2:]}")
    result |= {"cells": cells, "passed": passed}
    page = ("Requests/s, medians of the turns; the last two columns are medians of the "
            "turns' ratios.\n\n" + measuring.table(
                ["model", "outstanding", "Triton, shared memory",
                 "Ferry, shared memory", "Ferry, UNIX socket", "Ferry, loopback",
                 "Triton, loopback", "Ferry, UNIX socket and shared memory",
                 "shared memory, of Triton's", "UNIX socket, of loopback's"], rows) +
            f"\nAnswers to an image differ by {result['answers_differ_by']:.1e} at "
            "most.\n")
    return result, page
