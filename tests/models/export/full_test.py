"""Exports of small modules, served and compared; needs all of torch."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import torch

from ferry_export import aoti_package

SERVER = os.environ["FERRY_SERVER"]

NETWORKS = '''
"""Networks to export."""
import torch
from torch import nn

class Mlp(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(),
                                    nn.Linear(width, 4))
    def forward(self, x):
        return self.layers(x)

class Two(Mlp):
    """Takes ids of any length; gives a dict."""
    def forward(self, ids, x):
        table = torch.arange(10, dtype=x.dtype)
        return {"sums": table[ids].sum(1, keepdim=True) + self.layers(x),
                "ids": ids + 1}

class Fixed(Mlp):
    """Its Python code depends on the row count."""
    def forward(self, x):
        return self.layers(x) * float(len(x))

class Positions(Mlp):
    """Counts in the type of its input: bf16 counts to 256."""
    def forward(self, x):
        return x * torch.sin(torch.arange(x.shape[1]).to(x.dtype))

class Phase(Mlp):
    """Turns what its input has of digits past bf16's; zeros have none."""
    def forward(self, x):
        return self.layers(torch.sin(x * 1000))

def zeros(rows):
    return {"x": [[0.0] * 8] * rows}

class Frequencies(Mlp):
    """Positions of 32 bits times a buffer, which a cast rounds."""
    def __init__(self):
        super().__init__()
        self.register_buffer("freq", torch.tensor([0.3, 0.1]))
    def forward(self, x):
        t = torch.arange(x.shape[1]).float()
        return x.unsqueeze(2) * torch.outer(t, self.freq.float()).cos()

class Nested(Mlp):
    def forward(self, x):
        return [self.layers(x), [x]]

class Branches(Mlp):
    def forward(self, x):
        if x.sum() > 0:
            return self.layers(x)
        return self.layers(-x)

class Pairs(Mlp):
    """Half as many rows as it is given."""
    def forward(self, x):
        return self.layers(x)[::2]

NUMBER = 3
def broken():
    raise ValueError("no such file: vocabulary.txt")
'''


class FullTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "networks.py").write_text(NETWORKS)

    def run_export(self, source, *words, inputs=("x:FP32:-1,8",)):
        """Returns the exit code and what was said."""
        flags = [word for text in inputs for word in ("--input", text)]
        done = subprocess.run(
            [sys.executable, "-m", "ferry_export", f"networks.py:{source}",
             "--repository", "models", "--name", self._testMethodName[5:],
             "--server", SERVER, "--rows", "6", "--max-batch-size", "8",
             *flags, *words],
            cwd=self.folder, capture_output=True, text=True, check=False,
            timeout=500)
        return done.returncode, done.stdout + done.stderr

    def passes(self, source, *words, **options):
        code, text = self.run_export(source, *words, **options)
        self.assertEqual(code, 0, text)
        self.assertIn(": pass", text)
        return (self.folder / "models" / self._testMethodName[5:] /
                "config.pbtxt").read_text()

    def fails(self, source, *words, **options):
        code, text = self.run_export(source, *words, **options)
        self.assertEqual(code, 1, text)
        self.assertFalse((self.folder / "models" /
                          self._testMethodName[5:]).exists())
        return text

    def test_torch_script_in_bf16(self):
        self.assertIn('"bf16"', self.passes("Mlp", "--output", "scores"))

    def test_torch_script_in_fp32(self):
        self.assertIn('"fp32"', self.passes("Mlp", "--dtype", "fp32"))

    def test_sizes_that_vary_and_a_dict(self):
        config = self.passes("Two", inputs=("ids:INT64:-1,-1", "x:FP32:-1,8"))
        self.assertIn('"ids" data_type: TYPE_INT64 dims: [ -1 ]', config)
        self.assertIn('"sums" data_type: TYPE_FP32 dims: [ 4 ]', config)

    def test_what_bf16_cannot_count_is_refused(self):
        for words in ((), ("--script",), ("--format", "pt2")):
            # A trace has the type of its positions as a constant.
            self.assertIn("off by" if "--script" in words else "FAIL",
                          self.fails("Positions", *words,
                                     inputs=("x:FP32:-1,-1",)))
        self.assertIn("FAIL", self.fails("Frequencies", "--script",
                                         inputs=("x:FP32:-1,512",)))

    def test_row_of_the_samples_is_what_each_load_compares(self):
        self.assertIn("off by", self.fails("Phase"))
        config = self.passes("Phase", "--samples", "networks.py:zeros")
        self.assertIn('input_data_file: "row.0"', config)

    def test_package(self):
        config = self.passes("Two", "--format", "pt2", "--dtype", "fp32",
                             inputs=("x:FP32:-1,8", "ids:INT64:-1,-1"))
        self.assertIn("torch_aoti", config)
        self.assertIn('"ids" data_type: TYPE_INT64 dims: [ -1 ]', config)

    def test_bound_that_the_compiler_sets_is_told(self):
        code, told = self.run_export(
            "Two", "--format", "pt2", "--dtype", "fp32", "--no-check",
            inputs=("x:FP32:-1,8", "ids:INT64:-1,-1"))
        self.assertEqual(code, 0, told)
        self.assertIn("export: ids: torch's compiler bounds the size in place 0 "
                      "of its dims to 4096; ", told)
        self.assertNotIn("export: x: ", told)

    def test_package_has_no_region_in_which_a_check_ends_the_server(self):
        name = "package_has_no_region_in_which_a_check_ends_the_server"
        self.passes("Two", "--format", "pt2",
                    inputs=("ids:INT64:-1,-1", "x:FP32:-1,8"))
        package = self.folder / "models" / name / "1" / "model.pt2"
        with zipfile.ZipFile(package) as archive:
            library = archive.read(next(entry for entry in archive.namelist()
                                        if entry.endswith(".so")))
        self.assertIn(b"aoti_torch_check", library, "an index is checked")
        self.assertNotIn(b"GOMP_parallel", library)

    def test_package_of_each_bucket(self):
        self.passes("Mlp", "--format", "pt2", "--buckets", "1,2,8",
                    "--package-per-bucket")
        made = self.folder / "models" / "package_of_each_bucket" / "1"
        self.assertEqual(sorted(file.name for file in made.iterdir()),
                         ["model_b1.pt2", "model_b2.pt2", "model_b8.pt2"])

    def test_package_of_one_row(self):
        self.passes("Mlp", "--max-batch-size", "1", "--format", "pt2")

    def test_package_without_rows(self):
        self.passes("Mlp", "--max-batch-size", "0", "--format", "pt2",
                    inputs=("x:FP32:4,8",))

    def test_package_names_what_it_is_compiled_for(self):
        self.passes("Mlp", "--format", "pt2")
        file = (self.folder / "models" /
                "package_names_what_it_is_compiled_for/1/model.pt2")
        with zipfile.ZipFile(file) as archive:
            metadata = next(json.loads(archive.read(name))
                            for name in archive.namelist()
                            if name.endswith("_metadata.json"))
        self.assertEqual(metadata["FERRY_CPU_FLAGS"], aoti_package.cpu_flags(
            pathlib.Path("/proc/cpuinfo").read_text()))
        self.assertEqual(
            aoti_package.cpu_flags("model : 1\nflags\t: fpu avx2 avx512f "
                                   "avx512_vp2intersect fma sse4_1 sse4a\n"),
            "avx2 avx512f fma sse4_1")

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_package_for_a_gpu(self):
        self.passes("Mlp", "--device", "cuda")

    @unittest.skipIf(torch.cuda.is_available(), "here is a GPU")
    def test_package_for_a_gpu_that_is_not_there(self):
        self.assertIn("--device cuda: expected a GPU that torch sees, got none",
                      self.fails("Mlp", "--device", "cuda"))

    def test_package_in_int8(self):
        self.passes("Mlp", "--dtype", "int8", "--arguments",
                    json.dumps({"width": 64}))

    def test_weights(self):
        torch.save({"layers.0.weight": torch.zeros(32, 8),
                    "layers.0.bias": torch.zeros(32),
                    "layers.2.weight": torch.zeros(4, 32),
                    "layers.2.bias": torch.arange(4.0)},
                   self.folder / "arange.pt")
        self.passes("Mlp", "--weights", "arange.pt")

    def test_weights_of_another_module(self):
        torch.save({"layer.0.weight": torch.zeros(32, 8)},
                   self.folder / "other.pt")
        text = self.fails("Mlp", "--weights", "other.pt")
        self.assertIn("it lacks 'layers.0.weight', 'layers.0.bias'", text)
        self.assertIn("the module lacks 'layer.0.weight'", text)

    def test_code_that_depends_on_the_rows(self):
        self.assertIn("whose Python code depends on sizes",
                      self.fails("Fixed"))

    def test_code_that_torch_export_cannot_take(self):
        text = self.fails("Branches", "--format", "pt2")
        self.assertIn("torch.export cannot take this module: ", text)

    def test_a_tolerance_that_is_not_met(self):
        self.assertIn("off by", self.fails("Mlp", "--max-error", "1e-6"))
        text = self.fails("Mlp", "--min-cosine", "0.9999999999")
        self.assertIn(": FAIL", text)
        self.assertIn("nothing was written", text)

    def test_outputs_that_cannot_be_served(self):
        self.assertIn("expected 'output__1' to be a tensor, got a list",
                      self.fails("Nested"))
        self.assertIn("expected a row for each row of the inputs",
                      self.fails("Pairs"))

    def test_sources_that_give_no_module(self):
        for source, words in (
                ("Gone", "has no 'Gone'; it has torch, nn, Mlp"),
                ("NUMBER", "is a int"),
                ("broken", "no such file: vocabulary.txt")):
            with self.subTest(source=source):
                self.assertIn(words, self.fails(source))

    def test_inputs_that_forward_does_not_take(self):
        self.assertIn("expected one of the first 1 arguments of forward(x)",
                      self.fails("Mlp", inputs=("image:FP32:-1,8",)))
        self.assertIn("forward() fails on x [2, 9]",
                      self.fails("Mlp", inputs=("x:FP32:-1,9",)))


if __name__ == "__main__":
    unittest.main()
