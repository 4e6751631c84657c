"""What one client's connections and headers do to other clients."""

import resource
import socket
import tempfile
import unittest

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import http2_frames
import trust
from ending_test import Client, code_of, one_row
from ferry_process import FerryProcess, free_port, wait_until

TIMEOUT_S = 30
LONG_S = 200
HANDSHAKE_S = 60  # three times what a server gives one
# A field of 4 kB that enters the table, and 300 that are one byte each: together
# more than the 1 MiB of metadata, in a block that is small.
PAST_THE_BOUND = (b"\x40" + http2_frames.literal("y") +
                  http2_frames.literal("z" * 4000) + b"\xbe" * 300)
# gRPC 1.51 takes these for wrong, or does not know what they are here.
ODD_HEADERS = (("te", "x"), (":scheme", "x"), ("grpclb_client_stats", "x"),
               ("grpc-timeout", "x"), ("grpc-encoding", "x"))
SERVING = b"\x08\x01"
NOT_SERVING = b"\x08\x02"


class FewFilesTest(unittest.TestCase):

    def flood(self, server, count):
        """Opens connections, and says nothing on them."""
        connections = []
        for _ in range(count):
            connections.append(socket.create_connection(
                ("127.0.0.1", server.port), timeout=TIMEOUT_S))
        return connections

    def test_flood_is_told_by_health_and_over_when_it_ends(self):
        with FerryProcess(models=["echo"], open_files=64) as server, \
                Client(server) as client:
            watch = client.channel.unary_stream(
                "/grpc.health.v1.Health/Watch")(b"", timeout=TIMEOUT_S)
            self.assertEqual(next(watch), SERVING)
            flood = self.flood(server, 80)
            self.assertEqual(next(watch), NOT_SERVING)
            # Others than gRPC's clients still find a file.
            self.assertEqual(server.get("/v2/health/ready")[0], 503)
            self.assertEqual(server.get("/v2/health/live")[0], 200)
            self.assertEqual(server.metric("ferry_ready"), 0)
            self.assertGreater(server.metric("ferry_connections_refused_total",
                                             reason="files"), 0)
            # Those that are connected are served, others refused at once.
            self.assertEqual(code_of(client.start(one_row("echo"))), "OK")
            with Client(server) as late:
                self.assertEqual(code_of(late.start(one_row("echo"))),
                                 "UNAVAILABLE")
            for connection in flood:
                connection.close()
            self.assertEqual(next(watch), SERVING)
            with Client(server) as late:
                self.assertEqual(code_of(late.start(one_row("echo"))), "OK")
            self.assertEqual(sum("takes no connections and is not ready" in line
                                 for line in server.log), 1, server.log)
            self.assertTrue(wait_until(
                lambda: server.get("/v2/health/ready")[0] == 200))

    def test_connection_waits_where_the_process_has_no_file_at_all(self):
        with FerryProcess(models=["echo"]) as server, Client(server) as client, \
                Client(server) as late:
            self.assertEqual(code_of(client.start(one_row("echo"))), "OK")
            pid = server.process.pid
            limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[1]))
            waits = late.start(one_row("echo"), timeout=TIMEOUT_S)
            self.assertEqual(code_of(client.start(one_row("echo"))), "OK")
            with self.assertRaises(grpc.FutureTimeoutError):
                waits.result(timeout=1)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
            self.assertEqual(code_of(waits), "OK")
            self.assertGreater(server.metric("ferry_accept_failures_total"), 0)

    def test_server_is_served_after_flood_upon_flood(self):
        with FerryProcess(models=["echo"], open_files=64) as server:
            for _ in range(5):
                for connection in self.flood(server, 80):
                    connection.close()
            self.assertTrue(wait_until(
                lambda: server.get("/v2/health/ready")[0] == 200))
            with Client(server) as client:
                self.assertEqual(code_of(client.start(one_row("echo"))), "OK")

    def test_clients_that_have_all_files_leave_some_to_the_admin_port(self):
        admin = f"127.0.0.1:{free_port()}"
        with FerryProcess(f"--admin-address={admin}", models=["echo"],
                          open_files=64) as server:
            flood = self.flood(server, 80)
            self.assertTrue(wait_until(
                lambda: server.get("/v2/health/ready")[0] == 503))
            with grpc.insecure_channel(admin) as channel:
                index = service_pb2_grpc.GRPCInferenceServiceStub(
                    channel).RepositoryIndex(pb.RepositoryIndexRequest(),
                                             timeout=TIMEOUT_S)
            self.assertEqual([model.name for model in index.models], ["echo"])
            for connection in flood:
                connection.close()

    def test_limit_is_raised_to_what_the_process_may_have(self):
        with FerryProcess(models=["echo"], open_files=(64, 512)) as server:
            flood = self.flood(server, 200)
            with Client(server) as client:
                self.assertEqual(code_of(client.start(one_row("echo"))), "OK")
            for connection in flood:
                connection.close()
            self.assertNotIn("takes no connections", "".join(server.log))


class SharedConnectionTest(unittest.TestCase):

    def assert_neighbour_is_served(self, server, headers):
        """On one connection, as a proxy's: one call is under way when another
        comes with these headers."""
        with http2_frames.Connection(server.address) as proxy:
            # The bounds that a server tells are in force once they are known.
            proxy.read_until(
                lambda frame: frame.type == http2_frames.SETTINGS and frame.body)
            proxy.ask(1, one_row("slow", "neighbour"))
            proxy.ask(3, one_row("slow", "many headers"), more=headers)
            frames = proxy.read_until(
                lambda frame: frame.stream == 1 and
                frame.flags & http2_frames.END_STREAM)
            answer = b"".join(frame.body for frame in frames
                              if frame.type == http2_frames.DATA and
                              frame.stream == 1)
            self.assertEqual(pb.ModelInferResponse.FromString(answer[5:]).id,
                             "neighbour")
            proxy.ask(5, one_row("slow", "later"))
            proxy.read_until(lambda frame: frame.stream == 5 and
                             frame.type == http2_frames.DATA)

    def test_headers_of_one_call_end_no_other(self):
        with FerryProcess(models=["slow"]) as server:
            for count, size in ((100, 130), (1, 20_000), (100, 600),
                                (1000, 130), (8, 65_000), (16, 65_000)):
                with self.subTest(count=count, size=size):
                    self.assert_neighbour_is_served(
                        server, [(f"x-{i}", "v" * size)
                                 for i in range(count)])

    def test_calls_with_much_metadata_are_refused_alone(self):
        """It would be kept for as long as they wait."""
        much = [("x", "v" * 70_000)]
        with FerryProcess(models=["echo"]) as server, Client(server) as client:
            stub = client.stub
            for ask in (
                    lambda: stub.ModelInfer(one_row("echo"), metadata=much,
                                            timeout=TIMEOUT_S),
                    lambda: list(stub.ModelStreamInfer(
                        iter([one_row("echo")]), metadata=much,
                        timeout=TIMEOUT_S))):
                with self.assertRaises(grpc.RpcError) as refused:
                    ask()
                self.assertEqual(refused.exception.code(),
                                 grpc.StatusCode.RESOURCE_EXHAUSTED)
                self.assertIn("metadata: expected at most 65536 bytes",
                              refused.exception.details())
            less = [("x", "v" * 60_000)]
            self.assertTrue(stub.ModelInfer(one_row("echo"), metadata=less,
                                            timeout=TIMEOUT_S).raw_output_contents)

    def send_odd(self, server, more=(), tail=b""):
        """Sends a call behind another on its connection; returns whether that
        other is answered. A client beside it is served in each case."""
        with http2_frames.Connection(server.address) as proxy:
            proxy.read_until(
                lambda frame: frame.type == http2_frames.SETTINGS and frame.body)
            proxy.ask(1, one_row("slow", "neighbour"))
            proxy.ask(3, one_row("slow", "odd"), more=more, tail=tail)
            try:
                proxy.read_until(lambda frame: frame.stream == 1 and
                                 frame.type == http2_frames.DATA)
                is_answered = True
            except ConnectionError:
                is_answered = False
        with Client(server) as other:
            self.assertEqual(code_of(other.start(one_row("slow"))), "OK")
        self.assertIsNone(server.process.poll())
        return is_answered

    def test_odd_headers_end_no_server_and_no_neighbour(self):
        with FerryProcess(models=["slow"]) as server:
            for header in ODD_HEADERS:
                with self.subTest(header):
                    self.assertTrue(self.send_odd(server, [header]))
                    # Where the bound is passed gRPC writes of all that came.
                    self.assertFalse(self.send_odd(server, [header],
                                                   PAST_THE_BOUND))

    def test_headers_past_the_bound_end_their_connection(self):
        """Its table of headers would be another one than its client's."""
        with FerryProcess(models=["slow"]) as server:
            self.assertFalse(self.send_odd(server, tail=PAST_THE_BOUND))

    def test_pings_without_a_call_end_their_connection(self):
        """gRPC bears two more than it allows."""
        with FerryProcess(models=["echo"]) as server, \
                http2_frames.Connection(server.address) as client:
            for number in range(4):
                client.send(http2_frames.PING, body=number.to_bytes(8, "big"))
            self.assertIn(b"too_many_pings", b"".join(
                frame.body for frame in client.read_all()
                if frame.type == http2_frames.GOAWAY))

    def test_binary_header_that_is_none_ends_its_connection_alone(self):
        """A weakness of gRPC 1.51, which docs/security.md tells: calls of others
        that a proxy sends on that connection end, too."""
        with FerryProcess(models=["slow"]) as server:
            self.assertFalse(self.send_odd(server, [("x-bin", "???")]))


class LostConnectionTest(unittest.TestCase):

    def test_connection_without_a_handshake_ends(self):
        """Of HTTP/2 or of TLS: none comes, or half of it. It takes 20 s, and gRPC by
        itself two minutes."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        key, certificate = trust.Authority(folder).sign("server")
        silent = []
        for half, flags in (
                (http2_frames.PREFACE[:10], []),
                (b"\x16\x03\x01", [f"--tls-cert={certificate}", f"--tls-key={key}"])):
            server = self.enterContext(FerryProcess(*flags, models=["echo"]))
            for said in (b"", half):
                silent.append(self.enterContext(socket.create_connection(
                    ("127.0.0.1", server.port), timeout=HANDSHAKE_S)))
                silent[-1].sendall(said)
        for connection in silent:
            while connection.recv(1000):
                pass

    def test_connection_ends_once_a_ping_has_no_answer(self):
        """So a connection looks to its server that the network has cut: nothing
        comes, and no end of it. gRPC's own client answers. It takes 80 s."""
        ping = bytes([0, 0, 8, http2_frames.PING, 0])
        with FerryProcess(models=["echo"]) as server, Client(server) as other, \
                http2_frames.Connection(server.address) as lost:
            self.assertEqual(code_of(other.start(one_row("echo"))), "OK")
            lost.peer.settimeout(LONG_S)
            said = b""
            while ping not in said:
                more = lost.peer.recv(1000)
                self.assertTrue(more, "the connection ended without a ping")
                said += more
            self.assertEqual(server.metric("ferry_connections"), 2)
            lost.stream.read()  # until the server ends it
            self.assertTrue(wait_until(
                lambda: server.metric("ferry_connections") == 1))
            self.assertEqual(code_of(other.start(one_row("echo"))), "OK")
            self.assertEqual(
                server.metric("ferry_connections_accepted_total"), 2)


if __name__ == "__main__":
    unittest.main()
