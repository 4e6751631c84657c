"""The written config, which Ferry reads, and the folder around it."""

import contextlib
import io
import os
import pathlib
import resource
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np

from ferry_export import __main__ as program
from ferry_export import command, model_folder
from ferry_export.errors import ExportError
from ferry_export.tensors import TensorSpec

SERVER = os.environ.get("FERRY_SERVER")


class ModelFolderTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.repository = pathlib.Path(folder.name)

    def command(self, *words):
        return command.parse([
            "networks.small:Small", "--repository", str(self.repository),
            "--no-check", "--input", "ids:INT64:-1,-1", "--input",
            "mask:INT64:-1,-1", *words])

    def config(self, made, outputs=(TensorSpec("y", "FP32", (4,)),)):
        return model_folder.config_text(made, made.inputs, outputs)

    def export(self, *words, content="model"):
        """Writes a folder as an export does, with a file of that content."""
        made = self.command(*words)
        model_folder.check_place(made)
        config = self.config(made)
        model_folder.check_same_config(made, config)
        with model_folder.staged_repository(made, config) as stage:
            file = stage / made.name / str(made.version) / "model.pt"
            file.write_text(content)
            model_folder.put_in_place(made, stage)

    def test_full_disk_is_one_line_and_leaves_nothing(self):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
        told = io.StringIO()
        try:
            with mock.patch.object(
                    program, "run", lambda words: self.export()), \
                    contextlib.redirect_stderr(told):
                self.assertEqual(program.main(), 1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertRegex(told.getvalue(), "^export: error: nothing was "
                         "written: .*File too large.*\n$")
        self.assertEqual(list(self.repository.iterdir()), [])

    def refusal(self, *words):
        with self.assertRaises(ExportError) as caught:
            self.export(*words)
        return str(caught.exception)

    def test_first_row_of_the_samples_is_what_loads_compare(self):
        made = self.command("--samples", "rows.npz")
        rows = {name: np.arange(6).reshape(2, 3) for name in ("ids", "mask")}
        self.assertEqual(model_folder.sample_of(
            self.command(), made.inputs, rows), {})
        sample = model_folder.sample_of(made, made.inputs, rows)
        text = model_folder.config_text(made, made.inputs, [], sample)
        self.assertTrue(text.endswith("""\
model_warmup {
  name: "row" batch_size: 1
  inputs { key: "ids" value { data_type: TYPE_INT64 dims: [ 3 ] \
input_data_file: "row.0" } }
  inputs { key: "mask" value { data_type: TYPE_INT64 dims: [ 3 ] \
input_data_file: "row.1" } }
}
"""), text)
        model_folder.write_sample(self.repository, made.inputs, sample)
        self.assertEqual(
            list(np.fromfile(self.repository / "warmup" / "row.1", np.int64)),
            [0, 1, 2])

    def test_torch_script_config(self):
        text = self.config(
            self.command("--dtype", "fp32", "--buckets", "1,8,32", "--threads",
                         "2"),
            [TensorSpec("scores", "FP32", (-1, 10)),
             TensorSpec("best", "INT64", ())])
        self.assertEqual(text, """\
# Written by scripts/export.sh from networks.small:Small.
name: "small"
backend: "pytorch"
platform: "pytorch_libtorch"
max_batch_size: 32
input [
  { name: "ids" data_type: TYPE_INT64 dims: [ -1 ] },
  { name: "mask" data_type: TYPE_INT64 dims: [ -1 ] }
]
output [
  { name: "scores" data_type: TYPE_FP32 dims: [ -1, 10 ] },
  { name: "best" data_type: TYPE_INT64 dims: [  ] }
]
dynamic_batching {}
parameters { key: "ferry.precision" value { string_value: "fp32" } }
parameters { key: "ferry.buckets" value { string_value: "1,8,32" } }
parameters { key: "ferry.threads" value { string_value: "2" } }
""")

    def test_package_config_has_no_precision(self):
        text = self.config(self.command("--format", "pt2"))
        self.assertIn('platform: "torch_aoti"\n', text)
        self.assertNotIn("ferry.precision", text)

    def test_without_a_batch_nothing_is_batched(self):
        text = self.config(self.command("--max-batch-size", "0"))
        self.assertIn("max_batch_size: 0\n", text)
        self.assertNotIn("dynamic_batching", text)

    @unittest.skipUnless(SERVER, "FERRY_SERVER names no server")
    def test_ferry_reads_the_config(self):
        self.export("--buckets", "1,32", "--threads", "1")
        checked = subprocess.run(
            [SERVER, "--check-config", "--model-repository",
             str(self.repository)], capture_output=True, text=True, timeout=60,
            check=False)
        # The file is no model, which is found only after the config was read.
        told = checked.stdout + checked.stderr
        self.assertNotIn("config.pbtxt", told)
        self.assertIn("model.pt", told)

    def test_a_folder_appears_whole(self):
        self.export()
        self.assertEqual(
            sorted(str(path.relative_to(self.repository))
                   for path in self.repository.rglob("*")),
            ["small", "small/1", "small/1/model.pt", "small/config.pbtxt"])

    def test_a_version_that_exists(self):
        self.export()
        self.assertIn("exists: give another --version", self.refusal())
        file = self.repository / "small/1/model.pt"
        self.assertEqual(file.read_text(), "model")

    def test_a_new_version(self):
        self.export()
        self.export("--version", "2", content="better")
        self.assertEqual(
            (self.repository / "small/2/model.pt").read_text(), "better")

    def test_a_new_version_with_another_config(self):
        self.export()
        said = self.refusal("--version", "2", "--max-batch-size", "8")
        self.assertIn("- max_batch_size: 32", said)
        self.assertIn("+ max_batch_size: 8", said)
        self.assertFalse((self.repository / "small/2").exists())

    def test_a_folder_that_is_no_model(self):
        (self.repository / "small").mkdir()
        self.assertIn("holds no config.pbtxt", self.refusal())

    def test_nothing_stays_of_an_export_that_fails(self):
        made = self.command()
        with self.assertRaises(ZeroDivisionError):
            with model_folder.staged_repository(made, "name: \"small\""):
                raise ZeroDivisionError
        self.assertEqual(list(self.repository.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
