"""Clients pass tensors in system shared memory, as tritonclient's examples do, and what
they do wrong or in bad faith harms no other and not the server."""

import concurrent.futures
import os
import pathlib
import tempfile
import threading
import unittest
import uuid

import grpc
import numpy as np
import tritonclient.grpc as triton
import tritonclient.utils.shared_memory as shm
from tritonclient._plugin import InferenceServerClientPlugin
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from tritonclient.utils import (InferenceServerException, np_to_triton_dtype,
                                serialize_byte_tensor)

import ferry_process
import trust
from ferry_process import FerryProcess, echo_config, run

ALLOWED = "--allow-client-shm"
OBJECTS = pathlib.Path("/dev/shm")
ROWS = np.arange(32, dtype=np.float32).reshape(2, 16)
TIMEOUT_S = 30
MOST_REGIONS = 128
MESSAGE_BYTES = 1 << 20

ferry_process.MODELS["pair"] = echo_config(
    [("first", "first_out", "FP32", [16]), ("second", "second_out", "FP32", [16])])
ferry_process.MODELS["words"] = echo_config([("input", "output", "STRING", [2])])
MODELS = ["echo", "pair", "words", "slow", "wide"]


class Region:
    """An object that this client has made and registered."""

    def __init__(self, client, byte_size, name=None, headers=None):
        self.name = name or f"region-{uuid.uuid4().hex}"
        self.key = f"/ferry-test-{uuid.uuid4().hex}"
        self.byte_size = byte_size
        self.handle = shm.create_shared_memory_region(self.name, self.key, byte_size)
        if client is not None:
            client.register_system_shared_memory(self.name, self.key, byte_size,
                                                 headers=headers)

    def set(self, *values, offset=0):
        shm.set_shared_memory_region(self.handle, values, offset=offset)
        return self

    def get(self, shape, offset=0, data_type=np.float32):
        return shm.get_contents_as_numpy(self.handle, data_type, shape, offset).copy()

    def input(self, name, values, offset=0, byte_size=None):
        tensor = triton.InferInput(name, values.shape,
                                   np_to_triton_dtype(values.dtype))
        tensor.set_shared_memory(self.name, values.nbytes if byte_size is None else
                                 byte_size, offset)
        return tensor

    def output(self, name, byte_size, offset=0):
        wanted = triton.InferRequestedOutput(name)
        wanted.set_shared_memory(self.name, byte_size, offset)
        return wanted

    def close(self):
        shm.destroy_shared_memory_region(self.handle)


def inline(name, values):
    tensor = triton.InferInput(name, values.shape, np_to_triton_dtype(values.dtype))
    tensor.set_data_from_numpy(values)
    return tensor


class Token(InferenceServerClientPlugin):
    """Says which client it is, with each call."""

    def __init__(self, name):
        self.headers = {"authorization": f"Bearer token-{name}"}

    def __call__(self, request):
        request.headers.update(self.headers)


class Honest:
    """A client that has its rows passed by shared memory, over and over, by several
    threads while its block runs."""
    THREADS = 4

    def __init__(self, address):
        self._address = address
        self._is_over = threading.Event()
        self._pool = concurrent.futures.ThreadPoolExecutor(self.THREADS)
        self._answers = [0] * self.THREADS

    def __enter__(self):
        self._ended = [self._pool.submit(self._run, number)
                       for number in range(self.THREADS)]
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._pool.shutdown()
        for one in self._ended:
            one.result()  # raises what went wrong

    def answers(self):
        return min(self._answers)

    def _run(self, number):
        with triton.InferenceServerClient(self._address) as client:
            client.register_plugin(Token("honest"))
            region = Region(client, 2 * ROWS.nbytes, name=f"mine-{number}")
            try:
                while not self._is_over.is_set():
                    rows = ROWS + self._answers[number] * self.THREADS + number
                    region.set(rows)
                    client.infer("echo", [region.input("input", rows)], outputs=[
                        region.output("output", rows.nbytes, rows.nbytes)])
                    np.testing.assert_array_equal(region.get((2, 16), rows.nbytes),
                                                  rows)
                    self._answers[number] += 1
                client.unregister_system_shared_memory(region.name)
            finally:
                region.close()


class SharedMemoryCase(unittest.TestCase):
    flags = []

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess(
            ALLOWED, f"--grpc-max-message-bytes={MESSAGE_BYTES}", *cls.flags,
            models=MODELS)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.client = self.enterContext(
            triton.InferenceServerClient(self.server.address))
        self.addCleanup(self.client.unregister_system_shared_memory)

    def region(self, byte_size, **how):
        made = Region(self.client, byte_size, **how)
        self.addCleanup(made.close)
        return made

    def refused(self, code, text, call):
        with self.assertRaises(InferenceServerException) as caught:
            call()
        self.assertEqual(caught.exception.status(), f"StatusCode.{code}")
        self.assertIn(text, caught.exception.message())
        self.assert_serves()

    def assert_serves(self):
        answer = self.client.infer("echo", [inline("input", ROWS)])
        np.testing.assert_array_equal(answer.as_numpy("output"), ROWS)

    def infer(self, source, values=ROWS, **how):
        return self.client.infer("echo", [source.input("input", values, **how)])


class FlowTest(SharedMemoryCase):

    def test_flow_of_tritonclients_examples(self):
        source, target = self.region(ROWS.nbytes), self.region(ROWS.nbytes)
        source.set(ROWS)
        status = self.client.get_system_shared_memory_status()
        self.assertEqual(set(status.regions), {source.name, target.name})
        told = status.regions[source.name]
        self.assertEqual((told.name, told.key, told.offset, told.byte_size),
                         (source.name, source.key, 0, ROWS.nbytes))
        self.assertEqual(self.server.metric("ferry_shared_memory_regions"), 2)
        self.assertEqual(self.server.metric("ferry_shared_memory_bytes"),
                         2 * ROWS.nbytes)
        answer = self.client.infer(
            "echo", [source.input("input", ROWS)],
            outputs=[target.output("output", ROWS.nbytes)], request_id="seven")
        np.testing.assert_array_equal(target.get((2, 16)), ROWS)
        (output,) = answer.get_response().outputs
        parameters = output.parameters
        self.assertEqual(list(output.shape), [2, 16])
        self.assertEqual(parameters["shared_memory_region"].string_param, target.name)
        self.assertEqual(parameters["shared_memory_byte_size"].int64_param,
                         ROWS.nbytes)
        self.assertNotIn("shared_memory_offset", parameters)
        self.assertEqual(list(answer.get_response().raw_output_contents), [b""])
        self.client.unregister_system_shared_memory(source.name)
        self.assertEqual(
            set(self.client.get_system_shared_memory_status().regions), {target.name})
        self.refused("NOT_FOUND", "unable to find shared memory region",
                     lambda: self.infer(source))
        self.client.unregister_system_shared_memory()
        self.assertFalse(self.client.get_system_shared_memory_status().regions)

    def test_tensors_of_messages_and_regions_are_mixed(self):
        region = self.region(4 * ROWS.nbytes).set(ROWS, offset=ROWS.nbytes)
        other = ROWS + 100
        wanted = [triton.InferRequestedOutput("second_out"),
                  region.output("first_out", ROWS.nbytes, offset=2 * ROWS.nbytes)]
        for first, second in (
                (region.input("first", ROWS, offset=ROWS.nbytes),
                 inline("second", other)),
                (inline("first", ROWS),
                 region.set(other).input("second", other))):
            answer = self.client.infer("pair", [first, second], outputs=wanted)
            np.testing.assert_array_equal(answer.as_numpy("second_out"), other)
            np.testing.assert_array_equal(region.get((2, 16), 2 * ROWS.nbytes), ROWS)
            region.set(np.zeros_like(ROWS), offset=2 * ROWS.nbytes)
            region.set(ROWS, offset=ROWS.nbytes)
        (output,) = [one for one in answer.get_response().outputs
                     if one.name == "first_out"]
        self.assertEqual(output.parameters["shared_memory_offset"].int64_param,
                         2 * ROWS.nbytes)

    def test_typed_contents_stand_beside_a_region(self):
        region = self.region(ROWS.nbytes).set(ROWS)
        request = pb.ModelInferRequest(model_name="pair")
        first = request.inputs.add(name="first", datatype="FP32", shape=[2, 16])
        first.parameters["shared_memory_region"].string_param = region.name
        first.parameters["shared_memory_byte_size"].int64_param = ROWS.nbytes
        second = request.inputs.add(name="second", datatype="FP32", shape=[2, 16])
        second.contents.fp32_contents.extend(ROWS.flatten())
        with grpc.insecure_channel(self.server.address) as channel:
            reply = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(
                request, timeout=TIMEOUT_S)
        self.assertEqual(list(reply.raw_output_contents), [ROWS.tobytes()] * 2)

    def test_texts(self):
        words = np.array([["one", "two"], ["three", ""]], dtype=np.object_)
        sent = serialize_byte_tensor(words).item()
        source, target = self.region(len(sent)), self.region(len(sent))
        source.set(serialize_byte_tensor(words))
        tensor = triton.InferInput("input", [2, 2], "BYTES")
        tensor.set_shared_memory(source.name, len(sent))
        self.client.infer("words", [tensor],
                          outputs=[target.output("output", len(sent))])
        got = shm.get_contents_as_numpy(target.handle, np.object_, (2, 2))
        self.assertEqual([word.decode() for word in got.flatten()],
                         list(words.flatten()))

    def test_stream(self):
        source, target = self.region(ROWS.nbytes), self.region(ROWS.nbytes)
        source.set(ROWS)
        answers = concurrent.futures.Future()
        self.client.start_stream(lambda result, error:
                                 answers.set_result((result, error)))
        self.client.async_stream_infer(
            "echo", [source.input("input", ROWS)],
            outputs=[target.output("output", ROWS.nbytes)])
        _, error = answers.result(TIMEOUT_S)
        self.client.stop_stream()
        self.assertIsNone(error)
        np.testing.assert_array_equal(target.get((2, 16)), ROWS)

    def test_each_of_many_gets_its_own_rows(self):
        regions = [self.region(2 * ROWS.nbytes) for _ in range(16)]

        def ask(number):
            region, values = regions[number % 16], ROWS + number
            with triton.InferenceServerClient(self.server.address) as client:
                for turn in range(20):
                    region.set(values + turn)
                    client.infer("echo", [region.input("input", ROWS)], outputs=[
                        region.output("output", ROWS.nbytes, ROWS.nbytes)])
                    np.testing.assert_array_equal(region.get((2, 16), ROWS.nbytes),
                                                  values + turn)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(ask, range(16)))

    def test_unregister_waits_for_what_is_under_way(self):
        rows = np.arange(1, 65, dtype=np.float32).reshape(4, 16)
        region = self.region(rows.nbytes)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            before = self.server.metric("ferry_arrived_rows_total", model="slow")
            asked = [pool.submit(self.client.infer, "slow", [inline("input", row)],
                                 outputs=[region.output("output", row.nbytes,
                                                        i * row.nbytes)])
                     for i, row in enumerate(rows[:, None])]
            self.assertTrue(ferry_process.wait_until(lambda: self.server.metric(
                "ferry_arrived_rows_total", model="slow") == before + 4))
            self.client.unregister_system_shared_memory(region.name)
            np.testing.assert_array_equal(region.get((4, 16)), rows)
            for one in asked:
                one.result(TIMEOUT_S)


class AttackTest(SharedMemoryCase):
    """An attacker, beside an honest client."""

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        tokens = os.path.join(folder, "tokens")
        trust.write(tokens, "".join(
            trust.token_line(name, "infer", f"token-{name}")
            for name in ("attacker", "honest")))
        cls.flags = [f"--auth-token-file={tokens}", "--open-health"]
        super().setUpClass()
        cls.honest = Honest(cls.server.address)
        cls.enterClassContext(cls.honest)

    def setUp(self):
        super().setUp()
        self.client.register_plugin(Token("attacker"))
        self.addCleanup(self.assert_honest_is_served)

    def assert_honest_is_served(self):
        before = self.honest.answers()
        self.assertTrue(ferry_process.wait_until(
            lambda: self.honest.answers() > before + 1))

    def test_object_that_becomes_shorter(self):
        region = self.region(ROWS.nbytes).set(ROWS)
        path = OBJECTS / region.key[1:]
        os.truncate(path, 8)
        self.refused("INVALID_ARGUMENT", "has become shorter",
                     lambda: self.infer(region))
        self.refused("INVALID_ARGUMENT", "has become shorter",
                     lambda: self.client.infer(
                         "echo", [inline("input", ROWS)],
                         outputs=[region.output("output", ROWS.nbytes)]))
        self.assertEqual(os.stat(path).st_size, 8)
        os.truncate(path, ROWS.nbytes)
        self.infer(region)

    def test_object_that_is_cut_while_requests_read_it(self):
        region = self.region(ROWS.nbytes)
        path = OBJECTS / region.key[1:]
        is_over = threading.Event()

        def cut():
            while not is_over.is_set():
                os.truncate(path, 0)
                os.truncate(path, ROWS.nbytes)

        outcomes = set()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            cutting = pool.submit(cut)
            try:
                for _ in range(500):
                    try:
                        self.client.infer(
                            "echo", [region.input("input", ROWS)],
                            outputs=[region.output("output", ROWS.nbytes)])
                        outcomes.add("OK")
                    except InferenceServerException as error:
                        outcomes.add(error.status())
            finally:
                is_over.set()
            cutting.result(TIMEOUT_S)
        self.assertLessEqual(outcomes, {"OK", "StatusCode.INVALID_ARGUMENT"})
        self.assert_serves()

    def test_unlinked_object_serves_on(self):
        region = self.region(ROWS.nbytes).set(ROWS)
        os.unlink(OBJECTS / region.key[1:])
        np.testing.assert_array_equal(self.infer(region).as_numpy("output"), ROWS)
        (OBJECTS / region.key[1:]).touch()  # so that it can be destroyed

    def test_ranges_that_are_none(self):
        region = self.region(2 * ROWS.nbytes).set(ROWS)
        for offset in (ROWS.nbytes + 1, 2**63 - 1, 2**62):
            self.refused("INVALID_ARGUMENT", "expected a range in the region",
                         lambda: self.infer(region, offset=offset))
            self.refused("INVALID_ARGUMENT", "expected a range in the region",
                         lambda: self.client.infer(
                             "echo", [inline("input", ROWS)], outputs=[
                                 region.output("output", ROWS.nbytes, offset)]))
        self.refused("INVALID_ARGUMENT", "parameter 'shared_memory_offset': expected "
                     "at least 0", lambda: self.infer(region, offset=-1))
        for byte_size in (0, 1, ROWS.nbytes - 1, ROWS.nbytes + 1):
            self.refused("INVALID_ARGUMENT", "input byte size mismatch",
                         lambda: self.infer(region, byte_size=byte_size))
        self.refused("INVALID_ARGUMENT", f"at least {ROWS.nbytes} to hold the results",
                     lambda: self.client.infer(
                         "echo", [inline("input", ROWS)],
                         outputs=[region.output("output", ROWS.nbytes - 1)]))

    def test_ranges_that_overlap(self):
        size, half = ROWS.nbytes, ROWS.nbytes // 2
        region = self.region(2 * size).set(ROWS)
        self.client.infer("echo", [region.input("input", ROWS)],
                          outputs=[region.output("output", size)])
        np.testing.assert_array_equal(region.get((2, 16)), ROWS)
        self.client.infer("echo", [region.input("input", ROWS)],
                          outputs=[region.output("output", size, half)])
        np.testing.assert_array_equal(region.get((1, 16)), ROWS[:1])
        np.testing.assert_array_equal(region.get((2, 16), half), ROWS)
        # A range of another region of the same object is the same memory.
        self.client.register_system_shared_memory("again", region.key, size, half)
        tensor = region.input("first", ROWS)
        other = triton.InferInput("second", [2, 16], "FP32")
        other.set_shared_memory("again", size)
        answer = self.client.infer("pair", [tensor, other], outputs=[
            triton.InferRequestedOutput("second_out"),
            region.output("first_out", size, size)])
        np.testing.assert_array_equal(answer.as_numpy("second_out"), ROWS)
        np.testing.assert_array_equal(region.get((1, 16), size), ROWS[:1])

    def test_ranges_past_the_end_are_not_registered(self):
        region = self.region(ROWS.nbytes)
        for offset, byte_size in ((0, ROWS.nbytes + 1), (1, ROWS.nbytes),
                                  (ROWS.nbytes + 1, 1), (2**63, 2**63),
                                  (2**64 - 1, 1), (1, 2**64 - 1), (0, 0)):
            self.refused("INVALID_ARGUMENT", "byte_size", lambda: (
                self.client.register_system_shared_memory(
                    "other", region.key, byte_size, offset)))
        self.client.register_system_shared_memory("part", region.key, 64, 64)
        region.set(ROWS)
        tensor = triton.InferInput("input", [1, 16], "FP32")
        tensor.set_shared_memory("part", 64)
        np.testing.assert_array_equal(
            self.client.infer("echo", [tensor]).as_numpy("output"), ROWS[1:])

    def test_keys_that_are_none(self):
        with tempfile.NamedTemporaryFile() as secret:
            link = OBJECTS / f"ferry-test-{uuid.uuid4().hex}"
            link.symlink_to(secret.name)
            self.addCleanup(link.unlink)
            folder = OBJECTS / f"ferry-test-{uuid.uuid4().hex}"
            folder.mkdir()
            self.addCleanup(folder.rmdir)
            pipe = OBJECTS / f"ferry-test-{uuid.uuid4().hex}"
            os.mkfifo(pipe)
            self.addCleanup(pipe.unlink)
            secret.write(b"x" * 64)
            secret.flush()
            for key in ("", "/", ".", "..", "/../etc/passwd", "../shm/x", "a/b",
                        "//x", "sem.x", "/sem.x", "x" * 300, "a\0b", link.name, folder.name, pipe.name, f"/{pipe.name}"):
                with self.subTest(key=key):
                    with self.assertRaises(InferenceServerException) as caught:
                        self.client.register_system_shared_memory("x", key, 64)
                    self.assertEqual(caught.exception.status(),
                                     "StatusCode.INVALID_ARGUMENT")
        self.refused("NOT_FOUND", "cannot open", lambda: (
            self.client.register_system_shared_memory("x", "/no-object", 64)))
        for name in ("", "x" * 300):
            self.refused("INVALID_ARGUMENT", "name: expected 1 to 255 bytes", lambda: (
                self.client.register_system_shared_memory(name, "/x", 64)))
        self.assertFalse(self.client.get_system_shared_memory_status().regions)

    @unittest.skipUnless(os.geteuid() == 0, "root alone gives an object to another")
    def test_object_of_another_user(self):
        region = Region(None, 64)
        self.addCleanup(region.close)
        os.chown(OBJECTS / region.key[1:], os.getuid() + 1, -1)
        self.refused("PERMISSION_DENIED", "of the server's user", lambda: (
            self.client.register_system_shared_memory("x", region.key, 64)))

    def test_a_name_is_registered_once(self):
        region = self.region(64)
        self.refused("ALREADY_EXISTS", "is registered already", lambda: (
            self.client.register_system_shared_memory(region.name, region.key, 64)))

    def test_parameters_that_lack_another(self):
        region = self.region(ROWS.nbytes).set(ROWS)
        for given in (["shared_memory_region"], ["shared_memory_byte_size"],
                      ["shared_memory_offset"],
                      ["shared_memory_offset", "shared_memory_byte_size"]):
            request = pb.ModelInferRequest(model_name="echo")
            tensor = request.inputs.add(name="input", datatype="FP32", shape=[2, 16])
            for name in given:
                if name == "shared_memory_region":
                    tensor.parameters[name].string_param = region.name
                else:
                    tensor.parameters[name].int64_param = ROWS.nbytes
            with grpc.insecure_channel(self.server.address) as channel:
                with self.assertRaises(grpc.RpcError) as refused:
                    service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(
                        request, timeout=TIMEOUT_S,
                        metadata=list(Token("attacker").headers.items()))
            self.assertEqual(refused.exception.code(),
                             grpc.StatusCode.INVALID_ARGUMENT)
            self.assertIn("'shared_memory_region' and 'shared_memory_byte_size'",
                          refused.exception.details())

    def test_bounds(self):
        region = self.region(64)
        for i in range(MOST_REGIONS - 1):
            self.client.register_system_shared_memory(f"more-{i}", region.key, 64)
        self.refused("RESOURCE_EXHAUSTED",
                     f"expected at most {MOST_REGIONS} regions of one client",
                     lambda: self.client.register_system_shared_memory(
                         "one", region.key, 64))
        self.client.unregister_system_shared_memory()
        wide = self.region(2 * MESSAGE_BYTES)
        values = np.zeros((2, 1 << 18), np.float32)
        self.refused("INVALID_ARGUMENT", "as in a message", lambda: (
            self.client.infer("wide", [wide.input("input", values)])))
        self.client.infer("wide", [wide.input("input", values[:1])])


class RulesTest(unittest.TestCase):

    def test_it_is_off_by_default(self):
        with FerryProcess(models=["echo"]) as server, \
                triton.InferenceServerClient(server.address) as client:
            region = Region(None, ROWS.nbytes)
            self.addCleanup(region.close)
            for call in (
                    client.get_system_shared_memory_status,
                    lambda: client.register_system_shared_memory("x", "/x", 1),
                    client.unregister_system_shared_memory,
                    lambda: client.infer("echo", [region.input("input", ROWS)]),
                    lambda: client.infer(
                        "echo", [inline("input", ROWS)],
                        outputs=[region.output("output", ROWS.nbytes)])):
                with self.assertRaises(InferenceServerException) as caught:
                    call()
                self.assertEqual(caught.exception.status(),
                                 "StatusCode.UNIMPLEMENTED")
                self.assertIn("--allow-client-shm", caught.exception.message())

    def test_cuda_memory_is_refused_with_its_reason(self):
        with FerryProcess(ALLOWED, models=["echo"]) as server, \
                triton.InferenceServerClient(server.address) as client:
            with self.assertRaises(InferenceServerException) as caught:
                client.get_cuda_shared_memory_status()
            self.assertEqual(caught.exception.status(), "StatusCode.UNIMPLEMENTED")
            self.assertIn("no device", caught.exception.message())

    def test_no_other_machine_may_reach_the_server(self):
        for flags in (["--grpc-address=0.0.0.0"],
                      ["--admin-address=0.0.0.0:0"]):
            ended = run(ALLOWED, "--insecure", "--grpc-port=0", "--metrics-port=0",
                        "--load-model=mlp", *flags)
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertIn("--allow-client-shm: expected", ended.stderr)

    def test_each_client_has_its_own_regions(self):
        with tempfile.TemporaryDirectory() as folder:
            tokens = os.path.join(folder, "tokens")
            trust.write(tokens, trust.token_line("a", "infer", "token-a") +
                        trust.token_line("b", "infer", "token-b"))
            socket = os.path.join(folder, "ferry.sock")
            with FerryProcess(ALLOWED, f"--grpc-address=unix:{socket}",
                              f"--auth-token-file={tokens}",
                              models=["echo"]) as server, \
                    triton.InferenceServerClient(server.address) as client:
                headers = [{"authorization": f"Bearer token-{name}"} for name in "ab"]
                regions = [Region(client, ROWS.nbytes, name="mine", headers=of)
                           for of in headers]
                for number, region in enumerate(regions):
                    self.addCleanup(region.close)
                    region.set(ROWS + number)
                for number, of in enumerate(headers):
                    status = client.get_system_shared_memory_status(headers=of)
                    self.assertEqual([told.key for told in status.regions.values()],
                                     [regions[number].key])
                    answer = client.infer(
                        "echo", [regions[number].input("input", ROWS)], headers=of)
                    np.testing.assert_array_equal(answer.as_numpy("output"),
                                                  ROWS + number)
                with self.assertRaises(InferenceServerException) as caught:
                    client.register_system_shared_memory(
                        "theirs", regions[0].key, 64, headers=headers[1])
                self.assertEqual(caught.exception.status(),
                                 "StatusCode.PERMISSION_DENIED")
                client.unregister_system_shared_memory(headers=headers[0])
                self.assertFalse(
                    client.get_system_shared_memory_status(headers=headers[0]).regions)
                self.assertTrue(
                    client.get_system_shared_memory_status(headers=headers[1]).regions)


if __name__ == "__main__":
    unittest.main()
