"""The exporter's command line: what it takes, and what it says of the rest."""

import os
import pathlib
import tempfile
import unittest

from ferry_export import command
from ferry_export.errors import ExportError
from ferry_export.tensors import TensorSpec

SOURCE = "networks.small:Small"


class CommandTest(unittest.TestCase):

    def parse(self, *words, source=SOURCE, inputs=("x:FP32:-1,8",)):
        flags = [word for text in inputs for word in ("--input", text)]
        return command.parse([source, "--repository", "models", "--no-check",
                              *flags, *words])

    def refusal(self, *words, **options):
        with self.assertRaises(ExportError) as caught:
            self.parse(*words, **options)
        return str(caught.exception)

    def test_defaults(self):
        parsed = self.parse()
        self.assertEqual((parsed.name, parsed.format, parsed.dtype),
                         ("small", "pt", "bf16"))
        self.assertEqual(parsed.inputs, [TensorSpec("x", "FP32", (8,))])
        self.assertEqual(str(parsed.folder()), "models/small")

    def test_the_batch_is_no_size_of_a_row(self):
        parsed = self.parse(inputs=("ids:INT64:-1,-1", "image:UINT8:-1,3,8,8",
                                    "level:FP32:-1"))
        self.assertEqual([spec.dims for spec in parsed.inputs],
                         [(-1,), (3, 8, 8), ()])

    def test_without_a_batch_all_sizes_are_the_tensors(self):
        parsed = self.parse("--max-batch-size", "0",
                            inputs=("image:FP32:3,-1,-1",))
        self.assertEqual(parsed.inputs[0].dims, (3, -1, -1))

    def test_int8_is_a_package(self):
        self.assertEqual(self.parse("--dtype", "int8").format, "pt2")
        self.assertIn("--format pt2",
                      self.refusal("--dtype", "int8", "--format", "pt"))

    def test_cuda_is_a_package(self):
        self.assertEqual(self.parse().device, "cpu")
        parsed = self.parse("--device", "cuda", "--dtype", "fp32")
        self.assertEqual((parsed.device, parsed.format), ("cuda", "pt2"))
        for words in (("--format", "pt"), ("--dtype", "int8")):
            self.assertIn("--device cuda: expected --format pt2",
                          self.refusal("--device", "cuda", *words))

    def test_packages_of_buckets(self):
        words = ("--package-per-bucket", "--format", "pt2")
        self.assertTrue(self.parse(*words, "--buckets", "8,32")
                        .package_per_bucket)
        for wrong in (words, (words[0], "--buckets", "8,32")):
            self.assertIn("expected --format pt2 and --buckets",
                          self.refusal(*wrong))

    def test_name_of_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "my_net.py"
            path.write_text("")
            self.assertEqual(self.parse(source=f"{path}:Net").name, "my_net")

    def test_missing_shapes(self):
        self.assertIn("each input of forward() as NAME:TYPE:DIMS",
                      self.refusal(inputs=()))
        self.assertIn("got 'x:FP32'", self.refusal(inputs=("x:FP32",)))

    def test_wrong_inputs(self):
        for text, words in (
                ("x:FLOAT:-1,8", "expected a type of BOOL, UINT8"),
                ("x:FP32:8,8", "expected -1, the batch, as the first"),
                ("x:FP32:-1,0", "expected sizes of 1 or more, or -1"),
                ("x:FP32:-1,eight", "expected sizes with commas"),
                ("x:FP32:-1,1,1,1,1,1,1,1,1,1", "at most 8 sizes"),
                (":FP32:-1,8", "expected NAME:TYPE:DIMS")):
            with self.subTest(text=text):
                self.assertIn(words, self.refusal(inputs=(text,)))

    def test_names_that_stand_twice(self):
        self.assertIn("'x' stands twice",
                      self.refusal(inputs=("x:FP32:-1,8", "x:FP32:-1,8")))
        self.assertIn("'y' stands twice",
                      self.refusal("--output", "y", "--output", "y:FP16"))

    def test_wrong_outputs(self):
        self.assertIn("expected a type", self.refusal("--output", "y:REAL"))
        self.assertIn("NAME or NAME:TYPE", self.refusal("--output", ":FP32"))

    def test_a_checkpoint_alone(self):
        with tempfile.NamedTemporaryFile(suffix=".pt") as file:
            self.assertIn("has weights but no code",
                          self.refusal(source=file.name))

    def test_wrong_sources_and_files(self):
        self.assertIn("expected package.module:Name",
                      self.refusal(source="networks.small"))
        self.assertIn("no file 'gone.py'", self.refusal(source="gone.py:Net"))
        self.assertIn("no file 'gone.pt'",
                      self.refusal("--weights", "gone.pt"))

    def test_wrong_numbers(self):
        for words, said in (
                (("--max-batch-size", "-1"), "expected 0 to 65536"),
                (("--version", "0"), "--version: expected 1 or more"),
                (("--rows", "0"), "--rows: expected 1 or more"),
                (("--max-error", "0"), "--max-error: expected a share above 0"),
                (("--max-error", "5"), "--max-error: expected a share above 0"),
                (("--buckets", "8,4,32"), "ascending row counts"),
                (("--buckets", "8,16"), "end with --max-batch-size, 32"),
                (("--buckets", "8,many"), "ascending row counts"),
                (("--arguments", "{width: 1}"), "expected JSON"),
                (("--arguments", "[1]"), "expected an object"),
                (("--name", ".hidden"), "--name: expected 1 to 64"),
                (("--script", "--format", "pt2"), "for --format pt")):
            with self.subTest(words=words):
                self.assertIn(said, self.refusal(*words))

    def test_a_server_to_check_with_is_needed(self):
        with self.assertRaises(ExportError) as caught:
            command.parse([SOURCE, "--repository", "models", "--input",
                           "x:FP32:-1,8", "--server", os.devnull + "/none"])
        self.assertIn("--no-check goes without", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
