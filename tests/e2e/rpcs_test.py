"""Every RPC through an unchanged tritonclient, with one server for all."""

import concurrent.futures
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from tritonclient.utils import InferenceServerException

import ferry_process
from ferry_process import FerryProcess, TYPES

NUMPY = {"BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16,
         "UINT32": np.uint32, "UINT64": np.uint64, "INT8": np.int8,
         "INT16": np.int16, "INT32": np.int32, "INT64": np.int64,
         "FP16": np.float16, "FP32": np.float32, "FP64": np.float64}

server = None


def setUpModule():
    global server
    server = FerryProcess(models=ferry_process.MODELS)


def tearDownModule():
    server.stop()


def make_input(name, values, data_type="FP32"):
    tensor = triton.InferInput(name, list(values.shape), data_type)
    tensor.set_data_from_numpy(values)
    return tensor


class RpcTest(unittest.TestCase):

    def setUp(self):
        self.client = triton.InferenceServerClient(server.address)
        self.channel = grpc.insecure_channel(server.address)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def tearDown(self):
        self.client.close()
        self.channel.close()

    def assertCode(self, code, call, text=""):
        with self.assertRaises((InferenceServerException,
                                grpc.RpcError)) as caught:
            call()
        error = caught.exception
        found = (error.status().replace("StatusCode.", "")
                 if isinstance(error, InferenceServerException)
                 else error.code().name)
        self.assertEqual(found, code)
        message = (error.message() if isinstance(
            error, InferenceServerException) else error.details())
        self.assertIn(text, message)
        return error

    # --- health and metadata ---

    def test_health(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("echo"))
        self.assertTrue(self.client.is_model_ready("echo", "1"))
        self.assertFalse(self.client.is_model_ready("other"))
        self.assertFalse(self.client.is_model_ready("echo", "9"))
        self.assertCode("INVALID_ARGUMENT",
                        lambda: self.client.is_model_ready("echo", "new"))

    def test_server_metadata(self):
        metadata = self.client.get_server_metadata()
        self.assertEqual(metadata.name, "ferry")
        self.assertIn("statistics", metadata.extensions)
        for extension in ("model_configuration", "schedule_policy"):
            self.assertIn(extension, metadata.extensions)

    def test_model_metadata(self):
        metadata = self.client.get_model_metadata("echo")
        self.assertEqual(list(metadata.versions), ["1"])
        self.assertEqual(list(metadata.inputs[0].shape), [-1, 16])
        self.assertEqual(metadata.outputs[0].datatype, "FP32")
        whole = self.client.get_model_metadata("whole")
        self.assertEqual(list(whole.inputs[0].shape), [2, 3])

    def test_model_config_matches_metadata(self):
        for name in ferry_process.MODELS:
            config = self.client.get_model_config(name).config
            metadata = self.client.get_model_metadata(name)
            self.assertEqual(config.name, name)
            self.assertEqual([i.name for i in config.input],
                             [i.name for i in metadata.inputs])
            self.assertEqual([o.name for o in config.output],
                             [o.name for o in metadata.outputs])

    def test_statistics(self):
        before = self.client.get_inference_statistics("sim").model_stats[0]
        values = np.ones((3, 16), np.float32)
        for _ in range(4):
            self.client.infer("sim", [make_input("input", values)])
        after = self.client.get_inference_statistics("sim", "1").model_stats[0]
        self.assertEqual(after.inference_count - before.inference_count, 12)
        self.assertEqual(after.execution_count - before.execution_count, 4)
        for part in ("success", "queue", "compute_input", "compute_infer",
                     "compute_output"):
            now = getattr(after.inference_stats, part)
            then = getattr(before.inference_stats, part)
            self.assertEqual(now.count - then.count, 4, part)
            self.assertGreater(now.ns, then.ns, part)
        self.assertGreater(after.last_inference, 1_600_000_000_000)
        self.assertIn(3, [batch.batch_size for batch in after.batch_stats])
        everything = self.client.get_inference_statistics().model_stats
        self.assertEqual(sorted(m.name for m in everything),
                         sorted(ferry_process.MODELS))

    def test_what_is_not_offered_says_why(self):
        calls = {
            "SystemSharedMemoryStatus": pb.SystemSharedMemoryStatusRequest(),
            "SystemSharedMemoryRegister":
                pb.SystemSharedMemoryRegisterRequest(),
            "SystemSharedMemoryUnregister":
                pb.SystemSharedMemoryUnregisterRequest(),
            "CudaSharedMemoryStatus": pb.CudaSharedMemoryStatusRequest(),
            "CudaSharedMemoryRegister": pb.CudaSharedMemoryRegisterRequest(),
            "CudaSharedMemoryUnregister":
                pb.CudaSharedMemoryUnregisterRequest(),
        }
        for name, request in calls.items():
            error = self.assertCode(
                "UNIMPLEMENTED",
                lambda n=name, r=request: getattr(self.stub, n)(r))
            self.assertTrue(error.details(), name)

    # --- inference ---

    def test_rows_come_back_with_the_id(self):
        values = np.random.rand(5, 16).astype(np.float32)
        result = self.client.infer("echo", [make_input("input", values)],
                                   request_id="seven")
        np.testing.assert_array_equal(result.as_numpy("output"), values)
        self.assertEqual(result.get_response().id, "seven")
        self.assertEqual(result.get_response().model_name, "echo")
        self.assertEqual(result.get_response().model_version, "1")

    def test_reply_that_references_the_batch(self):
        values = np.random.rand(64, 1000).astype(np.float32)
        result = self.client.infer("large", [make_input("input", values)])
        np.testing.assert_array_equal(result.as_numpy("output"), values)

    def test_more_rows_than_a_batch_holds_come_back_whole(self):
        before = self.client.get_inference_statistics("echo").model_stats[0]
        for data_type in ("raw", "typed"):
            values = np.random.rand(333, 16).astype(np.float32)
            tensor = make_input("input", values)
            if data_type == "typed":
                tensor = pb.ModelInferRequest.InferInputTensor(
                    name="input", datatype="FP32", shape=[333, 16])
                tensor.contents.fp32_contents.extend(values.ravel())
                answer = self.stub.ModelInfer(pb.ModelInferRequest(
                    model_name="echo", inputs=[tensor]))
                got = np.frombuffer(answer.raw_output_contents[0], np.float32)
                got = got.reshape(list(answer.outputs[0].shape))
            else:
                got = self.client.infer("echo", [tensor]).as_numpy("output")
            np.testing.assert_array_equal(got, values)
        after = self.client.get_inference_statistics("echo").model_stats[0]
        self.assertEqual(after.inference_count - before.inference_count, 666)
        self.assertEqual(after.inference_stats.success.count -
                         before.inference_stats.success.count, 2)
        self.assertEqual(after.execution_count - before.execution_count, 12)

    def test_model_without_a_batch_dimension(self):
        values = np.random.rand(2, 3).astype(np.float32)
        result = self.client.infer("whole", [make_input("input", values)])
        np.testing.assert_array_equal(result.as_numpy("output"), values)

    def test_shapes_that_differ_do_not_share_a_batch(self):
        def ask(size):
            values = np.random.rand(2, size).astype(np.float32)
            result = self.client.infer("any_shape",
                                       [make_input("input", values)])
            np.testing.assert_array_equal(result.as_numpy("output"), values)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(ask, [1 + i % 5 for i in range(64)]))

    def types_request(self):
        request = pb.ModelInferRequest(model_name="types")
        for name in TYPES:
            request.inputs.add(name=f"in_{name}", datatype=name, shape=[1, 3])
        return request

    def test_every_type_raw(self):
        request = self.types_request()
        for name in TYPES:
            values = (np.array([0x3F80, 0, 0xC000], np.uint16)
                      if name == "BF16" else
                      np.array([1, 0, 1]).astype(NUMPY[name]))
            request.raw_input_contents.append(values.tobytes())
        reply = self.stub.ModelInfer(request)
        self.assertEqual(list(reply.raw_output_contents),
                         list(request.raw_input_contents))
        self.assertEqual([o.datatype for o in reply.outputs], TYPES)

    def test_typed_contents(self):
        request = pb.ModelInferRequest(model_name="echo")
        tensor = request.inputs.add(name="input", datatype="FP32",
                                    shape=[2, 16])
        tensor.contents.fp32_contents.extend(range(32))
        reply = self.stub.ModelInfer(request)
        np.testing.assert_array_equal(
            np.frombuffer(reply.raw_output_contents[0], np.float32),
            np.arange(32, dtype=np.float32))

    def test_only_the_requested_output(self):
        request = self.types_request()
        for name in TYPES:
            size = 2 if name == "BF16" else np.dtype(NUMPY[name]).itemsize
            request.raw_input_contents.append(bytes(3 * size))
        for name in ("INT8", "FP64"):
            request.outputs.add(name=f"out_{name}")
        reply = self.stub.ModelInfer(request)
        self.assertEqual([o.name for o in reply.outputs],
                         ["out_INT8", "out_FP64"])
        self.assertEqual([len(r) for r in reply.raw_output_contents], [3, 24])

    def test_64_clients_each_get_their_own_rows(self):
        def client(index):
            random = np.random.default_rng(index)
            with triton.InferenceServerClient(server.address) as own:
                for turn in range(8):
                    rows = int(random.integers(1, 5))
                    values = np.full((rows, 16), index * 1000 + turn,
                                     np.float32)
                    values[:, 0] = np.arange(rows)
                    result = own.infer("sim", [make_input("input", values)],
                                       request_id=f"{index}-{turn}")
                    np.testing.assert_array_equal(result.as_numpy("output"),
                                                  values)
                    self.assertEqual(result.get_response().id,
                                     f"{index}-{turn}")
            return 8
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            self.assertEqual(sum(pool.map(client, range(64))), 512)
        stats = self.client.get_inference_statistics("sim").model_stats[0]
        self.assertLess(stats.execution_count, stats.inference_count / 2,
                        "no batches were formed")

    def test_classification(self):
        values = np.array([[1, 5, 3] + [0] * 13, [0] * 15 + [2]], np.float32)
        wanted = [triton.InferRequestedOutput("output", class_count=2)]
        got = self.client.infer("echo", [make_input("input", values)],
                                outputs=wanted).as_numpy("output")
        self.assertEqual(got.tolist(), [[b"5.000000:1", b"3.000000:2"],
                                        [b"2.000000:15", b"0.000000:0"]])
        got = self.client.infer("labeled", [make_input("input", values[:, :3])],
                                outputs=wanted).as_numpy("output")
        self.assertEqual(got[0].tolist(), [b"5.000000:1:dog", b"3.000000:2"])

    # --- settings ---

    def test_settings_can_be_read_and_not_changed(self):
        trace = self.client.get_trace_settings()
        self.assertEqual(list(trace.settings["trace_level"].value), ["OFF"])
        self.client.get_trace_settings("echo")
        self.assertCode("NOT_FOUND",
                        lambda: self.client.get_trace_settings("none"))
        self.assertCode(
            "UNIMPLEMENTED", lambda: self.client.update_trace_settings(
                settings={"trace_level": "TIMESTAMPS"}), "trace_level")
        log = self.client.get_log_settings()
        self.assertTrue(log.settings["log_info"].bool_param)
        self.assertEqual(log.settings["log_verbose_level"].uint32_param, 0)
        self.assertCode(
            "UNIMPLEMENTED", lambda: self.client.update_log_settings(
                {"log_info": False}), "--log-level")

    # --- errors ---

    def test_wrong_requests_are_refused(self):
        right = np.zeros((1, 16), np.float32)
        cases = [
            ("NOT_FOUND", "none", make_input("input", right), "'none'"),
            ("INVALID_ARGUMENT", "echo", make_input("wrong", right),
             "unexpected inference input 'wrong'"),
            ("INVALID_ARGUMENT", "echo",
             make_input("input", np.zeros((1, 15), np.float32)),
             "Expected [-1,16], got [1,15]"),
            ("INVALID_ARGUMENT", "echo",
             make_input("input", np.zeros((1, 16), np.int32), "INT32"),
             "data-type is 'INT32'"),
        ]
        for code, model, tensor, text in cases:
            error = self.assertCode(
                code, lambda m=model, t=tensor: self.client.infer(
                    m, [t], request_id="r1"), text)
            self.assertTrue(error.message().startswith("[request id: r1] "))

    def test_bytes_that_are_no_request_are_refused(self):
        send = self.channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer")
        for text in (b"\xff", b"\x0a\x7f", b"\x3a\x85\x80\x80\x80\x08ab", b""):
            code = "NOT_FOUND" if text == b"" else "INVALID_ARGUMENT"
            self.assertCode(code, lambda t=text: send(t))

    def test_message_past_the_bound_is_refused(self):
        send = self.channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer")
        self.assertCode("RESOURCE_EXHAUSTED",
                        lambda: send(bytes((64 << 20) + 1)))
        # One byte less is read, and is no request.
        self.assertCode("INVALID_ARGUMENT", lambda: send(bytes(64 << 20)))
        stream = self.channel.stream_stream(
            "/inference.GRPCInferenceService/ModelStreamInfer")
        self.assertCode("RESOURCE_EXHAUSTED", lambda: list(
            stream(iter([bytes((64 << 20) + 1)]))))

    def test_compressed_messages_are_refused(self):
        values = np.zeros((1, 16), np.float32)
        for algorithm in ("gzip", "deflate"):
            self.assertCode(
                "UNIMPLEMENTED", lambda a=algorithm: self.client.infer(
                    "echo", [make_input("input", values)],
                    compression_algorithm=a))

    def test_failing_batch_fails_only_its_requests(self):
        values = np.ones((1, 16), np.float32)
        for model in ("failing", "throwing"):
            codes = []
            for _ in range(6):
                try:
                    self.client.infer(model, [make_input("input", values)])
                    codes.append("OK")
                except InferenceServerException as error:
                    codes.append(error.status())
            self.assertEqual(codes.count("OK"), 3, codes)
            self.assertEqual(codes.count("StatusCode.INTERNAL"), 3, codes)

    def test_unknown_service_and_method(self):
        for path in ("/inference.GRPCInferenceService/NoSuch", "/a.B/C",
                     "/grpc.reflection.v1alpha.ServerReflection/"
                     "ServerReflectionInfo"):
            send = self.channel.unary_unary(path)
            self.assertCode("UNIMPLEMENTED", lambda s=send: s(b""))

    # --- other services ---

    def test_http(self):
        self.assertEqual(server.get("/v2/health/live")[0], 200)
        self.assertEqual(server.get("/v2/health/ready")[0], 200)
        self.assertEqual(server.get("/other")[0], 404)
        self.assertEqual(server.get("/metrics", "POST")[0], 405)

    def test_requests_refused_at_the_door_have_failed(self):
        def failed():
            return self.client.get_inference_statistics(
                "echo").model_stats[0].inference_stats.fail

        before = failed()
        for name, values in (("none", np.ones((1, 16), np.float32)),
                             ("input", np.ones((1, 15), np.float32))):
            with self.assertRaises(InferenceServerException):
                self.client.infer("echo", [make_input(name, values)])
        self.assertEqual(failed().count, before.count + 2)
        self.assertEqual(failed().ns, before.ns)
        with self.assertRaises(InferenceServerException):
            self.client.infer("absent", [make_input("input", values)])
        self.assertEqual(failed().count, before.count + 2)

    def test_metrics_agree_with_statistics(self):
        values = np.ones((2, 16), np.float32)
        for _ in range(3):
            self.client.infer("echo", [make_input("input", values)])
        stats = self.client.get_inference_statistics("echo").model_stats[0]
        self.assertEqual(server.metric("ferry_rows_total", model="echo"),
                         stats.inference_count)
        self.assertEqual(
            server.metric("ferry_requests_total", model="echo", code="OK"),
            stats.inference_stats.success.count)
        self.assertEqual(
            server.metric("ferry_batch_rows_count", model="echo"),
            stats.execution_count)
        self.assertEqual(server.metric("ferry_ready"), 1)
        self.assertEqual(server.metric("ferry_simulated", model="sim"), 1)
        self.assertGreater(server.metric("process_resident_memory_bytes"), 1e6)


if __name__ == "__main__":
    unittest.main()
