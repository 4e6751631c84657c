"""same-host: clients on the server's machine, by perf_analyzer: shared memory with
Triton and with Ferry, and Ferry over a UNIX socket and over loopback.

Images of 602,112 bytes to their mean, by TorchScript in Ferry and NumPy in Triton's
Python backend, and rows of 256 KiB to themselves; both in fp32.
"""

import contextlib
import csv
import dataclasses
import os
import shutil
import tempfile

import numpy as np
import tritonclient.grpc as triton

import measuring
import real_models
import real_triton

OUTSTANDING = (1, 8, 32)
LEAST_SHARED, LEAST_SOCKET = 1.3, 1.2
WINDOWS = 6  # at most, of which three are alike within PERCENT
PERCENT = 50
MOST_OFF = 1e-5  # of a mean of numbers of the order of 1
SIZES = {"image": (150_528, 1), "echo": (65_536, 65_536)}
MAX_BATCH = 16
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


def write_models(ferry, other):
    with tempfile.TemporaryDirectory() as scripts:
        measuring.run([measuring.ROOT / "build/release/tests/write_scripts", scripts])
        for name in SIZES:
            version = real_models.write(ferry, name, FERRY[name], MAX_BATCH,
                                        SIZES[name])
            if name == "image":
                shutil.copy(f"{scripts}/mean.pt", f"{version}/model.pt")
            version = real_models.write(other, name, 'backend: "python"\n',
                                        MAX_BATCH, SIZES[name])
            with open(f"{version}/model.py", "w", encoding="utf-8") as stream:
                stream.write(TRITON_MODEL % (name, ANSWERS[name]))


@dataclasses.dataclass(frozen=True)
class Server:
    address: str
    pid: int


@contextlib.contextmanager
def serve(programs):
    """Runs Triton, Ferry, and Ferry on a UNIX socket; yields them by name."""
    measuring.run([real_triton.TRITON, "--fetch"])
    with contextlib.ExitStack() as stack:
        folder, other, sockets = (
            stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(3))
        write_models(folder, other)
        address = measuring.address(1)
        other_server = stack.enter_context(real_triton.process(other, address, SIZES))
        common = ["--model-repository", folder, "--load-model", "echo",
                  "--allow-client-shm"]
        ferry = stack.enter_context(measuring.server(programs, *common, model="image",
                                                     number=0))
        socket = f"unix:{sockets}/ferry.sock"
        by_socket = stack.enter_context(measuring.server(
            programs, *common, "--grpc-address", socket, model="image", number=2))
        yield {"triton": Server(address, other_server.pid),
               "ferry": Server(measuring.address(0), ferry.pid),
               "socket": Server(socket, by_socket.pid)}


def answers_differ_by(servers):
    """Returns by how much the two servers' answers to an image differ at most."""
    row = np.random.default_rng(2).standard_normal(
        (1, SIZES["image"][0])).astype(np.float32)
    both = []
    for name in ("ferry", "triton"):
        with triton.InferenceServerClient(servers[name].address) as client:
            given = triton.InferInput("input", list(row.shape), "FP32")
            given.set_data_from_numpy(row)
            both.append(client.infer("image", [given]).as_numpy("output"))
    return float(np.max(np.abs(both[0] - both[1])))


def times_of(pid):
    """Returns the seconds that a process has had of the processors, by itself and in
    the kernel."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
        fields = stream.read().rsplit(")", 1)[1].split()
    return np.array([int(field) for field in fields[11:13]]) / os.sysconf("SC_CLK_TCK")


def completed(address, model):
    with triton.InferenceServerClient(address) as client:
        statistics = client.get_inference_statistics(model).model_stats[0]
    return statistics.inference_stats.success.count


def analyze(server, model, outstanding, seconds, shared):
    """Returns the rate and p99 in ms that perf_analyzer measures, in the first of
    three tries whose windows are alike, and what a request costs the server's
    processors, by itself and in the kernel, in ms."""
    memory = (["--shared-memory", "system", "--output-shared-memory-size",
               4 * SIZES[model][1]] if shared else [])
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/points.csv"
        command = [measuring.ROOT / "scripts/perf_analyzer.sh", "-m", model, "-u",
                   server.address, "-i", "grpc", "-a", "--concurrency-range",
                   outstanding, "-p", int(seconds * 1000), "-r", WINDOWS, "-s",
                   PERCENT, "-f", path, *memory]
        before, spent = completed(server.address, model), times_of(server.pid)
        for rest in (2, 1, 0):
            try:
                measuring.run(command)
                break
            except measuring.Failure as failure:
                if rest == 0 or "stable measurement" not in str(failure):
                    raise
        with open(path, newline="", encoding="utf-8") as stream:
            point = next(csv.DictReader(stream))
    own, kernel = ((times_of(server.pid) - spent) * 1e3 /
                   (completed(server.address, model) - before))
    return {"rate": float(point["Inferences/Second"]),
            "p99_ms": float(point["p99 latency"]) / 1e3,
            "own_ms": own, "kernel_ms": kernel}


# What is measured, with its name; its first word is the server.
WAYS = {"triton_shared": "Triton, shared memory",
        "ferry_shared": "Ferry, shared memory",
        "socket_inline": "Ferry, UNIX socket", "ferry_inline": "Ferry, loopback",
        "triton_inline": "Triton, loopback",
        "socket_shared": "Ferry, UNIX socket and shared memory"}
COSTS = ("ferry_inline", "socket_inline", "ferry_shared")


def measure_cell(options, servers, model, outstanding):
    """Returns a dict of ways for each turn, in turning order."""
    turns = []
    for number in range(options.pairs):
        ways = list(WAYS)
        if number % 2:
            ways.reverse()
        turns.append({way: analyze(servers[way.split("_")[0]], model, outstanding,
                                   options.seconds or 0.7, way.endswith("shared"))
                      for way in ways})
    return turns


def ratio(turns, one, other):
    return measuring.median(turn[one]["rate"] / turn[other]["rate"] for turn in turns)


def cost(turns, way):
    """Returns "0.21 + 0.10" ms of the server's own and of the kernel."""
    return " + ".join(f"{measuring.median(turn[way][part] for turn in turns):.3f}"
                      for part in ("own_ms", "kernel_ms"))


def judge(result):
    """Says which half of the claim holds."""
    cells = result["cells"]
    halves = {"shared memory": all(cell["shared"] >= LEAST_SHARED for cell in cells),
              "the UNIX socket": all(cell["socket"] >= LEAST_SOCKET for cell in cells),
              "the same answers": result["answers_differ_by"] <= MOST_OFF}
    result["passed"] = all(halves.values())
    result["verdict"] = "; ".join(f"{what}: {'holds' if holds else 'does not hold'}"
                                  for what, holds in halves.items())


def page_of(result):
    cells, off = result["cells"], result["answers_differ_by"]
    rates = [[cell["model"], cell["outstanding"],
              *(f"{measuring.median(turn[way]['rate'] for turn in cell['turns']):.0f}"
                for way in WAYS), f"{cell['shared']:.2f}", f"{cell['socket']:.2f}"]
             for cell in cells]
    costs = [[cell["model"], cell["outstanding"],
              *(cost(cell["turns"], way) for way in COSTS)] for cell in cells]
    return ("Requests/s, medians of the turns; the last two columns are medians of the "
            "turns' ratios.\n\n" + measuring.table(
                ["model", "outstanding", *WAYS.values(), "shared memory, of Triton's",
                 "UNIX socket, of loopback's"], rates) +
            "\nWhat a request costs ferry-server's processors, in ms: its own + the "
            "kernel's.\n\n" + measuring.table(
                ["model", "outstanding", *(WAYS[way] for way in COSTS)], costs) +
            f"\nAnswers to an image differ by {off:.1e} at most.\n")


def measure(options):
    result = measuring.describe(
        "same-host", f"by shared memory Ferry carries {LEAST_SHARED} times what Triton "
        "does with its Python backend, and over a UNIX socket "
        f"{LEAST_SOCKET} times what it does over loopback", options.command)
    cells = []
    with serve(options.programs) as servers:
        off = answers_differ_by(servers)
        for model in SIZES:
            for outstanding in OUTSTANDING:
                turns = measure_cell(options, servers, model, outstanding)
                cells.append({"model": model, "outstanding": outstanding,
                              "shared": ratio(turns, "ferry_shared", "triton_shared"),
                              "socket": ratio(turns, "socket_inline", "ferry_inline"),
                              "turns": turns})
                measuring.say(f"{model}, {outstanding} outstanding: shared memory "
                              f"{cells[-1]['shared']:.2f} of Triton's, UNIX socket "
                              f"{cells[-1]['socket']:.2f} of loopback's")
    result |= {"answers_differ_by": off, "cells": cells}
    judge(result)
    return result, page_of(result)
