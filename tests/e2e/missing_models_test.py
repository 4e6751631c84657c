"""Models that cannot be loaded, beside others that can; folders that are none."""

import json
import os
import re
import resource
import shutil
import tempfile
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import ferry_process
from ferry_process import FerryProcess, MODELS, run, wait_until
from health_test import NOT_SERVING, SERVING, request_of, status_of

# Its weights are 256 MiB while it is loaded.
LARGE = """backend: "ferry_network"
max_batch_size: 1
input { name: "input" data_type: TYPE_FP32 dims: 8192 }
output { name: "output" data_type: TYPE_FP32 dims: 8192 }
parameters { key: "ferry.network" value { string_value: "mlp" } }
parameters { key: "ferry.widths" value { string_value: "8192,8192" } }
"""
BAD = "backend: \"ferry_echo\"\nno_such_field: 1\n"


def infer(client, name="echo"):
    tensor = triton.InferInput("input", [1, 16], "FP32")
    tensor.set_data_from_numpy(np.ones((1, 16), np.float32))
    return client.infer(name, [tensor]).as_numpy("output")


class MissingModelsTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ferry-e2e-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("echo", MODELS["echo"])

    def write(self, name, config):
        os.makedirs(os.path.join(self.folder, name, "1"), exist_ok=True)
        path = os.path.join(self.folder, name, "config.pbtxt")
        with open(path + ".new", "w") as file:
            file.write(config)
        os.rename(path + ".new", path)

    def start(self, *flags):
        self.server = FerryProcess(f"--model-repository={self.folder}", *flags,
                                   models=None)
        self.addCleanup(self.server.stop)
        self.client = triton.InferenceServerClient(self.server.address)
        self.addCleanup(self.client.close)

    def index(self):
        return {m.name: (m.state, m.reason)
                for m in self.client.get_model_repository_index().models}

    def is_ready(self):
        """As gRPC, HTTP and the metrics say it, which agree where it did not
        change while they were asked."""
        while True:
            ready = self.client.is_server_ready()
            code, text = self.server.get("/v2/health/ready")
            told = self.server.metric("ferry_ready")
            if self.client.is_server_ready() == ready:
                break
        self.assertEqual(code, 200 if ready else 503)
        self.assertRegex(text, "^ok$" if ready else "^no")
        self.assertEqual(told, float(ready))
        return ready

    def health(self, service):
        with grpc.insecure_channel(self.server.address) as channel:
            ask = channel.unary_unary("/grpc.health.v1.Health/Check")
            return status_of(ask(request_of(service), timeout=30))

    def test_start_that_ends_names_all_that_failed(self):
        self.write("bad", BAD)
        self.write("worse", "no config")
        ended = run("--grpc-port=0", "--metrics-port=0",
                    f"--model-repository={self.folder}")
        self.assertEqual(ended.returncode, 1)
        for text in ("cannot start: ", "bad/config.pbtxt:2:", "no_such_field",
                     "worse/config.pbtxt:1:"):
            self.assertIn(text, ended.stderr)
        self.assertIn("cannot start: 2 of 3 models cannot be loaded: bad, "
                      "worse; --exit-on-error=false serves the others",
                      ended.stderr)

    def test_start_that_ends_names_some_of_many_and_what_is_there(self):
        flags = ["--grpc-port=0", "--metrics-port=0",
                 f"--model-repository={self.folder}"]
        for number in range(10):
            self.write(f"bad{number}", BAD)
        self.assertIn("10 of 11 models cannot be loaded: bad0, bad1, bad2, "
                      "bad3, bad4, bad5, bad6, bad7, ...; --exit-on-error",
                      run(*flags).stderr)
        ended = run(*flags, "--load-model=bad0", "--load-model=ech")
        self.assertRegex(ended.stderr, "'ech': expected a folder .*; there "
                         "are: bad0, .*, bad7, \\.\\.\\.")
        inside = run("--grpc-port=0", "--metrics-port=0",
                     f"--model-repository={self.folder}/echo")
        self.assertIn("is one model's folder, as it holds 'config.pbtxt'",
                      inside.stderr)

    def test_others_serve_and_the_bad_one_says_why(self):
        for mode in ("none", "poll", "explicit"):
            with self.subTest(mode=mode):
                self.write("bad", BAD)
                self.start("--exit-on-error=false", "--load-model=*",
                           f"--model-control-mode={mode}",
                           "--repository-poll-secs=3600")
                self.assertEqual(infer(self.client).shape, (1, 16))
                self.assertEqual(self.index()["echo"], ("READY", ""))
                state, reason = self.index()["bad"]
                self.assertEqual(state, "UNAVAILABLE")
                self.assertIn("no_such_field", reason)
                log = "".join(self.server.log)
                self.assertRegex(log, "cannot load: .*bad/config.pbtxt")
                self.assertIn("no_such_field", log)
                self.assertFalse(self.is_ready(), "strict, as Triton's is")
                self.assertEqual(self.server.get("/v2/health/ready")[1],
                                 "no: missing=bad\n")
                self.assertTrue(self.client.is_server_live())
                self.assertTrue(self.client.is_model_ready("echo"))
                self.assertFalse(self.client.is_model_ready("bad"))
                self.assertEqual(self.health(""), NOT_SERVING)
                self.assertEqual(self.health("echo"), SERVING)

    def test_model_that_never_loaded_has_no_versions(self):
        for name in ("bad", "worse"):  # before and after one that serves
            self.write(name, BAD)
        self.start("--exit-on-error=false")
        for name in ("bad", "worse"):
            with self.assertRaises(InferenceServerException) as caught:
                infer(self.client, name)
            self.assertIn(f"'{name}' has no available versions",
                          caught.exception.message())
            self.assertEqual(self.health(name), NOT_SERVING)
        with self.assertRaises(InferenceServerException) as caught:
            infer(self.client, "absent")
        self.assertIn("'absent' is not found", caught.exception.message())

    def test_readiness_that_is_not_strict(self):
        self.write("bad", BAD)
        self.start("--exit-on-error=false", "--strict-readiness=false")
        self.assertTrue(self.is_ready())
        self.assertFalse(self.client.is_model_ready("bad"))
        self.assertRegex("".join(self.server.log), " ready grpc=.* missing=bad")

    def test_ready_once_what_is_missing_is_loaded(self):
        self.write("bad", BAD)
        self.start("--exit-on-error=false", "--model-control-mode=poll",
                   "--repository-poll-secs=0.1")
        self.assertFalse(self.is_ready())
        self.write("bad", MODELS["echo"])
        self.assertTrue(wait_until(self.client.is_server_ready))
        self.assertTrue(self.client.is_model_ready("bad"))

    def test_ready_once_what_is_missing_is_not_wanted(self):
        self.write("bad", BAD)
        self.start("--exit-on-error=false", "--model-control-mode=explicit",
                   "--load-model=*")
        self.assertFalse(self.is_ready())
        self.client.unload_model("bad")
        self.assertTrue(wait_until(self.client.is_server_ready))

    def test_folders_that_are_no_models_end_no_start(self):
        for name in ("lost+found", "a b", "\u00e4", ".hidden"):
            os.makedirs(os.path.join(self.folder, name))
        os.symlink("nowhere", os.path.join(self.folder, "dangling"))
        os.symlink("loop", os.path.join(self.folder, "loop"))
        with open(os.path.join(self.folder, "README.md"), "w") as file:
            file.write("no model")
        for mode in ("none", "poll", "explicit"):
            with self.subTest(mode=mode):
                self.start(f"--model-control-mode={mode}", "--load-model=*")
                self.assertTrue(self.is_ready())
                self.assertEqual(infer(self.client).shape, (1, 16))
                log = "".join(self.server.log)
                self.assertIn("model repository: 'lost+found' is passed over: "
                              "model name: expected", log)
                self.assertIn("'dangling' is passed over: cannot look at it",
                              log)
                self.assertNotIn("README", log)
                self.assertIn("got 'lost+found'",
                              self.index()["lost+found"][1])
                self.assertIn("cannot look at it", self.index()["loop"][1])

    def test_folder_that_cannot_be_read_ends_no_start(self):
        # Root may read all; a loop of links is not to be read by anyone.
        os.makedirs(os.path.join(self.folder, "closed"))
        os.symlink("1", os.path.join(self.folder, "closed", "1"))
        with open(os.path.join(self.folder, "closed", "config.pbtxt"),
                  "w") as file:
            file.write(MODELS["echo"])
        self.start()
        self.assertTrue(self.is_ready())
        self.assertIn("cannot read", self.index()["closed"][1])
        named = run("--grpc-port=0", "--metrics-port=0", "--load-model=closed",
                    f"--model-repository={self.folder}")
        self.assertEqual(named.returncode, 1)

    def test_start_that_can_read_no_model_is_none(self):
        shutil.rmtree(os.path.join(self.folder, "echo"))
        self.write("closed", MODELS["echo"])
        os.rmdir(os.path.join(self.folder, "closed", "1"))
        os.symlink("1", os.path.join(self.folder, "closed", "1"))
        flags = ["--grpc-port=0", "--metrics-port=0",
                 f"--model-repository={self.folder}"]
        ended = run(*flags)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("cannot read", ended.stderr)
        self.start("--exit-on-error=false", "--model-control-mode=explicit",
                   "--load-model=*")
        self.assertFalse(self.is_ready())

    def test_poll_does_not_forget_a_named_model_that_is_not_there(self):
        self.start("--model-control-mode=poll", "--repository-poll-secs=0.1",
                   "--exit-on-error=false", "--load-model=absent",
                   "--load-model=late", "--load-model=later")
        for name in ("late", "later"):  # polls pass meanwhile
            self.write(name, MODELS["echo"])
            self.assertTrue(wait_until(
                lambda: self.index().get(name, [""])[0] == "READY"))
        self.assertFalse(self.is_ready())
        self.write("absent", MODELS["echo"])
        self.assertTrue(wait_until(self.is_ready))

    def test_load_without_memory_is_tried_again_though_no_file_changed(self):
        self.write("small", LARGE.replace("8192", "8"))  # opens LibTorch
        self.start("--model-control-mode=poll", "--repository-poll-secs=0.1")
        pid = self.server.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_AS)
        with open(f"/proc/{pid}/statm") as statm:
            pages = int(statm.read().split()[0])
        room = pages * resource.getpagesize() + (128 << 20)
        resource.prlimit(pid, resource.RLIMIT_AS, (room, limits[1]))
        self.write("large", LARGE)
        self.assertTrue(wait_until(
            lambda: self.index().get("large", [""])[0] == "UNAVAILABLE"))
        self.assertIn("memory", self.index()["large"][1])
        resource.prlimit(pid, resource.RLIMIT_AS, limits)
        self.assertTrue(wait_until(
            lambda: self.index()["large"][0] == "READY", 60))
        self.assertTrue(any("is tried again polls=1" in line
                            for line in self.server.log))

    def test_only_what_failed_for_want_of_something_is_tried_again(self):
        self.write("two", 'platform: "pytorch_libtorch"\n'
                          "version_policy { all {} }\n" +
                   ferry_process.tensor("input", "x", "FP32", [1]) +
                   ferry_process.tensor("output", "y", "FP32", [1]))
        os.makedirs(os.path.join(self.folder, "two", "2"))  # without a file
        with open(os.path.join(self.folder, "two", "1", "model.pt"),
                  "w") as file:
            file.write("no script")
        self.start("--model-control-mode=poll", "--repository-poll-secs=0.1",
                   "--exit-on-error=false", "--probe-loads=off")

        def failures(version):
            return [line for line in self.server.log if re.search(
                f"cannot load: .*'two' version {version}:", line)]

        def polls():
            return re.findall(r"model two version=2 is tried again polls=(\d+)",
                              "".join(self.server.log))

        self.assertTrue(wait_until(lambda: len(polls()) >= 3))
        self.assertEqual(polls()[:3], ["1", "2", "4"])
        self.assertGreaterEqual(len(failures(2)), 3)
        self.assertEqual(len(failures(1)), 1)
        index = {m.version: m.reason
                 for m in self.client.get_model_repository_index().models
                 if m.name == "two"}
        self.assertIn("expected a TorchScript file", index["1"])
        self.assertIn("cannot read model file", index["2"])

    def test_gpus_of_a_config_are_served_on_the_processor_with_a_line(self):
        self.write("gpu", MODELS["echo"] +
                   "instance_group [{ count: 2 kind: KIND_GPU gpus: [ 0 ] }]\n"
                   "optimization { cuda { graphs: true } }\n"
                   + ferry_process.parameter("team", "vision"))
        self.start()
        self.assertEqual(infer(self.client, "gpu").shape, (1, 16))
        lines = [line for line in self.server.log if "has no effect" in line]
        self.assertEqual(len(lines), 1)
        self.assertIn("model gpu version=1", lines[0])
        self.assertIn("parameter 'team'", lines[0])
        self.assertIn("'instance_group' with GPUs", lines[0])
        config = self.client.get_model_config("gpu").config
        self.assertEqual(config.instance_group[0].count, 2)
        self.assertEqual(config.instance_group[0].kind, 2, "KIND_CPU")
        self.assertEqual(config.parameters["team"].string_value, "vision")

    def test_config_that_turns_graphs_off_without_naming_them_has_a_line(self):
        for name, cuda in (("unsaid", ""), ("asked", "graphs: true")):
            self.write(name, MODELS["echo"] +
                       f"optimization {{ cuda {{ {cuda} }} }}\n")
        self.start()
        lines = [line for line in self.server.log
                 if "does not say graphs: true" in line]
        self.assertEqual(len(lines), 1)
        self.assertIn("model unsaid version=1", lines[0])

    def test_config_in_force_loads_back(self):
        self.start("--model-control-mode=explicit", "--load-model=echo")
        config = self.client.get_model_config("echo", as_json=True)["config"]
        self.client.load_model("echo", config=json.dumps(config))
        self.assertTrue(self.client.is_model_ready("echo"))

    def test_sizes_of_zero_are_served(self):
        self.write("any_shape", MODELS["any_shape"])
        self.start()
        for shape in ([2, 0], [100, 0], [1, 3]):
            tensor = triton.InferInput("input", shape, "FP32")
            tensor.set_data_from_numpy(np.ones(shape, np.float32))
            found = self.client.infer("any_shape", [tensor]).as_numpy("output")
            self.assertEqual(list(found.shape), shape)


if __name__ == "__main__":
    unittest.main()
