"""How requests and the process end: deadlines, cancels, overload, drain."""

import collections
import concurrent.futures
import queue
import signal
import threading
import unittest
from unittest import mock

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import ferry_process
import http2_frames
from ferry_process import FerryProcess, wait_until


def one_row(model, request_id="", timeout_us=None):
    request = pb.ModelInferRequest(model_name=model, id=request_id)
    request.inputs.add(name="input", datatype="FP32", shape=[1, 16])
    request.raw_input_contents.append(bytes(64))
    if timeout_us is not None:
        request.parameters["timeout"].int64_param = timeout_us
    return request


def stream_that_waits(test, stub, model):
    """Returns the requests and replies of a stream that has had one answer. None
    ends the requests."""
    requests = queue.Queue()
    replies = stub.ModelStreamInfer(iter(requests.get, None))
    requests.put(one_row(model))
    test.assertEqual(next(replies).error_message, "")
    return requests, replies


class Client:
    """A channel of its own to a server."""

    def __init__(self, server):
        self.channel = grpc.insecure_channel(
            server.address, options=[("grpc.use_local_subchannel_pool", 1),
                                     ("grpc.enable_retries", 0)])
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def start(self, request, **options):
        return self.stub.ModelInfer.future(request, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()


def code_of(call):
    try:
        call.result(timeout=30)
        return "OK"
    except grpc.RpcError as error:
        return error.code().name
    except grpc.FutureCancelledError:
        return "CANCELLED"


def start_first(server, client, request):
    """Starts a request and waits until it keeps the device busy."""
    call = client.start(request)
    assert wait_until(lambda: server.metric(
        "ferry_running_batches", model=request.model_name) == 1)
    return call


class DeadlineTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess("--queue-requests=8", "--device-instances=1",
                                  models=["slow", "slower", "slowest", "sim"])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def start_first(self, client, model="slower"):
        return start_first(self.server, client, one_row(model))

    def failed(self, code, model="slower"):
        return self.server.metric("ferry_requests_total", model=model,
                                  code=code)

    def start_behind_another_model(self, client):
        """Keeps the device busy where the model "sim" does not expect it."""
        calls = [self.start_first(client, "slowest"),
                 client.start(one_row("sim"))]
        self.assertTrue(wait_until(lambda: self.server.metric(
            "ferry_queue_requests", model="sim") == 1))
        return calls

    def test_deadline_that_cannot_be_kept_is_refused_at_the_door(self):
        with Client(self.server) as client:
            first = self.start_first(client)
            for late in (client.start(one_row("slower"), timeout=0.7),
                         client.start(one_row("slower", timeout_us=700_000))):
                self.assertEqual(code_of(late), "RESOURCE_EXHAUSTED")
                self.assertIn("need longer than the request's deadline",
                              late.details())
                self.assertIn("grpc-retry-pushback-ms",
                              dict(late.trailing_metadata()))
            in_time = client.start(one_row("slower"), timeout=30)
            self.assertEqual(code_of(first), "OK")
            self.assertEqual(code_of(in_time), "OK")

    def test_deadline_and_timeout_reach_the_queue(self):
        def ended():
            return (self.failed("DEADLINE_EXCEEDED", "sim") +
                    self.failed("CANCELLED", "sim"))

        before = ended()
        with Client(self.server) as client:
            others = self.start_behind_another_model(client)
            late = [client.start(one_row("sim"), timeout=0.5)
                    for _ in range(3)]
            late.append(client.start(one_row("sim", timeout_us=300_000)))
            self.assertEqual([code_of(call) for call in late],
                             ["DEADLINE_EXCEEDED"] * 4)
            self.assertIn("deadline", late[-1].details())
            self.assertFalse(others[0].done())
            self.assertTrue(wait_until(lambda: ended() == before + 4))
            self.assertEqual([code_of(call) for call in others], ["OK"] * 2)

    def test_cancelled_while_queued_is_never_computed(self):
        before = self.failed("CANCELLED")
        rows = self.server.metric("ferry_rows_total", model="slower")
        with Client(self.server) as client:
            first = self.start_first(client)
            queued = [client.start(one_row("slower")) for _ in range(4)]
            self.assertTrue(wait_until(lambda: self.server.metric(
                "ferry_queue_requests", model="slower") >= 4))
            for call in queued:
                call.cancel()
            self.assertEqual(code_of(first), "OK")
        self.assertTrue(wait_until(
            lambda: self.failed("CANCELLED") == before + 4))
        self.assertEqual(self.server.metric("ferry_rows_total", model="slower"),
                         rows + 1)

    def test_client_that_goes_away_frees_the_queue(self):
        with Client(self.server) as client:
            calls = [client.start(one_row("slow")) for _ in range(6)]
            self.assertTrue(wait_until(lambda: self.server.metric(
                "ferry_queue_requests", model="slow") >= 5))
        self.assertTrue(wait_until(lambda: self.server.metric(
            "ferry_queue_requests", model="slow") == 0, timeout=2))
        self.assertEqual(len(calls), 6)  # kept until here

    def test_stopped_process_holds_what_it_has_until_it_goes_on(self):
        with Client(self.server) as client:
            self.assertEqual(code_of(client.start(one_row("sim"))), "OK")
            self.server.signal(signal.SIGSTOP)
            try:
                held = client.start(one_row("sim"), timeout=60)
                late = client.start(one_row("sim"), timeout=0.5)
                live = client.stub.ServerLive.future(pb.ServerLiveRequest(),
                                                     timeout=0.5)
                self.assertEqual([code_of(call) for call in (late, live)],
                                 ["DEADLINE_EXCEEDED"] * 2)
                self.assertFalse(held.done())
            finally:
                self.server.signal(signal.SIGCONT)
            self.assertEqual(code_of(held), "OK")

    def test_overload_is_refused_with_a_pushback(self):
        with Client(self.server) as client:
            calls = [client.start(one_row("slow")) for _ in range(30)]
            codes = collections.Counter(code_of(call) for call in calls)
            self.assertEqual(set(codes), {"OK", "RESOURCE_EXHAUSTED"})
            self.assertGreaterEqual(codes["OK"], 8)
            refused = next(call for call in calls
                           if code_of(call) == "RESOURCE_EXHAUSTED")
            pushback = dict(refused.trailing_metadata())
            self.assertGreaterEqual(int(pushback["grpc-retry-pushback-ms"]), 1)
            self.assertIn("queue is full", refused.details())
        self.assertGreater(self.server.metric(
            "ferry_refused_total", model="slow", reason="queue_requests"), 0)


class UnavailableTest(unittest.TestCase):

    def test_every_rpc_says_when_to_try_again(self):
        with FerryProcess("--model-control-mode=explicit",
                          "--load-model=slowest", models=["slowest"]) as server, \
                Client(server) as client:
            last = client.start(one_row("slowest"))
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_running_batches") == 1))
            client.stub.RepositoryModelUnload(
                pb.RepositoryModelUnloadRequest(model_name="slowest"))
            request = one_row("slowest")
            request.model_version = "1"  # which is not ready any more
            of_it = {"name": "slowest", "version": "1"}
            calls = [client.start(request),
                     client.stub.ModelMetadata.future(
                         pb.ModelMetadataRequest(**of_it)),
                     client.stub.ModelConfig.future(
                         pb.ModelConfigRequest(**of_it)),
                     client.stub.ModelStatistics.future(
                         pb.ModelStatisticsRequest(**of_it))]
            told = {(code_of(call), dict(call.trailing_metadata()).get(
                "grpc-retry-pushback-ms")) for call in calls}
            self.assertEqual(told, {("UNAVAILABLE", "100")})
            self.assertEqual(code_of(last), "OK")


class TritonCodesTest(unittest.TestCase):

    def test_full_queue_is_unavailable_when_asked_for(self):
        with FerryProcess("--queue-requests=1", "--triton-status-codes",
                          models=["slow"]) as server, Client(server) as client:
            calls = [client.start(one_row("slow")) for _ in range(6)]
            self.assertEqual({code_of(call) for call in calls},
                             {"OK", "UNAVAILABLE"})


class Ledger:
    """Counts what was sent and how it was answered, by request id."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers = collections.defaultdict(list)

    def sent(self, request_id):
        with self.lock:
            self.answers[request_id] = []

    def answered(self, request_id, code):
        with self.lock:
            self.answers[request_id].append(code)

    def codes(self):
        return collections.Counter(
            code for codes in self.answers.values() for code in codes)


def load(server, ledger, worker, stop, goes_on=False):
    """Sends one request after the other until told to stop, or refused unless
    it goes on."""
    with Client(server) as client:
        turn = 0
        while not stop.is_set():
            request_id = f"{worker}-{turn}"
            turn += 1
            ledger.sent(request_id)
            try:
                reply = client.stub.ModelInfer(one_row("sim", request_id),
                                               timeout=20)
                ledger.answered(request_id,
                                "OK" if reply.id == request_id else "MIXED UP")
            except grpc.RpcError as error:
                ledger.answered(request_id, error.code().name)
                if (error.code() == grpc.StatusCode.UNAVAILABLE and
                        not goes_on):
                    return


class DrainTest(unittest.TestCase):

    def drain_under_load(self, number, *flags):
        ledger = Ledger()
        stop = threading.Event()
        with FerryProcess(*flags, models=["sim"]) as server:
            with concurrent.futures.ThreadPoolExecutor(32) as pool:
                for worker in range(32):
                    pool.submit(load, server, ledger, worker, stop)
                self.assertTrue(wait_until(
                    lambda: len(ledger.answers) > 400))
                server.signal(number)
                if number == signal.SIGHUP:  # a closed terminal sends two
                    self.assertTrue(wait_until(lambda: any(
                        "drains signal=HUP" in line for line in server.log)))
                    server.signal(number)
                code = server.wait()
                stop.set()
            self.assertEqual(code, 0, "".join(server.log))
        self.assertEqual({len(codes) for codes in ledger.answers.values()},
                         {1}, "not every request has one answer")
        codes = ledger.codes()
        self.assertEqual(set(codes), {"OK", "UNAVAILABLE"}, codes)
        self.assertEqual(codes["UNAVAILABLE"], 32, codes)

    def test_sigterm_under_load_loses_nothing(self):
        self.drain_under_load(signal.SIGTERM)

    def test_sigint_under_load_loses_nothing(self):
        self.drain_under_load(signal.SIGINT)

    def test_sighup_and_sigquit_drain_like_sigterm(self):
        self.drain_under_load(signal.SIGHUP)
        self.drain_under_load(signal.SIGQUIT)

    def test_clients_that_go_on_never_see_cancelled(self):
        for _ in range(4):
            ledger = Ledger()
            stop = threading.Event()
            with FerryProcess(models=["sim"]) as server:
                with concurrent.futures.ThreadPoolExecutor(32) as pool:
                    for worker in range(32):
                        pool.submit(load, server, ledger, worker, stop, True)
                    self.assertTrue(wait_until(
                        lambda: len(ledger.answers) > 400))
                    server.signal(signal.SIGINT)
                    code = server.wait()
                    stop.set()
                self.assertEqual(code, 0, "".join(server.log))
            self.assertEqual(set(ledger.codes()), {"OK", "UNAVAILABLE"})

    def drain_while_one_computes(self, server, ask):
        """Returns what `ask` does."""
        asked = ask()
        self.assertTrue(wait_until(lambda: server.metric(
            "ferry_running_batches") == 1))
        server.signal()
        return asked

    def test_clients_are_told_to_go_when_the_drain_begins(self):
        with FerryProcess(models=["slowest"]) as server, \
                Client(server) as client, \
                http2_frames.Connection(server.address) as idle:
            idle.read_until(lambda frame: frame.type == http2_frames.SETTINGS)
            call = self.drain_while_one_computes(
                server, lambda: client.start(one_row("slowest")))
            idle.read_until(lambda frame: frame.type == http2_frames.GOAWAY)
            self.assertFalse(call.done())
            # No other client comes in, and the idle one's connection ends.
            with self.assertRaises(ConnectionRefusedError):
                http2_frames.Connection(server.address)
            idle.read_all()
            self.assertFalse(call.done())
            self.assertEqual(code_of(call), "OK")
            self.assertEqual(server.wait(), 0)

    def test_connection_that_lingers_is_closed_while_a_batch_runs(self):
        """Its client does not close it, and sends on."""
        with mock.patch.dict(ferry_process.MODELS, {
                "long": ferry_process.sim_config(max_batch_size=1, alpha_ms=8000,
                                                 beta_ms=0)}), \
                FerryProcess(models=["long"]) as server, \
                Client(server) as client, \
                http2_frames.Connection(server.address) as idle:
            idle.read_until(lambda frame: frame.type == http2_frames.SETTINGS)
            call = self.drain_while_one_computes(
                server, lambda: client.start(one_row("long")))
            idle.read_all()

            def is_closed():
                try:
                    idle.send(http2_frames.PING, body=bytes(8))
                except ConnectionError:
                    return True
                return False
            self.assertFalse(is_closed())
            self.assertTrue(wait_until(is_closed))
            self.assertFalse(call.done())
            self.assertEqual(code_of(call), "OK")
            self.assertEqual(server.wait(), 0)

    def test_what_is_on_its_way_when_the_drain_begins_is_answered(self):
        with FerryProcess(models=["slow"]) as server, \
                http2_frames.Connection(server.address) as client:
            self.drain_while_one_computes(
                server, lambda: client.ask(1, one_row("slow")))
            client.read_until(lambda frame: frame.type == http2_frames.GOAWAY)
            client.ask(3, one_row("slow"))  # as sent before it was told
            ended = {frame.stream for frame in client.read_all()
                     if frame.type == http2_frames.HEADERS and
                     frame.flags & http2_frames.END_STREAM}
            self.assertEqual(ended, {1, 3})
            self.assertEqual(server.wait(), 0)

    def test_refusal_of_a_drain_says_when_to_try_again(self):
        with FerryProcess(models=["slow"]) as server, \
                http2_frames.Connection(server.address) as client:
            self.drain_while_one_computes(
                server, lambda: client.ask(1, one_row("slow")))
            # A client that does not hear: it asks until it is refused.
            stream = 3
            while not server.metric("ferry_refused_total", reason="draining"):
                client.ask(stream, one_row("slow"))
                stream += 2
            text = b"".join(frame.body for frame in client.read_all()
                            if frame.type == http2_frames.HEADERS)
            self.assertIn(b"grpc-retry-pushback-ms", text)

    def test_stream_that_waits_ends_with_unavailable(self):
        with FerryProcess(models=["sim"]) as server, \
                Client(server) as client:
            requests, replies = stream_that_waits(self, client.stub, "sim")
            server.signal()
            with self.assertRaises(grpc.RpcError) as ended:
                next(replies)
            self.assertEqual(ended.exception.code().name, "UNAVAILABLE")
            self.assertIn("draining", ended.exception.details())
            told = dict(replies.trailing_metadata())
            self.assertEqual(told["grpc-retry-pushback-ms"], "100")
            requests.put(None)
            self.assertEqual(server.wait(), 0)

    def test_half_a_message_ends_with_its_connection(self):
        with FerryProcess(models=["sim"]) as server, \
                http2_frames.Connection(server.address) as client:
            client.open_call(1)
            client.send(http2_frames.DATA, stream=1,
                        body=http2_frames.in_message(one_row("sim"))[:20])
            client.ask(3, one_row("sim"))  # read behind the half
            client.read_until(lambda frame: frame.stream == 3 and
                              frame.flags & http2_frames.END_STREAM)
            server.signal()
            # Clients take the end of a connection for UNAVAILABLE.
            self.assertEqual([
                frame for frame in client.read_all() if frame.stream == 1 and
                frame.type in (http2_frames.HEADERS, http2_frames.RST_STREAM)], [])
            self.assertEqual(server.wait(), 0)

    def test_queue_is_finished_before_the_end(self):
        with FerryProcess(models=["slow"]) as server, \
                Client(server) as client:
            calls = [client.start(one_row("slow")) for _ in range(6)]
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_queue_requests", model="slow") >= 5))
            server.signal()
            self.assertEqual([code_of(call) for call in calls], ["OK"] * 6)
            self.assertEqual(server.wait(), 0)

    def test_drain_delay_serves_while_not_ready(self):
        with FerryProcess("--drain-delay-secs=1.5",
                          models=["echo"]) as server, \
                Client(server) as client:
            self.assertEqual(code_of(client.start(one_row("echo"))), "OK")
            watch = client.channel.unary_stream("/grpc.health.v1.Health/Watch")
            watches = [watch(b"") for _ in range(3)]
            self.assertEqual([next(w) for w in watches], [b"\x08\x01"] * 3)
            server.signal()
            self.assertEqual([next(w) for w in watches], [b"\x08\x02"] * 3)
            self.assertTrue(wait_until(
                lambda: server.get("/v2/health/ready")[0] == 503))
            self.assertEqual(server.get("/v2/health/live")[0], 200)
            ready = client.stub.ServerReady(pb.ServerReadyRequest())
            self.assertFalse(ready.ready)
            health = client.channel.unary_unary("/grpc.health.v1.Health/Check")
            self.assertEqual(health(b""), b"\x08\x02")  # NOT_SERVING
            self.assertEqual(code_of(client.start(one_row("echo"))), "OK")
            self.assertEqual(server.metric("ferry_draining"), 1)
            for w in watches:  # the server ends them, without a wait
                with self.assertRaises(grpc.RpcError) as ended:
                    next(w)
                self.assertEqual(ended.exception.code().name, "UNAVAILABLE")
                self.assertIn("grpc-retry-pushback-ms",
                              dict(w.trailing_metadata()))
            self.assertEqual(server.wait(), 0)

    def test_second_signal_ends_at_once(self):
        with FerryProcess("--drain-delay-secs=20", models=["echo"]) as server:
            server.signal()
            self.assertTrue(wait_until(
                lambda: server.get("/v2/health/ready")[0] == 503))
            server.signal(signal.SIGINT)
            self.assertEqual(server.wait(5), 128 + signal.SIGINT)

    def test_same_signal_later_ends_at_once(self):
        with FerryProcess("--drain-delay-secs=20", models=["echo"]) as server:

            def has_ended():  # within 100 ms it is the same wish
                server.signal()
                return server.process.poll() is not None

            self.assertTrue(wait_until(has_ended))
            self.assertEqual(server.wait(5), 128 + signal.SIGTERM)

    def test_exit_timeout_ends_what_takes_longer(self):
        with FerryProcess("--exit-timeout-secs=1.2", models=["slow"]) as server, \
                Client(server) as client:
            calls = [client.start(one_row("slow")) for _ in range(40)]
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_queue_requests", model="slow") >= 30))
            server.signal()
            self.assertEqual(server.wait(), 4)
            codes = collections.Counter(code_of(call) for call in calls)
            self.assertEqual(set(codes), {"OK", "UNAVAILABLE"})
            self.assertEqual(sum(codes.values()), 40)

    def test_signals_that_mean_nothing_are_ignored(self):
        with FerryProcess(models=["echo"]) as server, \
                Client(server) as client:
            for number in (signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE,
                           signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO,
                           signal.SIGXFSZ, signal.SIGPWR, signal.SIGRTMIN,
                           signal.SIGRTMAX):
                server.signal(number)
            self.assertEqual(code_of(client.start(one_row("echo"))), "OK")
            server.signal()
            self.assertEqual(server.wait(), 0)

    def test_sighup_that_was_ignored_stays_so(self):
        with FerryProcess(models=["echo"],
                          ignored_signals=[signal.SIGHUP]) as server, \
                Client(server) as client:
            server.signal(signal.SIGHUP)
            server.signal(signal.SIGUSR1)  # taken after it
            self.assertTrue(wait_until(
                lambda: "state: ready" in "".join(server.log)))
            self.assertEqual(code_of(client.start(one_row("echo"))), "OK")

    def test_sigusr1_logs_the_state_also_while_it_drains(self):
        with FerryProcess(models=["slowest", "echo"]) as server, \
                Client(server) as client:
            calls = [client.start(one_row("slowest")) for _ in range(2)]
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_queue_requests", model="slowest") == 1))
            server.signal(signal.SIGUSR1)
            self.assertTrue(wait_until(
                lambda: "model slowest version=1 is ready queue_requests=1 "
                "queue_rows=1 running_batches=1" in "".join(server.log)))
            self.assertIn("model echo version=1 is ready queue_requests=0",
                          "".join(server.log))
            server.signal()
            self.assertTrue(wait_until(
                lambda: "drains signal=" in "".join(server.log)))
            server.signal(signal.SIGUSR1)
            self.assertTrue(wait_until(
                lambda: "state: not ready live=1 draining=1"
                in "".join(server.log)))
            self.assertEqual([code_of(call) for call in calls], ["OK"] * 2)
            self.assertEqual(server.wait(), 0)

    def test_what_was_admitted_has_all_of_the_exit_timeout(self):
        with FerryProcess("--exit-timeout-secs=2.5", models=["slowest"]) as server, \
                Client(server) as client:
            call = client.start(one_row("slowest"))
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_running_batches") == 1))
            server.signal()
            self.assertEqual(code_of(call), "OK")
            self.assertEqual(server.wait(), 0)

    def test_idle_server_stops(self):
        with FerryProcess(models=["echo"]) as server:
            server.signal()
            self.assertEqual(server.wait(), 0)
            self.assertIn("stopped", server.log[-1])


if __name__ == "__main__":
    unittest.main()
