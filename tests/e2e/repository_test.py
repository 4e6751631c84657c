"""The life of models: load, replace and unload while a client asks."""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import unittest

import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

import ferry_process
from ferry_process import FerryProcess, wait_until

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from scale_model import SCALE_CONFIG, ask, write_config, write_version

LONG_TO_LOAD = """backend: "ferry_network"
max_batch_size: 64
input { name: "input" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }
output { name: "output" data_type: TYPE_FP32 dims: 1000 }
dynamic_batching {}
parameters { key: "ferry.network" value { string_value: "resnet50" } }
"""


class RepositoryTest(unittest.TestCase):

    def start(self, *flags, models=("echo",)):
        self.server = FerryProcess(*flags, models=models)
        self.addCleanup(self.server.stop)
        self.folder = self.server.folder
        self.client = triton.InferenceServerClient(self.server.address)
        self.addCleanup(self.client.close)

    def index(self):
        """Returns (state, reason) by (name, version)."""
        found = {(m.name, m.version): (m.state, m.reason)
                 for m in self.client.get_model_repository_index().models}
        self.assertNotIn(self.folder, str(found), "paths are the server's")
        return found

    def refusal(self, call):
        with self.assertRaises(InferenceServerException) as caught:
            call()
        self.assertNotIn(self.folder, caught.exception.message(),
                         "paths are the server's")
        return (caught.exception.status().replace("StatusCode.", ""),
                caught.exception.message())


class ExplicitTest(RepositoryTest):

    def start(self, *flags, models=("echo",)):
        super().start("--model-control-mode=explicit", *flags, models=models)

    def test_nothing_is_loaded_until_asked_for(self):
        self.start()
        self.assertEqual(self.index(), {("echo", ""): ("", "")})
        self.assertTrue(self.client.is_server_ready())
        self.assertFalse(self.client.is_model_ready("echo"))
        self.client.load_model("echo")
        self.assertTrue(self.client.is_model_ready("echo"))
        self.assertEqual(self.index(), {("echo", "1"): ("READY", "")})
        self.client.unload_model("echo")
        self.assertFalse(self.client.is_model_ready("echo"))
        code, text = self.refusal(
            lambda: self.client.get_model_metadata("echo"))
        self.assertEqual(code, "NOT_FOUND")
        self.assertIn("'echo' has no available versions", text)
        self.assertTrue(wait_until(
            lambda: self.index() == {("echo", "1"):
                                     ("UNAVAILABLE", "unloaded")}))
        self.client.load_model("echo")
        self.assertTrue(self.client.is_model_ready("echo"))

    def test_models_named_at_start_are_loaded(self):
        self.start("--load-model=echo", models=["echo", "large"])
        self.assertEqual(self.index(), {("echo", "1"): ("READY", ""),
                                        ("large", ""): ("", "")})
        ready = self.client.get_model_repository_index().models
        self.assertEqual(len(ready), 2)

    def test_what_cannot_be_loaded_says_why(self):
        self.start()
        code, text = self.refusal(lambda: self.client.load_model("none"))
        self.assertEqual(code, "NOT_FOUND")
        self.assertIn("failed to load 'none'", text)
        self.assertIn("; there are: echo", text)
        for name in ("../echo", "", "a/b"):
            self.assertEqual(
                self.refusal(lambda n=name: self.client.load_model(n))[0],
                "INVALID_ARGUMENT")
        self.assertEqual(list(self.index()), [("echo", "")],
                         "clients cannot fill the index")
        write_config(self.folder, "wrong", 'backend: "onnxruntime"\n')
        code, text = self.refusal(lambda: self.client.load_model("wrong"))
        self.assertEqual(code, "INVALID_ARGUMENT")
        self.assertIn("field 'backend'", text)
        self.assertIn("field 'backend'", self.index()[("wrong", "")][1])
        self.client.unload_model("echo")  # not loaded: nothing to do
        self.assertEqual(self.index()[("echo", "")], ("", ""))
        self.assertTrue(self.client.is_server_ready())

    def test_config_of_the_request_is_used(self):
        self.start()
        config = {"backend": "ferry_echo", "max_batch_size": 3,
                  "input": [{"name": "i", "data_type": "TYPE_INT32",
                             "dims": [2]}],
                  "output": [{"name": "o", "data_type": "TYPE_INT32",
                              "dims": [2]}]}
        self.client.load_model("echo", config=json.dumps(config))
        got = self.client.get_model_config("echo").config
        self.assertEqual(got.max_batch_size, 3)
        self.assertEqual(got.input[0].name, "i")
        self.client.load_model("echo")
        self.assertEqual(self.client.get_model_config("echo").config
                         .input[0].name, "input")
        code, text = self.refusal(
            lambda: self.client.load_model("echo", config="{"))
        self.assertEqual(code, "INVALID_ARGUMENT")
        self.assertIn("as JSON", text)
        code, text = self.refusal(lambda: self.client.load_model(
            "echo", config=json.dumps(config), files={"file:1/a.pt": b"x"}))
        self.assertEqual(code, "UNIMPLEMENTED")

    def test_new_version_takes_over_and_a_broken_one_does_not(self):
        self.start()
        write_config(self.folder, "scale", SCALE_CONFIG)
        write_version(self.folder, 1)
        self.client.load_model("scale")
        self.assertEqual(ask(self.client), 1)
        write_version(self.folder, 2)
        self.assertEqual(ask(self.client), 1)
        self.client.load_model("scale")
        self.assertEqual(ask(self.client), 2)
        self.assertTrue(wait_until(  # UNAVAILABLE while it unloads
            lambda: self.refusal(lambda: ask(self.client, "1"))[0] ==
            "NOT_FOUND"))
        os.makedirs(os.path.join(self.folder, "scale", "3"))
        with open(os.path.join(self.folder, "scale", "3",
                               "model.safetensors"), "w") as broken:
            broken.write("no model")
        code, text = self.refusal(lambda: self.client.load_model("scale"))
        self.assertIn("version 3", text)
        self.assertEqual(ask(self.client), 2)
        index = self.index()
        self.assertEqual(index[("scale", "2")], ("READY", ""))
        self.assertEqual(index[("scale", "3")][0], "UNAVAILABLE")
        self.assertIn("'scale/3/model.safetensors'", index[("scale", "3")][1])
        shutil.rmtree(os.path.join(self.folder, "scale", "3"))
        self.client.load_model("scale")
        self.assertNotIn(("scale", "3"), self.index(), "it is gone")
        self.assertTrue(self.client.is_server_ready())

    def test_versions_that_the_policy_names_serve_side_by_side(self):
        self.start()
        write_config(self.folder, "scale", SCALE_CONFIG +
                     "version_policy { specific { versions: [1, 3] } }\n")
        for version in (1, 2, 3):
            write_version(self.folder, version)
        self.client.load_model("scale")
        self.assertEqual([ask(self.client, v) for v in ("1", "3", "")],
                         [1, 3, 3])
        self.assertEqual(self.refusal(lambda: ask(self.client, "2"))[0],
                         "NOT_FOUND")
        self.assertEqual(sorted(
            self.client.get_model_metadata("scale").versions), ["1", "3"])
        write_config(self.folder, "scale",
                     SCALE_CONFIG + "version_policy { all {} }\n")
        self.client.load_model("scale")
        self.assertEqual([ask(self.client, v) for v in ("1", "2", "3")],
                         [1, 2, 3])

    def test_links_do_not_lead_out_of_the_repository(self):
        self.start()
        write_config(self.folder, "scale", SCALE_CONFIG)
        write_version(self.folder, 1)
        outside = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, outside)
        weights = os.path.join(self.folder, "scale", "1", "model.safetensors")
        shutil.move(weights, outside)
        os.symlink(os.path.join(outside, "model.safetensors"), weights)
        code, text = self.refusal(lambda: self.client.load_model("scale"))
        self.assertEqual(code, "INVALID_ARGUMENT")
        self.assertIn("leads out of it", text)
        self.assertNotIn(outside, text)
        os.symlink(outside, os.path.join(self.folder, "linked"))
        code, text = self.refusal(lambda: self.client.load_model("linked"))
        self.assertIn("linked': expected a path in the model repository", text)
        self.assertNotIn(outside, text)

    def test_all_models_are_named_by_a_star(self):
        self.start("--load-model=*", models=["echo", "large"])
        self.assertEqual(self.index(), {("echo", "1"): ("READY", ""),
                                        ("large", "1"): ("READY", "")})

    def test_only_so_many_loads_wait(self):
        self.start()
        write_config(self.folder, "large",
                     LONG_TO_LOAD.replace("size: 64", "size: 2"))
        stub = service_pb2_grpc.GRPCInferenceServiceStub(self.client._channel)

        def load(name):
            return stub.RepositoryModelLoad.future(
                service_pb2.RepositoryModelLoadRequest(model_name=name))

        first = load("large")
        self.assertTrue(wait_until(
            lambda: self.index().get(("large", "1")) == ("LOADING", "")))
        calls = [load("none") for _ in range(100)]
        self.assertTrue(wait_until(
            lambda: self.server.metric("ferry_control_jobs_waiting") == 64))
        codes = {call.code().name for call in calls}
        self.assertEqual(codes, {"NOT_FOUND", "RESOURCE_EXHAUSTED"})
        self.assertEqual(first.code().name, "OK")
        self.client.load_model("echo")
        self.assertTrue(self.client.is_model_ready("echo"))

    def test_stop_does_not_wait_for_a_load(self):
        self.start("--exit-timeout-secs=1")
        write_config(self.folder, "large", LONG_TO_LOAD)
        answers = []

        def load():
            try:
                self.client.load_model("large", client_timeout=60)
                answers.append("OK")
            except InferenceServerException as error:
                answers.append(error.status())
        thread = threading.Thread(target=load)
        thread.start()
        self.assertTrue(wait_until(
            lambda: self.index().get(("large", "1"), [""])[0] == "LOADING"))
        self.server.signal()
        self.assertEqual(self.server.wait(60), 0)
        thread.join()
        self.assertEqual(len(answers), 1)
        self.assertIn("stopped while a model is still being loaded",
                      self.server.log[-1])

    def test_unchanged_model_is_not_loaded_again(self):
        self.start("--load-model=echo")
        loads = lambda name: sum(f"model {name} version=1 is ready" in line
                                 for line in self.server.log)
        self.client.load_model("echo")
        write_config(self.folder, "next", ferry_process.MODELS["echo"])
        self.client.load_model("next")
        self.assertTrue(wait_until(lambda: loads("next") == 1))
        self.assertEqual(loads("echo"), 1)

    def test_unload_waits_for_what_was_admitted(self):
        self.start("--load-model=slower", models=["slower"])
        values = np.ones((1, 16), np.float32)
        tensor = triton.InferInput("input", [1, 16], "FP32")
        tensor.set_data_from_numpy(values)
        answers = []
        done = threading.Semaphore(0)

        def answered(result, error):
            answers.append(error or result.as_numpy("output"))
            done.release()
        for _ in range(3):
            self.client.async_infer("slower", [tensor], answered)
        self.assertTrue(wait_until(
            lambda: self.server.metric("ferry_queue_requests") == 2))
        self.client.unload_model("slower")
        self.assertEqual(self.index()[("slower", "1")][0], "UNLOADING")
        for _ in range(3):
            done.acquire(timeout=20)
        for answer in answers:
            np.testing.assert_array_equal(answer, values)
        self.assertTrue(wait_until(lambda: self.index()[("slower", "1")] ==
                                   ("UNAVAILABLE", "unloaded")))

    def test_no_request_fails_while_versions_change(self):
        self.start()
        write_config(self.folder, "scale", SCALE_CONFIG)
        write_version(self.folder, 1)
        self.client.load_model("scale")
        stop = threading.Event()
        seen, failures = set(), []

        def client():
            with triton.InferenceServerClient(self.server.address) as own:
                newest = 0
                while not stop.is_set():
                    try:
                        version = ask(own)
                        if version < newest:
                            failures.append(f"{version} after {newest}")
                        newest = version
                        seen.add(version)
                    except (InferenceServerException, AssertionError) as e:
                        failures.append(e)
        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        for version in range(2, 8):
            write_version(self.folder, version)
            self.client.load_model("scale")
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(ask(self.client), 7)
        self.assertGreater(len(seen), 3)


class PollTest(RepositoryTest):

    def start(self, *flags, models=("echo",)):
        super().start("--model-control-mode=poll",
                      "--repository-poll-secs=0.1", *flags, models=models)

    def test_what_appears_is_served_and_what_goes_is_not(self):
        self.start()
        self.assertTrue(self.client.is_model_ready("echo"))
        write_version(self.folder, 1)
        write_config(self.folder, "scale", SCALE_CONFIG)
        self.assertTrue(wait_until(
            lambda: self.index().get(("scale", "1"), [""])[0] == "READY"))
        self.assertEqual(ask(self.client), 1)
        write_version(self.folder, 5)
        self.assertTrue(wait_until(lambda: ask(self.client) == 5))
        shutil.rmtree(os.path.join(self.folder, "scale"))
        self.assertTrue(wait_until(
            lambda: self.index()[("scale", "5")][0] == "UNAVAILABLE"))
        self.assertTrue(self.client.is_model_ready("echo"))

    def test_changed_config_is_taken_and_a_wrong_one_is_not(self):
        self.start()
        config = lambda: self.client.get_model_config("echo").config
        write_config(self.folder, "echo", ferry_process.echo_config(
            [("input", "output", "FP32", [16])], 7))
        self.assertTrue(wait_until(lambda: config().max_batch_size == 7))
        write_config(self.folder, "echo", "no config")
        self.assertTrue(wait_until(
            lambda: self.index()[("echo", "1")][1] != ""))
        self.assertEqual(config().max_batch_size, 7)
        self.assertTrue(self.client.is_model_ready("echo"))
        errors = lambda: sum("cannot load" in line for line in self.server.log)
        self.assertTrue(wait_until(lambda: errors() == 1))
        write_config(self.folder, "next", ferry_process.MODELS["echo"])
        self.assertTrue(wait_until(  # after two more polls
            lambda: self.index().get(("next", "1"), [""])[0] == "READY"))
        self.assertEqual(errors(), 1, "said once")

    def test_failed_version_that_is_gone_is_forgotten(self):
        self.start()
        write_config(self.folder, "scale", SCALE_CONFIG)
        write_version(self.folder, 1)
        self.assertTrue(wait_until(
            lambda: self.index().get(("scale", "1"), [""])[0] == "READY"))
        broken = os.path.join(self.folder, "scale", "2")
        os.makedirs(broken)
        self.assertTrue(wait_until(
            lambda: self.index().get(("scale", "2"), [""])[0] ==
            "UNAVAILABLE"))
        shutil.rmtree(broken)
        self.assertTrue(wait_until(
            lambda: ("scale", "2") not in self.index()))
        self.assertEqual(ask(self.client), 1)

    def test_clients_may_not_load(self):
        self.start()
        for call in (self.client.load_model, self.client.unload_model):
            code, text = self.refusal(lambda c=call: c("echo"))
            self.assertEqual(code, "UNAVAILABLE")
            self.assertIn("--model-control-mode=explicit", text)


class NoneTest(RepositoryTest):

    def test_what_was_loaded_at_start_stays(self):
        self.start()
        self.assertEqual(self.index(), {("echo", "1"): ("READY", "")})
        code, text = self.refusal(lambda: self.client.unload_model("echo"))
        self.assertEqual(code, "UNAVAILABLE")
        self.assertIn("--model-control-mode=explicit", text)
        self.assertTrue(self.client.is_model_ready("echo"))


if __name__ == "__main__":
    unittest.main()
