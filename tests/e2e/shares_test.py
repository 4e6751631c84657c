"""What one client may have under way: its bounds, its share of a model that others
want, and connections, of a peer and for how long."""

import contextlib
import os
import socket
import ssl
import tempfile
import time
import unittest

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import http2_frames
import trust
from ending_test import one_row
from ferry_process import FerryProcess, free_port, run, wait_until

CALL_S = 60
TOKENS = {name: f"{name}-5ca1ab1e-token" for name in ("greedy", "honest")}
MODEL = "batches"  # of 8 rows, on one instance
SLOW = "slow"  # 150 ms a row


def pushback_ms(error):
    return next((int(value) for key, value in error.trailing_metadata()
                 if key == "grpc-retry-pushback-ms"), None)


class ClientCase(unittest.TestCase):

    def setUp(self):
        folder = self.enterContext(
            tempfile.TemporaryDirectory(prefix="ferry-trust-"))
        self.token_file = os.path.join(folder, "tokens")
        trust.write(self.token_file, "".join(
            trust.token_line(name, "infer,read", token)
            for name, token in TOKENS.items()))

    def start(self, *flags):
        server = self.enterContext(FerryProcess(
            f"--auth-token-file={self.token_file}", *flags, models=[MODEL, SLOW]))
        channel = self.enterContext(grpc.insecure_channel(server.address))
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        return server

    def ask(self, client, model=MODEL):
        """Returns a call under way."""
        return self.stub.ModelInfer.future(
            one_row(model), timeout=CALL_S,
            metadata=trust.bearer(TOKENS[client]))

    def metric(self, server, name, **labels):
        page = server.get("/metrics", headers={
            "Authorization": f"Bearer {TOKENS['honest']}"})[1]
        text = ",".join(f'{key}="{value}"' for key, value in labels.items())
        for line in page.splitlines():
            if line.startswith(f"{name}{{{text}}} "):
                return float(line.rsplit(" ", 1)[1])
        return None

    def refusals(self, calls):
        """Returns the errors of the calls that were not answered."""
        errors = []
        for call in calls:
            try:
                call.result()
            except grpc.RpcError as error:
                errors.append(error)
        return errors


class ShareTest(ClientCase):

    def test_flood_of_one_client_refuses_no_other(self):
        server = self.start()
        flood = []
        for _ in range(50):  # more than a batch of 8 in 30 ms
            flood += [self.ask("greedy") for _ in range(40)]
            self.ask("honest").result()  # OK
        errors = self.refusals(flood)
        self.assertGreater(len(errors), 0)
        for error in errors:
            self.assertEqual(error.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
            self.assertIn("has its share of the model", error.details())
            self.assertGreater(pushback_ms(error), 0)
        self.assertEqual(self.metric(server, "ferry_client_refused_total",
                                     client="greedy", reason="share"), len(errors))
        self.assertEqual(self.metric(server, "ferry_client_refused_total",
                                     client="honest", reason="share"), 0)
        self.assertEqual(self.metric(server, "ferry_refused_total", model=MODEL,
                                     version="1", reason="client_share"), len(errors))

    def test_client_that_asks_alone_has_the_whole_queue(self):
        self.start()
        self.assertEqual(self.refusals(self.ask("greedy") for _ in range(200)), [])


class BoundsTest(ClientCase):

    def test_requests_of_a_client(self):
        server = self.start("--client-max-requests=3")
        errors = self.refusals([self.ask("greedy", SLOW) for _ in range(20)])
        self.assertGreater(len(errors), 0)
        for error in errors:
            self.assertEqual(error.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
            self.assertIn("--client-max-requests", error.details())
            self.assertGreater(pushback_ms(error), 0)
        self.assertEqual(self.metric(server, "ferry_client_refused_total",
                                     client="greedy", reason="requests"), len(errors))
        # A reply leaves before its request is no more under way.
        self.assertTrue(wait_until(lambda: self.metric(
            server, "ferry_client_requests", client="greedy") == 0))

    def test_requests_of_a_stream_count_each(self):
        self.start("--client-max-requests=3")
        answers = list(self.stub.ModelStreamInfer(
            iter([one_row(SLOW)] * 20), timeout=CALL_S,
            metadata=trust.bearer(TOKENS["greedy"])))
        self.assertEqual(len(answers), 20)
        refused = [answer for answer in answers if answer.error_message]
        self.assertGreater(len(refused), 0)
        self.assertLess(len(refused), 20)
        for answer in refused:
            self.assertIn("--client-max-requests", answer.error_message)

    def test_bytes_of_a_client(self):
        self.start("--client-max-bytes=200")
        errors = self.refusals([self.ask("greedy", SLOW) for _ in range(20)])
        self.assertGreater(len(errors), 0)
        self.assertLess(len(errors), 20)
        for error in errors:
            self.assertIn("--client-max-bytes", error.details())

    def test_bounds_need_tokens(self):
        ended = run("--client-max-requests=3")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("expected --auth-token-file beside them",
                      ended.stderr + ended.stdout)


class ConnectionsTest(unittest.TestCase):

    def start(self, *flags, models=("echo",)):
        return self.enterContext(FerryProcess(*flags, models=models))

    def connect(self, server, address=None):
        """Returns a connection of HTTP/2 that the server has taken; None: it was
        refused."""
        connection = None
        try:
            connection = http2_frames.Connection(address or server.address)
            connection.read_until(
                lambda frame: frame.type == http2_frames.SETTINGS)
        except OSError:
            if connection is not None:
                connection.close()
            return None
        return connection

    def check_bound(self, server, most):
        for _ in range(3):
            with contextlib.ExitStack() as stack:
                taken = [stack.enter_context(self.connect(server))
                         for _ in range(most)]
                self.assertEqual(len(taken), most)
                self.assertIsNone(self.connect(server))
                self.assertTrue(wait_until(lambda: server.metric(
                    "ferry_connections_refused_total") > 0))
            # They go when gRPC has seen it.
            self.assertTrue(wait_until(
                lambda: server.metric("ferry_connections") == 0))
        with grpc.insecure_channel(server.address) as channel:
            service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(
                one_row("echo"), timeout=CALL_S)
        self.assertTrue(wait_until(lambda: any(
            "past --grpc-max-connections" in line for line in server.log)))

    def test_connections_of_a_peer(self):
        self.check_bound(self.start("--grpc-max-connections-per-peer=3"), 3)

    def test_bounds_are_those_of_the_port_for_clients(self):
        admin = f"127.0.0.1:{free_port()}"
        server = self.start("--grpc-max-connections=2", f"--admin-address={admin}")
        with contextlib.ExitStack() as stack:
            for address in (admin, server.address) * 2 + (admin,):
                self.assertIsNotNone(
                    stack.enter_context(self.connect(server, address)))
            self.assertIsNone(self.connect(server))
            self.assertEqual(server.metric("ferry_connections"), 5)
            # What is counted was taken or closed before.
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_connections_accepted_total") == 5))
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_connections_refused_total", reason="bounds") == 1))

    def test_connections_in_all(self):
        self.check_bound(self.start("--grpc-max-connections=2"), 2)

    def test_connections_with_tls_that_end_in_any_way_make_room(self):
        with tempfile.TemporaryDirectory(prefix="ferry-trust-") as folder:
            authority = trust.Authority(folder)
            key, certificate = authority.sign("server")
            server = self.start(f"--tls-key={key}", f"--tls-cert={certificate}",
                                "--grpc-max-connections-per-peer=2")
            server.tls = ssl.create_default_context(cafile=authority.certificate)
            for i in range(12):
                plain = socket.create_connection(("127.0.0.1", server.port))
                if i % 3 == 0:
                    with server.tls.wrap_socket(plain, server_hostname="localhost"):
                        pass
                elif i % 3 == 1:
                    with plain:
                        plain.sendall(b"no hello of TLS\r\n\r\n" * 10)
                        plain.settimeout(CALL_S)
                        with contextlib.suppress(ConnectionError):
                            while plain.recv(1000):
                                pass
                else:
                    plain.close()
                self.assertTrue(wait_until(
                    lambda: server.metric("ferry_connections") == 0))
            with grpc.secure_channel(server.address.replace("127.0.0.1", "localhost"),
                                     trust.credentials(authority)) as channel:
                service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(
                    one_row("echo"), timeout=CALL_S)

    def test_idle_connection_is_told_to_go(self):
        server = self.start("--grpc-max-connection-idle-secs=1")
        with self.connect(server) as connection:
            frames = connection.read_all()  # until the server ends it
        self.assertIn(http2_frames.GOAWAY, [frame.type for frame in frames])
        with grpc.insecure_channel(server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            # gRPC ends a connection between one and two idle times after its last
            # call; a call at the very moment fails.
            for pause_s in (0, 2.5, 2.5):
                time.sleep(pause_s)  # a connection anew
                stub.ModelInfer(one_row("echo"), timeout=CALL_S)

    def test_old_connections_end_and_no_call_fails(self):
        server = self.start("--grpc-max-connection-age-secs=0.3")
        with grpc.insecure_channel(server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            until = time.monotonic() + 3
            while time.monotonic() < until:
                stub.ModelInfer(one_row("echo"), timeout=CALL_S)
        self.assertGreater(server.metric("ferry_connections_accepted_total"), 3)

    def test_calls_of_an_old_connection_have_their_grace_and_no_more(self):
        server = self.start("--grpc-max-connection-age-secs=0.3",
                            "--grpc-max-connection-age-grace-secs=3",
                            "--exit-timeout-secs=1",
                            models=["slower", "endless"])
        with grpc.insecure_channel(server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            endless = stub.ModelInfer.future(one_row("endless"), timeout=10 * CALL_S)
            stub.ModelInfer(one_row("slower"), timeout=CALL_S)  # 600 ms
            self.assertEqual(endless.exception().code(),
                             grpc.StatusCode.UNAVAILABLE)


if __name__ == "__main__":
    unittest.main()
