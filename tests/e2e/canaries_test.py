"""Secrets and data of one client stand nowhere but in its own answers: tokens, the
server's key and tensors are looked for in logs, metrics, pages, errors, the state,
traces, crash reports, the reason file, /proc, the folder of temporary files, and the
answers and padding of a second client."""

import base64
import concurrent.futures
import contextlib
import http.client
import os
import pathlib
import secrets
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import grpc
import numpy as np
from tritonclient.grpc import service_pb2 as pb

import ferry_process
import trust
from bytes_test import framed
from canaries import (Canaries, folder_text, forms, process_texts, read,
                      scalar_of)
from ferry_process import FerryProcess, echo_config, parameter, tensor, wait_until
from reflected import REFLECTION, Request
from crash_test import WRITE_TO_NULL, call_operator
from trace_test import SAMPLED, Collector

WRITE_SCRIPTS = os.environ["FERRY_WRITE_SCRIPTS"]
INFERENCE = "/inference.GRPCInferenceService/"
CALL_S = 30
ROUNDS = 20
PADDED, BUCKET = 32, 8  # elements of a row; rows of a batch
MESSAGE_BYTES = 1 << 20

# The same in each element: 8 bytes of it are looked for, and its digits.
FLOAT = np.float32(73214.586)
ROUNDED = np.float32(73216)  # as bf16 has it
WHOLE = 0x0CA1AB1E0DDBA11  # twice it has 64 bits, too
TEXT = b"canary-text-9c4f1e7ab2d8"
NAME = "canary-name-51d0e6f3a97c"  # a client's own words, which it is told again

PAGES = ["/", "/metrics", "/metrics/fine", "/status.json", "/v2", "/v2/nothing",
         "/v2/health/live", "/v2/health/ready", "/nothing", "/v2/models/echo",
         *(f"/v2/models/{name}{end}" for name in ("texts", "poison", "sequences")
           for end in ("", "/ready", "/versions/1", "/versions/1/ready"))]

BATCHED = "max_batch_size: 8\ndynamic_batching {}\n"
MODELS = {
    "texts": (None, echo_config([("input", "output", "STRING", [2])], 8)),
    "echo": (None, echo_config([("input", "output", "FP32", [16])])),
    "sim": (None, ferry_process.sim_config(
        BUCKET, alpha_ms=1, beta_ms=0, buckets=f"1,{BUCKET}")),
    # It fails where a row, be it one of padding, has the canary's number.
    "poison": ("poison", 'backend: "pytorch"\n' + BATCHED +
               tensor("input", "input", "FP32", [3]) +
               tensor("output", "output", "FP32", [3]) +
               parameter("ferry.buckets", BUCKET)),
    # It gives back its whole padded rows.
    "sequences": ("sequences", 'backend: "pytorch"\n' + BATCHED +
                  tensor("input", "ids", "INT64", [-1]) +
                  tensor("input", "mask", "INT64", [-1]) +
                  tensor("input", "spectrum", "FP32", [2, -1]) +
                  tensor("output", "total", "FP32", [1]) +
                  tensor("output", "padded", "FP32", [1]) +
                  tensor("output", "tokens", "FP32", [PADDED, 2]) +
                  tensor("output", "twice", "INT64", [PADDED]) +
                  parameter("ferry.buckets", BUCKET) +
                  parameter("ferry.pad.ids", PADDED) +
                  parameter("ferry.pad.spectrum", "ids") +
                  parameter("ferry.mask.mask", "ids")),
    # It computes as long as the largest number says.
    "loops": ("loops", 'backend: "pytorch"\nmax_batch_size: 1\n' +
              tensor("input", "input", "FP32", [3]) +
              tensor("output", "output", "FP32", [3])),
}
MODELS["crashes"] = ("pixels", MODELS["loops"][1])  # where its first number says so


def request_of(model, *inputs, request_id="r"):
    """inputs: (name, type, shape, bytes)."""
    request = pb.ModelInferRequest(model_name=model, id=request_id)
    for name, kind, shape, contents in inputs:
        request.inputs.add(name=name, datatype=kind, shape=shape)
        request.raw_input_contents.append(contents)
    return request


def rows_of(model, rows, width, value):
    return request_of(model, ("input", "FP32", [rows, width],
                              np.full(rows * width, value, np.float32).tobytes()))


def row_of(model, numbers):
    return request_of(model, ("input", "FP32", [1, len(numbers)],
                              np.float32(numbers).tobytes()))


def texts_of(element):
    return request_of("texts", ("input", "BYTES", [1, 2], framed(element, element)))


def sequence_of(rows, size, whole, number):
    return request_of(
        "sequences",
        ("ids", "INT64", [rows, size],
         np.full(rows * size, whole, np.int64).tobytes()),
        ("spectrum", "FP32", [rows, 2, size],
         np.full(rows * size * 2, number, np.float32).tobytes()))


class Tenant:
    """A client with a token and a connection of its own; keeps what it hears."""

    def __init__(self, server, authority, token):
        self.token = token
        self.answers = []
        self.errors = []
        self.channel = grpc.secure_channel(
            server.address, trust.credentials(authority),
            options=[("grpc.use_local_subchannel_pool", 1),
                     ("grpc.max_send_message_length", -1)])

    def call(self, method, *messages, metadata=None, timeout=CALL_S):
        """Returns the answers, and keeps them with metadata or error."""
        call = self.channel.stream_stream(method)(
            iter(messages), timeout=timeout,
            metadata=trust.bearer(self.token) if metadata is None else metadata)
        answers = []
        try:
            answers += call
        except grpc.RpcError:
            pass
        self.answers += answers
        self.errors.append(repr((call.code(), call.details())).encode())
        for told in (call.initial_metadata(), call.trailing_metadata()):
            self.errors.append(repr(told).encode())
        self.code = call.code().name
        return answers

    def infer(self, request, **options):
        """Returns the raw outputs of the answer; none where it fails."""
        answers = self.call(INFERENCE + "ModelInfer", request.SerializeToString(),
                            **options)
        if not answers:
            return []
        return list(pb.ModelInferResponse.FromString(
            answers[0]).raw_output_contents)

    def heard(self):
        return b"\n".join(self.answers), b"\n".join(self.errors)


def write_models(folder):
    """Returns the repository in it."""
    scripts = os.path.join(folder, "scripts")
    os.mkdir(scripts)
    subprocess.run([WRITE_SCRIPTS, scripts], check=True, timeout=60)
    models = pathlib.Path(folder, "models")
    for name, (script, config) in MODELS.items():
        (models / name / "1").mkdir(parents=True)
        (models / name / "config.pbtxt").write_text(config)
        if script:
            copy = call_operator if name == "crashes" else shutil.copy
            copy(os.path.join(scripts, f"{script}.pt"),
                 models / name / "1" / "model.pt")
    return str(models)


def read_page(port, context, path, token, method="GET", headers=None):
    """Returns all that the server answers, as bytes."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context,
                                             timeout=CALL_S)
    try:
        connection.request(method, path, headers=headers or {
            name.title(): value for name, value in trust.bearer(token)})
        reply = connection.getresponse()
        return (repr((reply.status, reply.reason, reply.getheaders())).encode() +
                b"\n" + reply.read())
    finally:
        connection.close()


def child_that_shows(secret, folder):
    """Returns a process that shows a secret in each place of /proc, for `with`."""
    text = secret.decode()
    code = ("import mmap, os, sys, threading\n"
            "file = open(sys.argv[2], 'w+b')\n"
            "file.write(b'-'); file.flush()\n"
            "mapped = mmap.mmap(file.fileno(), 1)\n"
            "open('/proc/self/comm', 'w').write(sys.argv[1])\n"
            "print('ready', flush=True)\n"
            "sys.stdin.read()\n")
    return subprocess.Popen(
        [sys.executable, "-c", code, text, os.path.join(folder, text)],
        env={"SHOWN": text}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


class CanariesTest(unittest.TestCase):
    """The server ends by a signal that drains it."""
    FLAGS = ()
    EXIT_CODE = 0
    SAID = ()  # (place, what the end says there)
    ITS_OWN = ("access.jsonl", "spans.jsonl", "spans at a collector")

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(
            tempfile.TemporaryDirectory(prefix="ferry-canaries-"))
        cls.temporary = os.path.join(cls.folder, "temporary")
        os.mkdir(cls.temporary)
        cls.authority = trust.Authority(cls.folder)
        cls.pair = cls.authority.sign("server")
        cls.tokens = {name: secrets.token_hex(24)
                      for name in ("one", "two", "reader")}
        cls.near = cls.tokens["one"][:-1] + "x"
        cls.token_file = os.path.join(cls.folder, "tokens")
        cls.token_lines = "".join(
            trust.token_line(name, scopes, cls.tokens[name]) for name, scopes in
            (("one", "infer"), ("two", "infer"), ("reader", "read")))
        trust.write(cls.token_file, cls.token_lines)
        cls.canaries, cls.named = cls.make_canaries()
        cls.start()
        cls.places = {}
        cls.send()
        cls.read_places()

    @classmethod
    def make_canaries(cls):
        """Returns those that may stand nowhere, and the name that the access log
        and the trace have of its own sender's requests."""
        key = read(cls.pair[0]).decode().split("\n")
        found = {f"token {name}": token.encode()
                 for name, token in cls.tokens.items()}
        found |= {"token that is nearly right": cls.near.encode(),
                  "number": struct.pack("<2f", FLOAT, FLOAT),
                  "number in bf16": struct.pack("<2f", ROUNDED, ROUNDED),
                  "digits of the number": b"73214.58",
                  "whole number": struct.pack("<q", WHOLE),
                  "whole number doubled": struct.pack("<q", 2 * WHOLE),
                  "digits of the whole number": str(WHOLE).encode(),
                  "text": TEXT, "scalar of the key": scalar_of(cls.pair[0])}
        found |= {f"line {i} of the key": line.encode() for i, line in
                  enumerate(key) if line and not line.startswith("-")}
        return Canaries(found), Canaries({"name": NAME.encode()})

    @classmethod
    def start(cls):
        cls.stdout = cls.enterClassContext(tempfile.TemporaryFile())
        cls.files = {name: os.path.join(cls.folder, name)
                     for name in ("access.jsonl", "spans.jsonl", "reason file")}
        cls.collector = cls.enterClassContext(Collector())
        with mock.patch.dict(os.environ, TMPDIR=cls.temporary):
            cls.server = FerryProcess(
                "--model-repository", write_models(cls.folder),
                f"--tls-key={cls.pair[0]}", f"--tls-cert={cls.pair[1]}",
                f"--auth-token-file={cls.token_file}", "--log-level=debug",
                f"--access-log={cls.files['access.jsonl']}",
                f"--trace-file={cls.files['spans.jsonl']}", "--trace-share=1",
                f"--otlp-endpoint={cls.collector.endpoint}",
                f"--reason-file={cls.files['reason file']}",
                f"--op-library={os.environ['FERRY_CRASHES_LIBRARY']}",
                "--grpc-reflection", "--admin-rpc", "--probe-loads=on",
                f"--grpc-max-message-bytes={MESSAGE_BYTES}",
                "--metrics-compat=triton", *cls.FLAGS, models=None,
                stdout=cls.stdout)
        cls.addClassCleanup(cls.server.stop)
        cls.context = ssl.create_default_context(
            cafile=cls.authority.certificate)
        cls.one, cls.two, cls.reader = [
            Tenant(cls.server, cls.authority, cls.tokens[name])
            for name in ("one", "two", "reader")]
        for tenant in (cls.one, cls.two, cls.reader):
            cls.addClassCleanup(tenant.channel.close)

    # --- what the clients send ---

    @classmethod
    def send(cls):
        cls.refused_pages = []
        cls.wrong = []  # (what, the code) of the first client's wrong requests
        cls.others = []  # outputs of the second client
        cls.send_wrong()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for _ in range(ROUNDS):
                cls.send_right()
                cls.others.append(cls.send_padded())
            # Both at once: their rows may share a batch.
            first = pool.submit(lambda: [cls.send_right() for _ in range(ROUNDS)])
            second = pool.submit(lambda: [cls.send_padded() for _ in range(ROUNDS)])
            first.result()
            cls.others += second.result()
        cls.ask_all()
        cls.replace_by_wrong_files()

    @classmethod
    def send_right(cls):
        one = cls.one
        one.infer(rows_of("echo", 4, 16, FLOAT), metadata=(
            *trust.bearer(one.token), SAMPLED))
        one.infer(rows_of("sim", BUCKET, 16, FLOAT))
        one.infer(texts_of(TEXT))
        one.infer(rows_of("poison", BUCKET, 3, FLOAT))  # fails
        one.infer(sequence_of(BUCKET, PADDED, WHOLE, FLOAT))

    @classmethod
    def send_padded(cls):
        """Returns the second client's outputs, by model."""
        two = cls.two
        return {"echo": two.infer(rows_of("echo", 1, 16, 1)),
                "sim": two.infer(rows_of("sim", 3, 16, 1)),
                "texts": two.infer(texts_of(b"other")),
                "poison": two.infer(rows_of("poison", 1, 3, 1)),
                "sequences": two.infer(sequence_of(1, 3, 7, 2))}

    @classmethod
    def send_wrong(cls):
        one = cls.one

        def send(what, request, **options):
            if isinstance(request, bytes):
                one.call(INFERENCE + "ModelInfer", request, **options)
            else:
                one.infer(request, **options)
            cls.wrong.append((what, one.code))
        row = rows_of("echo", 1, 16, FLOAT)
        for shown in (trust.bearer(cls.near), (), trust.bearer(""),
                      (("authorization", one.token),),
                      (("authorization", f"Basic {one.token}"),),
                      (("token", one.token),)):
            send("wrong token", row, metadata=shown)
        send("two tokens", row, metadata=(*trust.bearer(one.token),
                                          *trust.bearer(cls.near)))
        secret = row.raw_input_contents[0]
        send("wrong shape", request_of("echo", ("input", "FP32", [2, 16], secret)))
        send("wrong width", request_of("echo", ("input", "FP32", [1, 5], secret)))
        send("wrong type", request_of("echo", ("input", "INT64", [1, 16], secret)))
        send("type that is none", request_of("echo", ("input", NAME, [1, 16],
                                                      secret)))
        send("too large", rows_of("echo", MESSAGE_BYTES // 64 + 1, 16, FLOAT))
        send("too many rows", rows_of("poison", 1000, 3, FLOAT))
        send("no message", secret * 20)
        send("cut message", row.SerializeToString()[:-7])
        send("unknown model", request_of(NAME, ("input", "FP32", [1, 16], secret),
                                         request_id=NAME))
        send("unknown input", request_of("echo", (NAME, "FP32", [1, 16], secret),
                                         request_id=NAME))
        send("wrong length of text", request_of("texts", (
            "input", "BYTES", [1, 2], framed(TEXT, TEXT)[:-3])))
        send("text more", request_of("texts", (
            "input", "BYTES", [1, 2], framed(TEXT, TEXT, TEXT))))
        row = rows_of("echo", 1, 16, FLOAT)
        del row.raw_input_contents[:]
        row.inputs[0].contents.bytes_contents.append(TEXT)
        send("contents of another type", row)
        for key in ("priority", "timeout", "sequence_id", "canary"):
            row = rows_of("echo", 1, 16, FLOAT)
            row.parameters[key].string_param = TEXT.decode()
            send("parameter " + key, row)
        send("past its time", rows_of("sim", 1, 16, FLOAT), timeout=0.001)
        send("metadata", rows_of("echo", 1, 16, FLOAT), metadata=(
            *trust.bearer(one.token), ("traceparent", TEXT.decode()),
            ("x-canary-bin", secret), ("x-canary", TEXT.decode())))
        one.call(INFERENCE + "ModelStreamInfer", row.SerializeToString(),
                 secret * 9)
        one.call(INFERENCE + "NoMethod", secret)
        one.call(INFERENCE + "ModelStatistics", b"")
        one.call(INFERENCE + "RepositoryModelLoad",
                 pb.RepositoryModelLoadRequest(
                     model_name="echo").SerializeToString())
        cls.send_outside_grpc()

    @classmethod
    def send_outside_grpc(cls):
        """Wrong requests over HTTP, and what is no TLS at both ports."""
        for token in (cls.one.token, cls.near):
            for method in ("GET", "POST", "PUT"):
                cls.refused_pages.append(read_page(
                    cls.server.metrics_port, cls.context, "/metrics", token, method))
            cls.refused_pages.append(read_page(
                cls.server.metrics_port, cls.context, f"/v2?token={token}", token,
                headers={"Authorization": f"Basic {token}",
                         "Cookie": TEXT.decode()}))
            plain = (f"GET /{token} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
                     f"{token}\r\n\r\n").encode()
            for port in (cls.server.port, cls.server.metrics_port):
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    connection.sendall(plain)
                    connection.settimeout(1)
                    with contextlib.suppress(OSError):
                        cls.refused_pages.append(connection.recv(1 << 16))

    @classmethod
    def ask_all(cls):
        """The others ask for whatever the server tells."""
        for tenant in (cls.two, cls.reader):
            for method in ("ServerLive", "ServerReady", "ServerMetadata",
                           "ModelStatistics", "RepositoryIndex", "TraceSetting",
                           "LogSettings", "SystemSharedMemoryStatus",
                           "CudaSharedMemoryStatus"):
                tenant.call(INFERENCE + method, b"")
            for model in MODELS:
                for message, method in ((pb.ModelMetadataRequest, "ModelMetadata"),
                                        (pb.ModelConfigRequest, "ModelConfig"),
                                        (pb.ModelReadyRequest, "ModelReady"),
                                        (pb.ModelStatisticsRequest,
                                         "ModelStatistics")):
                    tenant.call(INFERENCE + method,
                                message(name=model).SerializeToString())
            tenant.call("/grpc.health.v1.Health/Check", b"")
            tenant.call("/ferry.v1.Admin/GetRuntimeOptions", b"")
            tenant.call(f"/{REFLECTION}/ServerReflectionInfo",
                        Request(list_services=b"x").SerializeToString())
            tenant.call(INFERENCE + "NoMethod", b"")
            for wrong in (rows_of("echo", 2, 15, 1), rows_of("none", 1, 16, 1),
                          rows_of("sequences", 1, 16, 1)):
                tenant.infer(wrong)
            many = [rows_of(model, 1, 16, 1).SerializeToString()
                    for model in ("echo", "sim", "none")]
            tenant.call(INFERENCE + "ModelStreamInfer", *many)

    @classmethod
    def says(cls, text):
        return wait_until(lambda: any(text in line for line in cls.server.log))

    @classmethod
    def replace_by_wrong_files(cls):
        """Mistakes: the token in the place of its digest, a key of another."""
        trust.write(cls.token_file, f"one infer {cls.tokens['one']}\n")
        assert cls.says("tokens stay those before")
        trust.write(cls.token_file, cls.token_lines)
        certificate = read(cls.pair[1])
        other = trust.Authority(cls.folder, "other")
        trust.write(cls.pair[1], read(other.certificate).decode())
        assert cls.says("got that of another")
        trust.write(cls.pair[1], read(cls.pair[0]).decode())
        assert cls.says("a certificate in PEM")
        trust.write(cls.pair[1], certificate.decode())

    # --- where canaries are looked for ---

    @classmethod
    def read_places(cls):
        places = cls.places
        places["pages to wrong requests"] = b"\n".join(cls.refused_pages)
        for name, token in (*cls.tokens.items(), ("none", "")):
            places |= {f"page {path} to {name}": read_page(
                cls.server.metrics_port, cls.context, path, token)
                for path in PAGES}
            places[f"OpenMetrics to {name}"] = read_page(
                cls.server.metrics_port, cls.context, "/metrics", token, headers={
                    "Accept": "application/openmetrics-text",
                    **{one.title(): value
                       for one, value in trust.bearer(token)}})
        for name in ("two", "reader"):
            answers, errors = getattr(cls, name).heard()
            places |= {f"answers to {name}": answers, f"errors to {name}": errors}
        cls.server.signal(signal.SIGUSR1)
        assert cls.says("state: model ")
        places |= {f"/proc {name}": text for name, text in
                   process_texts(cls.server.process.pid).items()}
        places["temporary files"] = folder_text(cls.temporary)
        assert wait_until(lambda: all(NAME.encode() in text for text in (
            read(cls.files["access.jsonl"]), read(cls.files["spans.jsonl"]),
            b"".join(cls.collector.texts))))
        cls.end()
        assert cls.server.wait() == cls.EXIT_CODE, cls.server.log
        places["log"] = "".join(cls.server.log).encode()
        cls.stdout.seek(0)
        places["standard output"] = cls.stdout.read()
        for name, path in cls.files.items():
            places[name] = read(path)
        places["spans at a collector"] = b"\n".join(cls.collector.texts)
        places["temporary files at the end"] = folder_text(cls.temporary)

    @classmethod
    def end(cls):
        cls.server.signal()

    def test_no_canary_stands_in_what_the_server_tells(self):
        for place, text in self.places.items():
            with self.subTest(place):
                self.assertEqual(self.canaries.hits(text), [])

    def test_names_of_a_client_stand_in_its_own_lines_alone(self):
        for place, text in self.places.items():
            with self.subTest(place):
                if place in self.ITS_OWN:
                    self.assertIn(NAME.encode(), text)
                else:
                    self.assertEqual(self.named.hits(text), [])

    def test_errors_hold_no_tensor_and_no_token_of_their_own_sender(self):
        self.assertEqual(self.canaries.hits(self.one.heard()[1]), [])

    def test_padding_holds_nothing_of_others(self):
        self.assertEqual(len(self.others), 2 * ROUNDS)
        ones = np.ones(48, np.float32).tobytes()
        twice = np.zeros(PADDED, np.int64)
        twice[:3] = 14
        tokens = np.zeros((PADDED, 2), np.float32)
        tokens[:3] = 2
        for outputs in self.others:
            self.assertEqual(outputs["echo"], [ones[:64]])
            self.assertEqual(outputs["sim"], [ones])
            self.assertEqual(outputs["texts"], [framed(b"other", b"other")])
            self.assertEqual(outputs["poison"], [ones[:12]])
            self.assertEqual(outputs["sequences"], [
                np.float32(21).tobytes(), np.float32(PADDED).tobytes(),
                tokens.tobytes(), twice.tobytes()])
        metrics = self.places["page /metrics to reader"].decode()
        for model in ("poison", "sequences", "sim"):
            self.assertRegex(metrics, "ferry_padding_rows_total{[^}]*"
                             rf'model="{model}"[^}}]*}} [1-9]')
        self.assertRegex(metrics, r'ferry_padding_elements_total{[^}]*} [1-9]')

    def test_wrong_requests_were_refused(self):
        served = {what for what, code in self.wrong if code == "OK"}
        self.assertLessEqual(served, {"parameter canary", "metadata",
                                      "past its time"})
        codes = [code for what, code in self.wrong if what == "wrong token"]
        self.assertEqual(set(codes), {"UNAUTHENTICATED"})

    def test_each_place_has_what_it_is_to_have(self):
        for place, said in (
                ("log", b"state: model "), ("log", b"model failed model=poison"),
                ("log", b"tokens stay those before"),
                ("access.jsonl", b'"model":"sequences"'),
                ("access.jsonl", b'"code":"INTERNAL"'),
                ("spans.jsonl", b'"compute"'),
                ("spans at a collector", b'"compute"'),
                ("spans at a collector", b"POST /v1/traces"), *self.SAID,
                ("page /metrics to reader", b"ferry_unauthorized_total"),
                ("page /metrics/fine to reader", b"(200, "),
                ("page /status.json to reader", b'"models"'),
                ("page /v2/models/echo to two", b'"inputs"'),
                ("page / to none", b"<html"),
                ("page /metrics to none", b"(401, "),
                ("pages to wrong requests", b"(401, "),
                ("pages to wrong requests", b"(403, "),
                ("answers to two", b"sequences"), ("errors to two", b"NOT_FOUND"),
                ("answers to reader", b"poison"),
                ("errors to reader", b"PERMISSION_DENIED"),
                ("/proc cmdline", b"--auth-token-file"), ("/proc environ", b"PATH="),
                ("/proc maps", b"libgrpc"), ("/proc fd", b"socket:"),
                ("/proc threads", b"ferry")):
            with self.subTest(place, said=said):
                self.assertIn(said, self.places[place])

    # --- the search itself ---

    def test_first_client_gets_its_own_tensors_and_names(self):
        answers, errors = self.one.heard()
        found = {name for name, _ in self.canaries.hits(answers)}
        self.assertGreaterEqual(found, {"number", "whole number doubled", "text"})
        self.assertIn(("name", "as it is"), self.named.hits(errors))

    def test_canary_is_found_in_each_form(self):
        for name, form, planted in self.canaries.forms + self.named.forms:
            with self.subTest(name, form=form):
                self.assertIn((name, form), self.either(b"a" + planted + b"b"))

    def test_canary_is_found_in_each_place(self):
        every = [*self.canaries.forms, *self.named.forms]
        for place, text in self.places.items():
            with self.subTest(place):
                half = len(text) // 2
                planted = b" ".join([text[:half], *(one for _, _, one in every),
                                     text[half:]])
                self.assertEqual(self.either(planted), [one[:2] for one in every])

    def either(self, text):
        return self.canaries.hits(text) + self.named.hits(text)

    def test_base64_is_found_wherever_it_begins(self):
        canary = Canaries({"text": TEXT})
        for before in range(6):
            for behind in range(3):
                planted = base64.b64encode(b"-" * before + TEXT + b"-" * behind)
                self.assertTrue(canary.hits(planted), planted)

    def test_canary_is_found_in_proc_and_in_folders(self):
        secret = self.tokens["one"].encode()
        with tempfile.TemporaryDirectory() as folder:
            with child_that_shows(secret, folder) as child:
                self.assertEqual(child.stdout.readline(), b"ready\n")
                texts = process_texts(child.pid)
                child.stdin.close()
            self.assertTrue(self.canaries.hits(folder_text(folder)))
            with open(os.path.join(folder, "other"), "wb") as file:
                file.write(forms(secret)["base64 1"])
            self.assertIn(("token one", "base64 1"),
                          self.canaries.hits(folder_text(folder)))
        for name, text in texts.items():
            with self.subTest(name):
                self.assertTrue(self.canaries.hits(text), text)

    def test_scalar_is_that_of_the_key(self):
        der = subprocess.run(
            ["openssl", "ec", "-in", self.pair[0], "-outform", "DER"], check=True,
            capture_output=True).stdout
        self.assertIn(scalar_of(self.pair[0]).rjust(32, b"\0"), der)


class HangTest(CanariesTest):
    """The server ends as a batch hangs that has canaries; its log is of JSON."""
    FLAGS = ("--log-format=json", "--backend-timeout-secs=10",
             "--exit-timeout-secs=1")
    EXIT_CODE = 3
    SAID = (("log", b'"message":"state: model loops version=1 is ready '
                    b'queue_requests=0 queue_rows=0 running_batches=1"'),
            ("log", b"cannot go on: backend hangs model=loops"),
            ("reason file", b"cannot go on: backend hangs model=loops"))

    @classmethod
    def end(cls):
        cls.one.infer(row_of("loops", [FLOAT, FLOAT, 1e12]))


class CrashTest(CanariesTest):
    """The server ends as a model crashes that has canaries."""
    EXIT_CODE = -signal.SIGSEGV
    SAID = tuple((place, said) for place in ("log", "reason file")
                 for said in (b"ferry-server crashed: SIGSEGV", b"WriteToNull"))

    @classmethod
    def end(cls):
        cls.one.infer(row_of("crashes", [WRITE_TO_NULL, FLOAT, FLOAT]))


if __name__ == "__main__":
    unittest.main()
