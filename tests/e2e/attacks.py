"""What hostile or unlucky clients cost a server in memory, and its other
clients in time.

Usage: FERRY_SERVER=build/release/bin/ferry-server attacks.py [NAME ...]

One server for each attack. Printed: resident memory before it, at its worst and
after 20 idle seconds; the calls a second of a client that sends one small
request after the other, before and meanwhile, and its longest call.
"""

import concurrent.futures
import os
import struct
import subprocess
import sys
import threading
import time

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import ferry_process
from ferry_process import FerryProcess
from raw_http2 import RawClient

MIB = 1 << 20
HONEST = """
import sys, time
import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
stub = service_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(
    sys.argv[1], options=[("grpc.use_local_subchannel_pool", 1)]))
request = pb.ModelInferRequest(model_name=sys.argv[2])
request.inputs.add(name="input", datatype="FP32", shape=[1, 16])
request.raw_input_contents.append(bytes(64))
while True:
    begin = time.monotonic()
    try:
        stub.ModelInfer(request)
        code = "OK"
    except grpc.RpcError as error:
        code = error.code().name
    print(begin, time.monotonic() - begin, code, flush=True)
"""


def field(number, body):
    """A length-delimited field of protobuf."""
    size, head = len(body), bytes([number << 3 | 2])
    while size >= 128:
        head += bytes([size & 127 | 128])
        size >>= 7
    return head + bytes([size]) + body


def channel(server):
    return grpc.insecure_channel(server.address, options=[
        ("grpc.max_send_message_length", -1),
        ("grpc.max_receive_message_length", -1),
        ("grpc.use_local_subchannel_pool", 1)])


def call(server, method, message, timeout=60):
    """Returns how a call ended."""
    with channel(server) as its_channel:
        rpc = its_channel.unary_unary(
            f"/inference.GRPCInferenceService/{method}")
        try:
            rpc(message, timeout=timeout)
            return "OK"
        except grpc.RpcError as error:
            return f"{error.code().name} {error.details()[:70]}"


def infer(inside):
    """A ModelInferRequest for "echo"; `inside`: fields of its input."""
    tensor = field(1, b"input") + field(2, b"FP32") + field(3, b"\x01\x10")
    return field(1, b"echo") + field(5, tensor + inside)


def entry(i, value=b""):
    return field(1, b"%07d" % i) + field(2, value)


# --- the attacks: what a server is started with, and what is done to it ---

def typed_contents(server):
    """D4: 8.4 million empty strings for an input of FP32."""
    return call(server, "ModelInfer", infer(field(5, b"\x42\x00" * 8_380_000)))


def parameters(server):
    """F8: an input with 0.85 million parameters."""
    return call(server, "ModelInfer", infer(b"".join(
        field(4, entry(i)) for i in range(850_000))))


def settings(server):
    """F8: TraceSetting, LogSettings and loads of 50 MiB."""
    entries = b"".join(field(1, entry(i)) for i in range(3_400_000))
    loads = b"".join(field(3, entry(i)) for i in range(3_400_000))
    return [call(server, method, message) for method, message in (
        ("TraceSetting", entries), ("LogSettings", entries),
        ("RepositoryModelLoad", loads))]


def index(server):
    """D5: 20 calls of RepositoryIndex on 8,000 folders."""
    for i in range(8000):
        os.makedirs(f"{server.folder}/model{i}", exist_ok=True)
    return [call(server, "RepositoryIndex", b"") for _ in range(20)][-1]


def unread(server):
    """F4: 10 clients that take no byte ask for 255 configs of 0.85 MB each."""
    clients = [RawClient(server.address, window=0) for _ in range(10)]
    for client in clients:
        for _ in range(255):
            client.start("ModelConfig", field(1, b"long"))
    time.sleep(5)
    server.honest_reply = call(server, "ModelConfig", field(1, b"long"))
    for client in clients:
        client.close()
    return f"ModelConfig meanwhile: {server.honest_reply}"


def unread_joined(server):
    """D3: a client that takes no byte asks for 512 MiB, larger than a batch."""
    rows = 64
    request = pb.ModelInferRequest(model_name="wide")
    request.inputs.add(name="input", datatype="FP32", shape=[rows // 2, MIB // 4])
    request.raw_input_contents.append(bytes(rows // 2 * MIB))
    message = request.SerializeToString()
    client = RawClient(server.address, window=0)
    for _ in range(16):
        client.start("ModelInfer", message)
    time.sleep(2)
    ends = [call(server, "ModelInfer", message) for _ in range(4)]
    client.close()
    return ends


def large_replies(server):
    """D6: 8 clients take 24 replies of 150 MiB."""
    request = pb.ModelInferRequest(model_name="widest")
    request.inputs.add(name="input", datatype="FP32", shape=[1, 150 * MIB // 4])
    request.raw_input_contents.append(bytes(150 * MIB))
    message = request.SerializeToString()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(
            lambda _: call(server, "ModelInfer", message), range(24)))
    return {end: ends.count(end) for end in set(ends)}


def half_sent(server):
    """F13: 60 clients send half of a message of 60 MiB, and wait."""
    clients = [RawClient(server.address) for _ in range(60)]
    threads = [threading.Thread(
        target=client.start, args=("ModelInfer", bytes(60 * MIB)),
        kwargs={"send": 30 * MIB}) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    time.sleep(3)
    for client in clients:
        client.close()
    return ""


WIDEST = ferry_process.echo_config(
    [("input", "output", "FP32", [150 * MIB // 4])], 1)
ATTACKS = {
    typed_contents: [], parameters: [],
    settings: ["--model-control-mode=explicit", "--load-model=echo"],
    index: [], unread: [], unread_joined: [],
    large_replies: [f"--grpc-max-message-bytes={200 * MIB}"], half_sent: [f"--grpc-memory-bytes={256 * MIB}"]}


class Memory:
    """Resident memory of a process, at its worst since the last look."""

    def __init__(self, pid):
        self._pid = pid

    def _read(self, name):
        with open(f"/proc/{self._pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith(name):
                    return int(line.split()[1]) // 1024
        return 0

    def now(self):
        return self._read("VmRSS")

    def peak(self):
        return self._read("VmHWM")


class Honest:
    """A process that sends one request after the other."""

    def __init__(self, address):
        self._calls = []
        self._process = subprocess.Popen(
            [sys.executable, "-c", HONEST, address, "echo"],
            stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            begin, took, code = line.split()
            self._calls.append((float(begin), float(took), code))

    def between(self, begin, end):
        """Returns what the calls that began then say."""
        calls = [entry for entry in self._calls if begin <= entry[0] < end]
        failed = sum(code != "OK" for _, _, code in calls)
        worst = max((took for _, took, _ in calls), default=0)
        return (f"{len(calls) / (end - begin):.0f}/s, longest "
                f"{worst * 1000:.0f} ms, {failed} failed")

    def stop(self):
        self._process.kill()
        self._process.wait()


def run(attack, flags):
    ferry_process.MODELS.update(long=ferry_process.LONG_CONFIG, widest=WIDEST)
    models = ["echo", "long", "wide", "widest"]
    os.environ["GRPC_VERBOSITY"] = "NONE"
    with FerryProcess("--grpc-infer-thread-count=1", *flags,
                      models=models) as server:
        memory = Memory(server.process.pid)
        honest = Honest(server.address)
        time.sleep(3)
        before, begin = memory.now(), time.monotonic()
        quiet = honest.between(begin - 1.5, begin)
        end = attack(server)
        meanwhile = honest.between(begin, time.monotonic())
        honest.stop()
        time.sleep(20)
        print(f"{attack.__name__}: RSS {before} MiB, at most {memory.peak()}, "
              f"then {memory.now()}; honest client {quiet}; then {meanwhile}\n"
              f"    {time.monotonic() - begin - 20:.1f} s; {end}", flush=True)


if __name__ == "__main__":
    for wanted in ATTACKS:
        if len(sys.argv) == 1 or wanted.__name__ in sys.argv[1:]:
            run(wanted, ATTACKS[wanted])
