"""Files and configs that are none of a model: refused in words that clients can
read, and the next load is served."""

import json
import os
import tempfile
import unittest

import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from ferry_process import FerryProcess, MODELS

SECRET = "swordfish"


class OddFilesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess("--model-control-mode=explicit",
                                  models=("echo",))
        cls.client = triton.InferenceServerClient(cls.server.address)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def path(self, *parts):
        path = os.path.join(self.server.folder, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def write(self, content, *parts):
        with open(self.path(*parts), "wb") as file:
            file.write(content)

    def refusal(self, name, config=None):
        """Returns code and message; then all others must be as they were."""
        with self.assertRaises(InferenceServerException) as caught:
            self.client.load_model(name, config=config, client_timeout=20)
        index = {m.name: m for m in
                 self.client.get_model_repository_index().models}
        self.assertIn(name, index)
        self.client.load_model("echo", client_timeout=20)
        self.assertTrue(self.client.is_model_ready("echo"))
        return (caught.exception.status().replace("StatusCode.", ""),
                caught.exception.message())

    def test_bytes_that_are_no_utf8(self):
        self.write(b"\xef\xbb\xbf" + MODELS["echo"].encode(), "bom",
                   "config.pbtxt")
        self.assertEqual(self.refusal("bom")[0], "INVALID_ARGUMENT")
        self.write(MODELS["echo"].encode(), "manifest", "config.pbtxt")
        self.write(b"\xff\xfe\x00 binary", "manifest", "MANIFEST.sha256")
        code, text = self.refusal("manifest")
        self.assertEqual(code, "INVALID_ARGUMENT")
        self.assertIn("got '\\xff\\xfe\\x00 binary'", text)
        os.makedirs(os.path.join(self.server.folder.encode(), b"caf\xe9"),
                    exist_ok=True)
        self.assertIn("caf\\xe9", [
            m.name for m in self.client.get_model_repository_index().models])

    def test_pipes_are_not_waited_for(self):
        config = MODELS["echo"].replace(
            'name: "output"', 'name: "output" label_filename: "labels.txt"')
        for place in ("config.pbtxt", "1/model.pt", "labels.txt",
                      "MANIFEST.sha256"):
            with self.subTest(place=place):
                name = "pipe_" + place.replace("/", "_")
                self.write(config.encode(), name, "config.pbtxt")
                self.write(b"a\nb\n", name, "labels.txt")
                path = self.path(name, *place.split("/"))
                if os.path.exists(path):
                    os.remove(path)
                os.mkfifo(path)
                code, text = self.refusal(name)
                self.assertEqual(code, "INVALID_ARGUMENT")
                self.assertIn(f"{place}': expected a file, got a pipe", text)
        os.makedirs(self.path("folder", "config.pbtxt"))
        self.assertIn("expected a file, got a folder",
                      self.refusal("folder")[1])

    def test_a_config_outside_is_not_read(self):
        with tempfile.NamedTemporaryFile() as outside:
            outside.write(f"{SECRET}: 1\n".encode())
            outside.flush()
            os.symlink(outside.name, self.path("linked", "config.pbtxt"))
            code, text = self.refusal("linked")
        self.assertEqual(code, "INVALID_ARGUMENT")
        self.assertIn("leads out of it", text)
        self.assertNotIn(SECRET, text)

    def test_many_findings_stay_a_refusal(self):
        keys = "".join(f'parameters {{ key: "ferry.key_{i}" value {{ '
                       'string_value: "1" } }\n' for i in range(100))
        self.write((MODELS["echo"] + keys).encode(), "many", "config.pbtxt")
        code, text = self.refusal("many")
        self.assertEqual(code, "INVALID_ARGUMENT")
        self.assertIn("'ferry.key_0' is not supported", text)
        self.assertLess(len(text), 5000)

    def test_configs_of_requests_are_bounded(self):
        for size, expected in (
                (1 << 20, "expected at most 1048576 bytes"),
                (2 << 20, "expected a RepositoryModelLoadRequest of at most")):
            code, text = self.refusal(
                "echo", json.dumps({"parameters": {"k" * size: {}}}))
            self.assertEqual(code, "INVALID_ARGUMENT")
            self.assertIn(expected, text)
        code, text = self.refusal("echo", json.dumps(
            {"parameters": {"ferry.a\ninfo forged": {"string_value": ""}}}))
        self.assertIn("ferry.a\\x0ainfo forged", text)


if __name__ == "__main__":
    unittest.main()
