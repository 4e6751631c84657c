"""The ledger and the documented policy, each against a server with a planted fault:
answers that are swapped, repeated, changed or swallowed are seen, refusals are
retried as the document says."""

import asyncio
import unittest

import grpc
import numpy as np
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import client as clients
from client import Client
from ledger import Ledger, rows_of
from plan import LEAST_S, MOST_S, WEIGHTS, make_plan

RATE, SECONDS = 400, 0.5
FAULT = 20  # the request that it hits


class Fake(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Answers as "sim" and "scale" of version 1 do, but for one request."""

    def __init__(self, fault=None):
        self.fault = fault
        self.attempts = {}
        self.before = None

    def right(self, request):
        rows = np.frombuffer(request.raw_input_contents[0], np.float32).reshape(
            request.inputs[0].shape)
        reply = pb.ModelInferResponse(id=request.id, model_version="1")
        reply.raw_output_contents.append(
            clients.expected_rows(request.model_name, rows, 1).tobytes())
        return reply

    async def ModelInfer(self, request, context):
        number = int(request.id)
        self.attempts[number] = self.attempts.get(number, 0) + 1
        reply = self.right(request)
        if self.fault and number == FAULT:
            reply = await self.fault(self, request, reply, context)
        self.before = reply
        return reply

    async def others_rows(self, _, reply, __):
        reply.raw_output_contents[0] = self.before.raw_output_contents[0]
        return reply

    async def one_bit(self, _, reply, __):
        changed = bytearray(reply.raw_output_contents[0])
        changed[-1] ^= 1
        reply.raw_output_contents[0] = bytes(changed)
        return reply

    async def answer_before(self, *_):
        return self.before

    async def other_version(self, _, reply, __):
        if reply.raw_output_contents:
            reply.model_version = "7"
        return reply

    async def nothing(self, *_):
        await asyncio.sleep(3600)

    async def wrong_request(self, _, __, context):
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "planted")

    async def drains_twice(self, _, reply, context):
        if self.attempts[FAULT] < 3:
            context.set_trailing_metadata([("grpc-retry-pushback-ms", "1")])
            await context.abort(grpc.StatusCode.UNAVAILABLE, "planted")
        return reply

    async def drains_for_ever(self, _, __, context):
        await context.abort(grpc.StatusCode.UNAVAILABLE, "planted")

    async def says_never(self, _, __, context):
        context.set_trailing_metadata([("grpc-retry-pushback-ms", "-1")])
        await context.abort(grpc.StatusCode.UNAVAILABLE, "planted")


def ask(fault=None, retries=True):
    """Returns the ledger of a short load on such a server, and the server."""
    async def play():
        fake = Fake(fault)
        server = grpc.aio.server()
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(fake, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        ledger = Ledger()
        load = Client(f"127.0.0.1:{port}", ledger, rate=RATE, seed=1,
                      retries=retries)
        is_over = asyncio.Event()
        running = asyncio.create_task(load.run(is_over))
        await asyncio.sleep(SECONDS)
        while len(fake.attempts) <= 2 * FAULT:  # where the machine is busy
            await asyncio.sleep(0.1)
        is_over.set()
        await running
        await server.stop(None)
        return ledger, fake
    return asyncio.run(play())


class FaultsTest(unittest.TestCase):

    def counts(self, fault, **options):
        ledger, self.fake = ask(fault, **options)
        self.assertGreater(ledger.sent, FAULT)
        self.complaints = ledger.complaints(0.5)
        return ledger.lost, ledger.twice, ledger.wrong

    def test_without_a_fault_there_is_no_complaint(self):
        self.assertEqual(self.counts(None), (0, 0, 0))
        self.assertEqual(self.complaints, [])

    def test_rows_of_another_request_are_seen(self):
        for fault in (Fake.others_rows, Fake.one_bit):
            self.assertEqual(self.counts(fault), (0, 0, 1))
            self.assertEqual(self.complaints, ["1 wrong rows"])

    def test_an_answer_that_came_before_is_seen(self):
        self.assertEqual(self.counts(Fake.answer_before), (0, 1, 1))
        self.assertEqual(self.complaints, ["1 answered twice", "1 wrong rows"])

    def test_a_version_that_never_was_is_seen(self):
        self.assertEqual(self.counts(Fake.other_version), (0, 0, 1))

    def test_a_request_without_an_answer_is_lost(self):
        self.addCleanup(setattr, clients, "DEADLINE_S", clients.DEADLINE_S)
        clients.DEADLINE_S = 5
        self.assertEqual(self.counts(Fake.nothing), (1, 0, 0))
        self.assertEqual(self.complaints, ["1 lost"])

    def test_too_few_that_are_ok_are_told(self):
        ledger, _ = ask(Fake.wrong_request)
        self.assertEqual(ledger.failed, 1)
        self.assertEqual(len(ledger.complaints(1)), 1)
        self.assertEqual(ledger.told[0]["code"], "INVALID_ARGUMENT")

    def test_no_request_at_all_is_no_success(self):
        self.assertEqual(Ledger().complaints(0.999), ["nothing was sent"])

    def test_second_outcome_is_seen(self):
        ledger = Ledger()
        ledger.ask(1)
        ledger.settle(1, "OK")
        ledger.settle(1, "UNAVAILABLE")
        self.assertEqual(ledger.complaints(1), ["1 answered twice"])

    def test_rows_are_of_one_request_alone(self):
        seen = {rows_of(number, 1, 4).tobytes() for number in range(5000)}
        self.assertEqual(len(seen), 5000)
        self.assertEqual(list(rows_of(4097, 2, 4)[:, 0]), [1, 1])


class PolicyTest(unittest.TestCase):

    def outcome(self, fault, **options):
        """Returns how often the request was tried, and how it ended."""
        ledger, fake = ask(fault, **options)
        return (fake.attempts[FAULT],
                ledger.told[0]["code"] if ledger.told else "OK")

    def test_refusals_of_a_drain_are_sent_again(self):
        self.assertEqual(self.outcome(Fake.drains_twice), (3, "OK"))

    def test_attempts_have_a_bound(self):
        self.assertEqual(self.outcome(Fake.drains_for_ever), (5, "UNAVAILABLE"))

    def test_pushback_may_forbid_it(self):
        self.assertEqual(self.outcome(Fake.says_never), (1, "UNAVAILABLE"))

    def test_what_is_wrong_stays_wrong(self):
        self.assertEqual(self.outcome(Fake.wrong_request), (1, "INVALID_ARGUMENT"))

    def test_without_the_policy_nothing_is(self):
        self.assertEqual(self.outcome(Fake.drains_twice, retries=False),
                         (1, "UNAVAILABLE"))


    def test_large_requests_need_a_larger_buffer(self):
        method = "/inference.GRPCInferenceService/ModelInfer"
        for options, attempts in (([], 1), (
                [("grpc.per_rpc_retry_buffer_size", 1 << 20)], 2)):
            self.assertEqual(asyncio.run(self.attempts_of(
                method, bytes(300_000), options)), attempts)

    async def attempts_of(self, method, message, options):
        """Returns how often a message comes to a server that refuses the first."""
        seen = []

        async def refuse_first(request, context):
            seen.append(request)
            if len(seen) == 1:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "planted")
            return b""
        server = grpc.aio.server()
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(
            method.split("/")[1], {"ModelInfer": grpc.unary_unary_rpc_method_handler(
                refuse_first)})])
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(
                f"127.0.0.1:{port}",
                options=clients.channel_options(True) + options) as channel:
            try:
                await channel.unary_unary(method)(message, timeout=30)
            except grpc.RpcError:
                pass
        await server.stop(None)
        return len(seen)


class PlanTest(unittest.TestCase):

    def test_a_seed_has_one_plan(self):
        self.assertEqual(make_plan(5, 600), make_plan(5, 600))
        self.assertNotEqual(make_plan(5, 600), make_plan(6, 600))

    def test_moments_and_kinds(self):
        for seed in range(20):
            plan = make_plan(seed, 600)
            moments = [0, *(event.at for event in plan)]
            for before, after in zip(moments, moments[1:]):
                self.assertTrue(LEAST_S - 0.02 <= after - before <= MOST_S + 0.02)
            first = [event.kind for event in plan[:len(WEIGHTS)]]
            self.assertEqual(sorted(first), sorted(WEIGHTS))
            self.assertGreater(sum(e.kind == "kill" for e in plan), 50)


if __name__ == "__main__":
    unittest.main()
