"""grpc.health.v1, as probes and balancers use it: the server, the inference
service and each model by its name; watches hear of every change."""

import json
import unittest

import grpc
import tritonclient.grpc as triton

from ferry_process import FerryProcess, wait_until

SERVICE = "inference.GRPCInferenceService"
SERVING, NOT_SERVING, SERVICE_UNKNOWN = 1, 2, 3
TIMEOUT_S = 30


def request_of(service):
    """Returns HealthCheckRequest{service}: so short that its length is a byte."""
    name = service.encode()
    return b"\x0a" + bytes([len(name)]) + name if name else b""


def status_of(response):
    """Reads HealthCheckResponse{status}."""
    assert len(response) == 2 and response[0] == 8, response
    return response[1]


class HealthTest(unittest.TestCase):

    def test_http_says_what_is_served(self):
        self.start(models=("echo",))
        code, text = self.server.get("/v2/models/echo")
        self.assertEqual((code, json.loads(text)), (200, {
            "name": "echo", "versions": ["1"], "platform": "ferry_echo",
            "inputs": [{"name": "input", "datatype": "FP32",
                        "shape": [-1, 16]}],
            "outputs": [{"name": "output", "datatype": "FP32",
                         "shape": [-1, 16]}]}))
        self.assertEqual(json.loads(self.server.get("/v2")[1])["name"], "ferry")
        for path, code in (("echo/ready", 200), ("echo/versions/1/ready", 200),
                           ("echo/versions/2/ready", 503), ("none/ready", 503),
                           ("echo/versions/1", 200), ("none", 404),
                           ("echo/none", 404), ("", 404)):
            with self.subTest(path=path):
                self.assertEqual(self.server.get(f"/v2/models/{path}")[0], code)

    def start(self, *flags, models=("echo", "sim")):
        self.server = FerryProcess(*flags, models=models)
        self.addCleanup(self.server.stop)
        self.client = triton.InferenceServerClient(self.server.address)
        self.addCleanup(self.client.close)
        self.channel = grpc.insecure_channel(self.server.address)
        self.addCleanup(self.channel.close)

    def check(self, service):
        """Returns a status, or the code of the refusal."""
        ask = self.channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            return status_of(ask(request_of(service), timeout=TIMEOUT_S))
        except grpc.RpcError as error:
            return error.code().name

    def watch(self, service):
        watch = self.channel.unary_stream("/grpc.health.v1.Health/Watch")
        return watch(request_of(service), timeout=TIMEOUT_S)

    def next_of(self, watch):
        return status_of(next(watch))

    def test_check(self):
        self.start()
        for service in ("", SERVICE, "echo", "sim"):
            self.assertEqual(self.check(service), SERVING, service)
        for service in ("none", "grpc.health.v1.Health", "echo/1"):
            self.assertEqual(self.check(service), "NOT_FOUND", service)

    def test_check_follows_a_model(self):
        self.start("--model-control-mode=explicit", "--load-model=sim")
        self.assertEqual(self.check("echo"), "NOT_FOUND")
        self.client.load_model("echo")
        self.assertEqual(self.check("echo"), SERVING)
        self.client.unload_model("echo")
        self.assertEqual(self.check("echo"), NOT_SERVING)
        self.assertEqual(self.check("sim"), SERVING)
        self.assertEqual(self.check(""), SERVING)

    def test_watch_follows_a_model(self):
        self.start("--model-control-mode=explicit", "--load-model=sim")
        echo, sim = self.watch("echo"), self.watch("sim")
        self.assertEqual(self.next_of(echo), SERVICE_UNKNOWN)
        self.assertEqual(self.next_of(sim), SERVING)
        for _ in range(3):
            self.client.load_model("echo")
            # A model that is being loaded is known and not serving.
            while (status := self.next_of(echo)) != SERVING:
                self.assertEqual(status, NOT_SERVING)
            self.client.unload_model("echo")
            self.assertEqual(self.next_of(echo), NOT_SERVING)
        sim.cancel()
        echo.cancel()
        self.assertEqual(self.check("sim"), SERVING)

    def test_watches_of_what_no_model_can_be_called_end(self):
        self.start()
        for name, metadata, code in (
                ("n" * 65, (), "INVALID_ARGUMENT"),
                ("", [("x", "v" * 9000)], "RESOURCE_EXHAUSTED")):
            watch = self.channel.unary_stream("/grpc.health.v1.Health/Watch")(
                request_of(name), timeout=TIMEOUT_S, metadata=metadata)
            with self.assertRaises(grpc.RpcError) as refused:
                next(watch)
            self.assertEqual(refused.exception.code().name, code)
        self.assertEqual(self.next_of(self.watch("n" * 64)), SERVICE_UNKNOWN)

    def test_drain_is_told_to_checks_and_watches(self):
        self.start("--drain-delay-secs=2")
        watches = [self.watch(name) for name in ("", SERVICE, "echo")]
        for watch in watches:
            self.assertEqual(self.next_of(watch), SERVING)
        self.server.signal()
        for watch in watches:
            self.assertEqual(self.next_of(watch), NOT_SERVING)
        for service in ("", SERVICE, "echo"):
            self.assertEqual(self.check(service), NOT_SERVING)
        for watch in watches:
            with self.assertRaises(grpc.RpcError) as caught:
                self.next_of(watch)
            self.assertEqual(caught.exception.code(),
                             grpc.StatusCode.UNAVAILABLE)

    def test_many_watches_that_come_and_go(self):
        self.start("--model-control-mode=explicit")
        gone = [self.watch("echo") for _ in range(50)]
        stay = [self.watch("echo") for _ in range(50)]
        for watch in gone + stay:
            self.assertEqual(self.next_of(watch), SERVICE_UNKNOWN)
        for watch in gone:
            watch.cancel()
        self.client.load_model("echo")
        for watch in stay:
            while self.next_of(watch) != SERVING:
                pass
        self.assertTrue(wait_until(lambda: self.check("") == SERVING))


if __name__ == "__main__":
    unittest.main()
