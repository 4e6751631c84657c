"""Files that torch has compiled, and custom operators, through the server."""

import os
import pathlib
import platform
import shutil
import tempfile
import unittest

import numpy as np
import tritonclient.grpc as triton

from ferry_process import FerryProcess, run, tensor, wait_until

PACKAGES = pathlib.Path(__file__).resolve().parents[1] / "data" / "aoti"
PACKAGE = PACKAGES / "small.pt2"
CHECKED_INPUTS = ("i", "ok", "n", "d")
CONFIG = ('platform: "torch_aoti"\nmax_batch_size: 8\ndynamic_batching {}\n' +
          tensor("input", "ARGS[0]", "FP32", [3]) +
          tensor("input", "k", "INT64", [1]) +
          tensor("output", "y", "FP32", [4]) +
          tensor("output", "RESULT[z][0]", "FP32", [1]) +
          tensor("output", "RESULT[z][1]", "INT64", [1]))


@unittest.skipUnless(platform.machine() == "x86_64", "the package is for x86-64")
class PackageTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ferry-e2e-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = os.path.join(self.folder, "small")
        os.makedirs(os.path.join(self.model, "1"))
        shutil.copy(PACKAGE, os.path.join(self.model, "1", "model.pt2"))
        with open(os.path.join(self.model, "config.pbtxt"), "w") as config:
            config.write(CONFIG)

    def infer(self, client, rows):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) / 10
        k = np.arange(rows, dtype=np.int64).reshape(rows, 1)
        inputs = [triton.InferInput("ARGS[0]", x.shape, "FP32"),
                  triton.InferInput("k", k.shape, "INT64")]
        inputs[0].set_data_from_numpy(x)
        inputs[1].set_data_from_numpy(k)
        reply = client.infer("small", inputs)
        weight = np.arange(12, dtype=np.float32).reshape(4, 3) / 8 - 0.5
        bias = np.arange(4, dtype=np.float32) / 4
        np.testing.assert_allclose(reply.as_numpy("y"),
                                   np.maximum(x @ weight.T + bias, 0),
                                   rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(reply.as_numpy("RESULT[z][1]"), k + 1)

    def mapped(self, server):
        with open(f"/proc/{server.process.pid}/maps") as maps:
            return len({line.split()[4] for line in maps
                        if "/model.so" in line})

    def test_package_is_served_without_a_folder(self):
        file = os.path.join(self.folder, "small.pt2")
        shutil.copy(PACKAGE, file)
        flags = ["--max-batch-size=8", "--model", file,
                 "--input=ARGS[0]:FP32:-1,3",
                 "--input=k:INT64:-1,1", "--output=y:FP32:-1,4",
                 "--output=RESULT[z][0]:FP32:-1,1"]
        with FerryProcess(*flags, "--output=RESULT[z][1]:INT64:-1,1",
                          models=None) as server:
            with triton.InferenceServerClient(server.address) as client:
                self.infer(client, 3)
        ended = run(*flags[:5])
        self.assertEqual(ended.returncode, 1)
        self.assertIn("field 'output': expected 1 to", ended.stderr)

    def infer_checked(self, client, **values):
        """Sends one row to checked.pt2: i, ok, n and d, ones but for these."""
        inputs = [triton.InferInput(name, [1, 1], "INT64")
                  for name in CHECKED_INPUTS]
        for tensor_ in inputs:
            tensor_.set_data_from_numpy(np.array(
                [[values.get(tensor_.name(), 1)]], np.int64))
        return client.infer("checked", inputs).as_numpy("y")[0, 0]

    def test_no_request_ends_the_process_through_a_package(self):
        model = pathlib.Path(self.folder, "checked")
        (model / "1").mkdir(parents=True)
        (model / "warmup").mkdir()
        shutil.copy(PACKAGES / "checked.pt2", model / "1" / "model.pt2")
        (model / "warmup" / "one").write_bytes(
            np.ones(1, np.int64).tobytes())
        (model / "config.pbtxt").write_text(
            'platform: "torch_aoti"\nmax_batch_size: 8\n' +
            "".join(tensor("input", name, "INT64", [1])
                    for name in CHECKED_INPUTS) +
            tensor("output", "y", "FP32", [1]) +
            'model_warmup [ { name: "ones" batch_size: 1 ' + "".join(
                f'inputs {{ key: "{name}" value {{ data_type: TYPE_INT64 '
                'dims: [ 1 ] input_data_file: "one" } } '
                for name in CHECKED_INPUTS) + "} ]\n")
        with FerryProcess(f"--model-repository={self.folder}",
                          models=None) as server:
            client = triton.InferenceServerClient(server.address)
            for failing in ({"i": 200}, {"i": -11}, {"ok": 0}, {"n": 0},
                            {"n": 13}, {"n": 1 << 50}, {"d": 0},
                            {"n": 4, "d": 0}):
                with self.subTest(**failing):
                    with self.assertRaisesRegex(
                            triton.InferenceServerException, "INTERNAL"):
                        self.infer_checked(client, **failing)
                    self.assertEqual(self.infer_checked(client, i=3, n=4, d=2),
                                     3 + 4 + 2)
            self.infer(client, 2)

    def test_package_is_served_changed_and_unloaded(self):
        with FerryProcess(f"--model-repository={self.folder}",
                          "--model-control-mode=explicit",
                          "--load-model=small", models=None) as server:
            client = triton.InferenceServerClient(server.address)
            for rows in (1, 8):
                self.infer(client, rows)
            metadata = client.get_model_metadata("small", as_json=True)
            self.assertEqual(metadata["platform"], "torch_aoti")
            for _ in range(3):
                os.utime(os.path.join(self.model, "1", "model.pt2"))
                client.load_model("small")
                self.infer(client, 2)
            # What serves no more is unmapped, and what is new is loaded.
            self.assertTrue(wait_until(lambda: self.mapped(server) == 1))
            with open(os.path.join(self.model, "1", "model.pt2"), "w") as file:
                file.write("broken")
            with self.assertRaisesRegex(triton.InferenceServerException,
                                        "small.*model.pt2.*zip"):
                client.load_model("small")
            self.infer(client, 2)
            client.unload_model("small")
            self.assertTrue(wait_until(lambda: self.mapped(server) == 0))


class OpLibraryTest(unittest.TestCase):

    def test_library_is_opened_and_counted(self):
        with FerryProcess(
                f"--op-library={os.environ['FERRY_OP_LIBRARY']}") as server:
            self.assertIn("operators=1", "".join(server.log))

    def test_library_that_cannot_be_opened_ends_the_start(self):
        for path, reason in [
                ("/no/such/library.so", "cannot read op library"),
                (str(PACKAGE), "cannot open op library"),
                (os.environ["FERRY_FOREIGN_OP_LIBRARY"],
                 "ferry_test_no_such_function")]:
            ended = run("--grpc-port=0", "--metrics-port=0",
                        f"--op-library={path}")
            self.assertEqual(ended.returncode, 1, ended.stderr)
            last = ended.stderr.strip().splitlines()[-1]
            self.assertIn(reason, last)
            self.assertIn(path, last)


if __name__ == "__main__":
    unittest.main()
