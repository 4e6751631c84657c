"""What hostile or unlucky clients cost a server in memory, and its other
clients in time.

Usage: FERRY_SERVER=build/release/bin/ferry-server attacks.py [NAME ...]

One server for each attack. Printed, a JSON object for each: resident memory
before it, at its worst and after 20 idle seconds; the calls a second of a client
that sends one small request after the other, before and meanwhile, and its
longest call; what /v2/health/ready answered meanwhile, and its longest answer;
how the attack ended.
"""

import collections
import concurrent.futures
import json
import os
import signal
import socket
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


# --- the attacks: what is done to a server ---
# Each returns how it ended, and whether that is as it should be, if it can tell.

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
    return ends, set(ends) == {"OK"}


def large_replies(server):
    """D6: 8 clients take 24 replies of 150 MiB."""
    request = pb.ModelInferRequest(model_name="widest")
    request.inputs.add(name="input", datatype="FP32", shape=[1, 150 * MIB // 4])
    request.raw_input_contents.append(bytes(150 * MIB))
    message = request.SerializeToString()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(
            lambda _: call(server, "ModelInfer", message), range(24)))
    return {end: ends.count(end) for end in set(ends)}, set(ends) == {"OK"}


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


def connections(server):
    """D1: 80 connections at a limit of 64 open files; then a new client."""
    flood = [socket.create_connection(("127.0.0.1", server.port), timeout=10)
             for _ in range(80)]
    time.sleep(1)
    for connection in flood:
        connection.close()
    begin = time.monotonic()
    while (end := call(server, "ServerLive", b"", timeout=1)) != "OK":
        if time.monotonic() - begin > 12:
            return f"a new client was not served in 12 s: {end}", False
    return f"a new client was served after {time.monotonic() - begin:.2f} s", True


def headers(server):
    """D2: 100 headers of 130 bytes on a connection with 20 other calls."""
    message = pb.ModelInferRequest(model_name="slow")
    message.inputs.add(name="input", datatype="FP32", shape=[1, 16])
    message.raw_input_contents.append(bytes(64))
    client = RawClient(server.address)
    streams = [client.start("ModelInfer", message.SerializeToString())
               for _ in range(20)]
    client.start("ModelInfer", message.SerializeToString(), more=[
        (f"x-{i:02}" + "a" * 40, "b" * 86) for i in range(100)])
    time.sleep(5)
    answered = sum(client.received.get(stream, 0) > 0 for stream in streams)
    client.close()
    return f"of 20 neighbours {answered} had a reply", answered == 20


def drain(server):
    """E6, F11: SIGTERM while 16 clients send one request after the other."""
    message = pb.ModelInferRequest(model_name="sim")
    message.inputs.add(name="input", datatype="FP32", shape=[1, 16])
    message.raw_input_contents.append(bytes(64))
    message = message.SerializeToString()
    codes = collections.Counter()
    until = time.monotonic() + 4

    def send():
        with channel(server) as its_channel:
            rpc = its_channel.unary_unary(
                "/inference.GRPCInferenceService/ModelInfer")
            while time.monotonic() < until:
                try:
                    rpc(message, timeout=10)
                    codes["OK"] += 1
                except grpc.RpcError as error:
                    codes[error.code().name] += 1
                    time.sleep(0.001)

    threads = [threading.Thread(target=send) for _ in range(16)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    server.process.send_signal(signal.SIGTERM)
    for thread in threads:
        thread.join()
    return dict(codes), codes["OK"] > 0 and not codes["CANCELLED"]


WIDEST = ferry_process.echo_config(
    [("input", "output", "FP32", [150 * MIB // 4])], 1)
ATTACKS = {  # and the server's flags
    typed_contents: [], parameters: [],
    settings: ["--model-control-mode=explicit", "--load-model=echo"],
    index: [], unread: [], unread_joined: [],
    # Room for the requests of all its clients: else some are refused.
    large_replies: [f"--grpc-max-message-bytes={200 * MIB}",
                    f"--queue-bytes={8 * 150 * MIB}"],
    half_sent: [f"--grpc-memory-bytes={256 * MIB}"],
    connections: [], headers: [], drain: []}
OPEN_FILES = {connections: 64}


class Memory:
    """Resident memory of a process in MiB, now and at its worst."""

    def __init__(self, pid):
        self._pid = pid

    def _read(self, name):
        try:
            with open(f"/proc/{self._pid}/status", encoding="utf-8") as status:
                for line in status:
                    if line.startswith(name):
                        return int(line.split()[1]) // 1024
        except OSError:
            pass
        return 0  # it has ended

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
        return {"calls/s": round(len(calls) / (end - begin)),
                "longest ms": round(1000 * max(
                    (took for _, took, _ in calls), default=0)),
                "failed": dict(collections.Counter(
                    code for _, _, code in calls if code != "OK"))}

    def stop(self):
        self._process.kill()
        self._process.wait()


class Health:
    """A thread that asks for readiness five times a second."""

    def __init__(self, server):
        self._server = server
        self.answers = collections.Counter()
        self.longest_s = 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self):
        while not self._ends.wait(0.2):
            begin = time.monotonic()
            try:
                self.answers[str(self._server.get("/v2/health/ready")[0])] += 1
            except OSError as error:
                self.answers[type(error).__name__] += 1
            self.longest_s = max(self.longest_s, time.monotonic() - begin)

    def stop(self):
        self._ends.set()
        self._thread.join()
        return {"answers": dict(self.answers),
                "longest ms": round(1000 * self.longest_s)}


def has(flag):
    """Tells whether the server knows the flag: an earlier one may not."""
    return flag.split("=")[0] in ferry_process.run("--help").stdout


def run(attack, flags):
    ferry_process.MODELS.update(long=ferry_process.LONG_CONFIG, widest=WIDEST)
    models = ["echo", "sim", "slow", "long", "wide", "widest"]
    os.environ["GRPC_VERBOSITY"] = "NONE"
    with FerryProcess("--grpc-infer-thread-count=1", *filter(has, flags),
                      models=models,
                      open_files=OPEN_FILES.get(attack)) as server:
        memory = Memory(server.process.pid)
        honest = Honest(server.address)
        time.sleep(3)
        before, begin = memory.now(), time.monotonic()
        quiet = honest.between(begin - 1.5, begin)
        health = Health(server)
        end = attack(server)
        end, is_good = end if isinstance(end, tuple) else (end, True)
        took = time.monotonic() - begin
        ready = health.stop()
        peak = memory.peak()
        meanwhile = honest.between(begin, begin + took)
        honest.stop()
        is_alive = server.process.poll() is None
        if is_alive:
            time.sleep(20)
        print(json.dumps({
            "attack": attack.__name__, "what": attack.__doc__,
            "MiB": {"before": before, "peak": peak, "idle": memory.now()},
            "honest before": quiet, "honest meanwhile": meanwhile,
            "ready": ready, "seconds": round(took, 1), "end": end,
            "good": is_good and is_alive == (attack is not drain)}),
            flush=True)


if __name__ == "__main__":
    for wanted in ATTACKS:
        if len(sys.argv) == 1 or wanted.__name__ in sys.argv[1:]:
            run(wanted, ATTACKS[wanted])
