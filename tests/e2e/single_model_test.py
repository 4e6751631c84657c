"""The first hour without a repository: one file, and configs that are
completed."""

import os
import shutil
import subprocess
import tempfile
import unittest

import numpy as np
import tritonclient.grpc as triton

from ferry_process import FerryProcess, run

WRITE_SCRIPTS = os.environ["FERRY_WRITE_SCRIPTS"]
WEIGHTS = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


class SingleModelTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="ferry-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run([WRITE_SCRIPTS, cls.folder], check=True, timeout=60)

    def path(self, *names):
        path = os.path.join(self.folder, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def check(self, *flags):
        """Returns (exit code, what --check-config printed)."""
        ended = run("--check-config", *flags)
        return ended.returncode, ended.stdout

    def assertServes(self, server, name, rows=5):
        values = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3) % 4
        tensor = triton.InferInput("x", [rows, 3], "FP32")
        tensor.set_data_from_numpy(values)
        with triton.InferenceServerClient(server.address) as client:
            result = client.infer(name, [tensor])
            output = client.get_model_metadata(name).outputs[0]
        self.assertEqual((output.datatype, list(output.shape)),
                         ("FP32", [-1, 2]))
        np.testing.assert_array_equal(result.as_numpy(output.name),
                                      values @ WEIGHTS.T)

    def test_one_file_is_served(self):
        file = self.path("my model.pt")
        shutil.copy(self.path("scripted.pt"), file)
        with FerryProcess("--model", file, "--input=x:FP32:-1,3",
                          models=None) as server:
            self.assertServes(server, "my_model")
            log = "".join(server.log)
            self.assertIn("config was completed", log)
            self.assertIn('name: "OUTPUT__0"', log)
            self.assertIn("max_batch_size=64", log)

    def test_outputs_may_be_named(self):
        with FerryProcess("--model", self.path("scripted.pt"),
                          "--input=x:FP32:-1,3", "--output=y:FP32:-1,2",
                          "--model-name=net", models=None) as server:
            self.assertServes(server, "net")
            self.assertNotIn("was completed", "".join(server.log))

    def test_what_check_config_prints_can_be_kept(self):
        file = self.path("linear.pt")  # traced: it says its inputs itself
        code, text = self.check("--model", file)
        self.assertEqual(code, 0, text)
        self.assertIn("# linear version 1: can be served", text)
        folder = self.path("kept")
        shutil.copy(file, self.path("kept", "linear", "1", "linear.pt"))
        with open(os.path.join(folder, "linear", "config.pbtxt"),
                  "w") as config:
            config.write(text)
        with FerryProcess("--model-repository", folder,
                          "--disable-auto-complete-config",
                          models=None) as server:
            self.assertServes(server, "linear")
            self.assertNotIn("was completed", "".join(server.log))

    def test_folder_without_config(self):
        folder = self.path("bare")
        shutil.copy(self.path("linear.pt"),
                    self.path("bare", "net", "1", "model.pt"))
        code, text = self.check("--model-repository", folder,
                                "--disable-auto-complete-config")
        self.assertEqual(code, 1)
        self.assertIn("net/config.pbtxt", text)
        with FerryProcess("--model-repository", folder,
                          models=None) as server:
            self.assertServes(server, "net", rows=64)

    def test_images_of_bytes_are_normalized(self):
        folder = self.path("images")
        shutil.copy(self.path("pixels.pt"),
                    self.path("images", "net", "1", "model.pt"))
        with open(self.path("images", "net", "config.pbtxt"), "w") as config:
            config.write("""max_batch_size: 4
                input { name: "x" data_type: TYPE_UINT8 dims: [ 2, 5, 3 ] }
                parameters { key: "ferry.precision"
                             value { string_value: "fp32" } }
                parameters { key: "ferry.normalize.x" value { string_value:
                  "mean=0.485,0.456,0.406 std=0.229,0.224,0.225 channels=last"
                } }""")
        images = np.random.default_rng(1).integers(
            0, 256, (3, 2, 5, 3), dtype=np.uint8)
        tensor = triton.InferInput("x", images.shape, "UINT8")
        tensor.set_data_from_numpy(images)
        with FerryProcess("--model-repository", folder,
                          models=None) as server, \
                triton.InferenceServerClient(server.address) as client:
            found = client.infer("net", [tensor]).as_numpy("OUTPUT__0")
        expected = ((images / 255 - [0.485, 0.456, 0.406]) /
                    [0.229, 0.224, 0.225]).transpose(0, 3, 1, 2)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

    def test_what_the_file_does_not_say_is_asked_for(self):
        code, text = self.check("--model", self.path("scripted.pt"))
        self.assertEqual(code, 1)
        self.assertIn("found forward(Tensor x) -> Tensor", text)
        self.assertIn('input { name: "x"', text)

    def test_wrong_descriptions_are_refused(self):
        file = self.path("scripted.pt")
        for flags, message in (
                (["--input=x:FP32:-1,4"], "a probe forward with zeros failed"),
                (["--input=x:FP32:-1,3", "--output=y:FP32:-1,7"],
                 "output 'y': expected shape [1,7], the model gives [1,2]"),
                (["--input=x:FP32:-1,3", "--input=z:FP32:-1,3"],
                 "forward(x) takes 1")):
            code, text = self.check("--model", file, *flags)
            self.assertEqual(code, 1)
            self.assertIn(message, text)
        code, text = self.check("--model", self.path("linear.pt"),
                                "--input=x:FP32:-1,4")
        self.assertEqual(code, 1)
        self.assertIn("check the types and dims of the inputs first, the file "
                      "was traced with Float [", text)

    def test_other_files_are_refused_with_a_remedy(self):
        for name, message in (("m.onnx", "ONNX is not served: export"),
                              ("m.safetensors", "weights alone are not"),
                              ("m.py", "the Python backend is not served")):
            file = self.path("others", name)
            with open(file, "w"):
                pass
            ended = run("--metrics-port=0", "--grpc-port=0", "--model", file)
            self.assertEqual(ended.returncode, 1)
            self.assertIn(message, ended.stderr.strip().splitlines()[-1])
        code, text = self.check("--model", self.path("others"))
        self.assertEqual(code, 1)
        self.assertIn("use --model-repository", text)


if __name__ == "__main__":
    unittest.main()
