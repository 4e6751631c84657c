"""A real ferry-server on the fake CUDA and the fake NVML, with the real LibTorch.

The libraries lie in $FERRY_FAKE_CUDA_FOLDER, $FERRY_FAKE_NVML_FOLDER and
$FERRY_CUDA_FOLDER, which has libferry_cuda.so.
"""

import contextlib
import fcntl
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile
from unittest import mock

import numpy as np
import tritonclient.grpc as triton

import ferry_process
from safetensors_file import write_safetensors

GPU = "GPU-aaaaaaaa-0000-1111-2222-333333333333"
SCENARIO = (f"driver version=580.95.05\ngpu uuid={GPU} name=NVIDIA_H100 "
            "bus=00000000:1B:00.0 memory_mib=4096 mig=off "
            "busy=40 memory_busy=5 power_mw=350500\n")
WEIGHT = np.arange(1, 7, dtype=np.float32).reshape(2, 3)  # of linear.pt
# What starts and ends on the fake takes longer than with nothing to load.
STOP_S = 30

LINEAR = ('platform: "pytorch_libtorch"\nmax_batch_size: 8\n'
          'input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] }\n'
          'output { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }\n'
          "dynamic_batching {}\n")
NETWORK = ('backend: "ferry_network"\nmax_batch_size: 8\n'
           'input { name: "input" data_type: TYPE_FP32 dims: [ 3 ] }\n'
           'output { name: "output" data_type: TYPE_FP32 dims: [ 2 ] }\n'
           'parameters { key: "ferry.network" value { string_value: "mlp" } }\n'
           'parameters { key: "ferry.widths" value { string_value: "3,2" } }\n'
           'parameters { key: "ferry.weights" value { string_value: "model.safetensors" } }\n'
           "dynamic_batching {}\n")


def has_fake():
    return (os.path.exists(ferry_process.SERVER) and
            os.path.isdir(os.environ.get("FERRY_FAKE_CUDA_FOLDER", "/no")))


class Fake:
    """A folder with scenario, log and models, and the environment of a server."""

    def __init__(self, **scenario):
        """scenario: words of fake_scenario.h; a list is the word more than once."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ferry-fake-"))
        self.models = self.folder / "models"
        self.models.mkdir()
        (self.folder / "nvml").write_text(SCENARIO)
        self.scenario = scenario
        self.without = ""  # the library that is not there

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def add_model(self, name, file="linear", config=LINEAR):
        """A model of one of the files of write_scripts."""
        kind = ["spread"] if file == "spread" else []
        scripts = self.folder / "-".join(["scripts", *kind])
        if not scripts.exists():
            scripts.mkdir()
            subprocess.run(
                [os.environ["FERRY_WRITE_SCRIPTS"], scripts, *kind],
                check=True, capture_output=True)
        (self.models / name / "1").mkdir(parents=True)
        shutil.copy(scripts / f"{file}.pt", self.models / name / "1/model.pt")
        (self.models / name / "config.pbtxt").write_text(config)

    def add_network(self, name):
        """A built-in network of the weights of linear.pt."""
        (self.models / name / "1").mkdir(parents=True)
        (self.models / name / "config.pbtxt").write_text(NETWORK)
        write_safetensors(
            self.models / name / "1/model.safetensors",
            {"layers.0.weight": WEIGHT, "layers.0.bias": np.zeros(2, "<f4")})

    def add_nvml(self, line):
        """A line of the scenario of tests/models/nvml/fake_scenario.h."""
        with open(self.folder / "nvml", "a", encoding="utf-8") as scenario:
            scenario.write(line + "\n")

    @contextlib.contextmanager
    def hang(self):
        """Meanwhile what the scenario says hangs that waits for `hang`."""
        with open(self.folder / "hang", "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def environment(self):
        words = [f"log={self.folder / 'log'}"]
        for word, value in self.scenario.items():
            for one in value if isinstance(value, list) else [value]:
                words.append(f"{word}={one}")
        folders = [os.environ[name] for name in
                   ("FERRY_FAKE_NVML_FOLDER", "FERRY_CUDA_FOLDER",
                    "FERRY_FAKE_CUDA_FOLDER")]
        # Before torch's own RPATH comes only what is loaded already.
        preloaded = sorted(
            path for path in glob.glob(os.path.join(
                os.environ["FERRY_FAKE_CUDA_FOLDER"], "lib*.so*"))
            if os.path.basename(path) != self.without)
        return {"FERRY_FAKE_CUDA": " ".join(words),
                "FERRY_FAKE_NVML": str(self.folder / "nvml"),
                "LD_LIBRARY_PATH": ":".join(folders[:2]),
                "LD_PRELOAD": ":".join(preloaded)}

    def start(self, *flags):
        with mock.patch.dict(os.environ, self.environment()):
            return ferry_process.FerryProcess(
                "--device=only", f"--model-repository={self.models}", *flags,
                models=None)

    def run(self, *flags):
        """Runs a server that does not start to its end."""
        with mock.patch.dict(os.environ, self.environment()):
            return ferry_process.run("--device=only", "--grpc-port=0",
                                     "--metrics-port=0", *flags)

    def used(self):
        """Bytes of the device that are allocated."""
        return int((self.folder / "log.used").read_text())

    def log(self):
        """What the fake noted: stubs and kernels that did nothing, illegal
        addresses, planned errors, captures that broke."""
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []


def ask(client, model="linear", rows=1, seed=0, names=("x", "y"), **options):
    """Sends rows to a model of linear.pt's weights, and returns how far the
    answer is off. names: of its input and output."""
    x = np.random.default_rng(seed).random((rows, 3), dtype=np.float32)
    given = triton.InferInput(names[0], x.shape, "FP32")
    given.set_data_from_numpy(x)
    y = client.infer(model, [given], **options).as_numpy(names[1])
    return float(np.abs(y - x @ WEIGHT.T).max())
