"""Files that crash, hang or take memory fail their load, and nothing else."""

import os
import shutil
import zipfile

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from ferry_process import run, tensor, wait_until
from scripts_case import ScriptsCase


CONFIG = ('backend: "pytorch"\nmax_batch_size: 4\n' +
          tensor("input", "x", "FP32", [3]) + tensor("output", "y", "FP32", [3]))


def nest(source, target):
    """Copies a script with an expression in 50,000 parentheses."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for item in old.infolist():
            data = old.read(item)
            if item.filename.endswith("code/__torch__.py"):
                depth = 50_000
                data = data.replace(b"torch.clone(x)",
                                    b"(" * depth + b"torch.clone(x)" + b")" * depth)
                assert len(data) > depth
            if not item.filename.endswith("debug_pkl"):
                new.writestr(item.filename, data)


class ProbeLoadTest(ScriptsCase):

    def setUp(self):
        super().setUp()
        nest(self.scripts / "pixels.pt", self.scripts / "nested.pt")
        for name in ("good", "nested", "endless", "hungry", "throws"):
            self.write(name, "pixels" if name == "good" else name)

    def write(self, name, script):
        folder = self.repository / name / "1"
        folder.mkdir(parents=True)
        shutil.copy(self.scripts / f"{script}.pt", folder / "model.pt")
        (self.repository / name / "config.pbtxt").write_text(CONFIG)

    def load_error(self, name):
        with self.assertRaises(InferenceServerException) as raised:
            self.client.load_model(name)
        return f"{raised.exception.status()} {raised.exception.message()}"

    def assert_serves(self):
        x = triton.InferInput("x", [1, 3], "FP32")
        x.set_data_from_numpy(np.ones((1, 3), np.float32))
        result = self.client.infer("good", [x])
        np.testing.assert_array_equal(result.as_numpy("y"), np.ones((1, 3)))

    def children(self):
        path = f"/proc/{self.server.process.pid}/task"
        found = []
        for task in os.listdir(path):
            with open(f"{path}/{task}/children") as children:
                found += children.read().split()
        return found

    def test_crash_fails_its_load_alone(self):
        self.start("--model-control-mode=explicit", "--load-model=good")
        error = self.load_error("nested")
        self.assertIn("model 'nested' version 1", error)
        self.assertIn("crashed with SIGSEGV", error)
        self.assert_serves()
        index = {m.name: m for m in
                 self.client.get_model_repository_index().models}
        self.assertEqual(index["nested"].state, "UNAVAILABLE")
        self.assertIn("SIGSEGV", index["nested"].reason)

    def test_forward_that_never_ends_fails_its_load_alone(self):
        self.start("--model-control-mode=explicit", "--load-model=good",
                   "--probe-load-secs=5")
        error = self.load_error("endless")
        self.assertIn("DEADLINE_EXCEEDED", error)
        self.assertIn("within 5 s", error)
        self.assert_serves()

    def test_load_past_the_bound_of_memory_fails_alone(self):
        self.start("--model-control-mode=explicit", "--load-model=good",
                   f"--probe-load-bytes={700 << 20}")
        error = self.load_error("hungry")
        self.assertIn("RESOURCE_EXHAUSTED", error)
        self.assertIn("--probe-load-bytes", error)
        self.assert_serves()

    def test_error_of_a_load_is_that_without_a_probe(self):
        self.start("--model-control-mode=explicit", "--load-model=good")
        tried = self.load_error("throws")
        self.start("--model-control-mode=explicit", "--load-model=good",
                   "--probe-loads=off")
        self.assertEqual(tried, self.load_error("throws"))

    def test_stop_ends_a_probe_load(self):
        self.start("--model-control-mode=explicit", "--load-model=good")
        with triton.InferenceServerClient(self.server.address) as client:
            failed = []
            loads = client._client_stub.RepositoryModelLoad.future(
                triton.service_pb2.RepositoryModelLoadRequest(
                    model_name="endless"))
            loads.add_done_callback(lambda call: failed.append(call.code().name))
            self.assertTrue(wait_until(self.children))
            probe = self.children()
            self.server.signal()
            self.assertEqual(self.server.wait(), 0)
            self.assertTrue(wait_until(lambda: failed))
        self.assertEqual(failed, ["UNAVAILABLE"])
        for pid in probe:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_killed_server_takes_its_probe_load_along(self):
        self.start("--model-control-mode=explicit", "--load-model=good")
        with triton.InferenceServerClient(self.server.address) as client:
            load = client._client_stub.RepositoryModelLoad.future(
                triton.service_pb2.RepositoryModelLoadRequest(
                    model_name="endless"))
            self.assertTrue(wait_until(self.children))
            probe = self.children()
            self.server.process.kill()
            self.server.wait()
            self.assertFalse(load.cancelled())
        self.assertTrue(wait_until(lambda: not any(
            os.path.exists(f"/proc/{pid}") for pid in probe)))

    def test_poll_goes_on_after_a_crash(self):
        shutil.rmtree(self.repository)
        self.write("good", "pixels")
        self.start("--model-control-mode=poll", "--repository-poll-secs=0.1")
        self.write("nested", "nested")
        self.assertTrue(wait_until(
            lambda: any("crashed with SIGSEGV" in line
                        for line in self.server.log), 30))
        self.assert_serves()
        self.write("second", "pixels")
        self.assertTrue(wait_until(
            lambda: self.client.is_model_ready("second"), 30))

    def test_mode_none_tries_where_it_is_told(self):
        for name in ("endless", "hungry", "throws"):
            shutil.rmtree(self.repository / name)
        ended = run("--model-repository", str(self.repository), "--grpc-port=0",
                    "--metrics-port=0", "--probe-loads=on", "--load-model=nested")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("crashed with SIGSEGV", ended.stderr)
