"""Which client may call what: each method of each service without a token, with
a wrong one, with one that lacks the scope and with the right one, over TLS, mTLS,
by the name in a certificate, over a UNIX socket and at the admin address;
certificates and tokens that are replaced under load."""

import asyncio
import contextlib
import os
import socket
import ssl
import stat
import tempfile
import time
import unittest
import urllib.error

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import trust
from ending_test import one_row
from ferry_process import FerryProcess, free_port, run, wait_until
from reflected import Reflection

HEALTH = {"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
          *(f"/inference.GRPCInferenceService/{name}" for name in
            ("ServerLive", "ServerReady", "ModelReady"))}
DRAIN = "/ferry.v1.Admin/Drain"
ADMIN = {"/ferry.v1.Admin/GetRuntimeOptions", "/ferry.v1.Admin/SetRuntimeOptions",
         DRAIN,
         "/inference.GRPCInferenceService/RepositoryModelLoad",
         "/inference.GRPCInferenceService/RepositoryModelUnload"}
READ = {"/inference.GRPCInferenceService/ModelStatistics",
        "/inference.GRPCInferenceService/RepositoryIndex",
        "/inference.GRPCInferenceService/TraceSetting",
        "/inference.GRPCInferenceService/LogSettings",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}
TOKENS = {scope: f"{scope}-5ca1ab1e-token" for scope in ("infer", "read", "admin")}
WRONG = "wrong-5ca1ab1e-token"
REFUSALS = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
CALL_S = 20


def scope_of(path):
    return ("health" if path in HEALTH else "admin" if path in ADMIN else
            "read" if path in READ else "infer")


class TrustCase(unittest.TestCase):

    def setUp(self):
        self.folder = self.enterContext(
            tempfile.TemporaryDirectory(prefix="ferry-trust-"))
        self.token_file = os.path.join(self.folder, "tokens")
        self.write_tokens("".join(trust.token_line(f"{scope}-client", scope, token)
                                  for scope, token in TOKENS.items()))

    def write_tokens(self, text):
        trust.write(self.token_file, text)

    def sign(self):
        """Makes an authority, and signs the server's certificate."""
        self.authority = trust.Authority(self.folder)
        self.pair = self.authority.sign("server")
        return [f"--tls-key={self.pair[0]}", f"--tls-cert={self.pair[1]}"]

    def start(self, *flags, models=("echo",)):
        return self.enterContext(FerryProcess(*flags, models=models))

    def connect(self, address, credentials=None):
        channel = (grpc.insecure_channel(address) if credentials is None
                   else grpc.secure_channel(address, credentials))
        return self.enterContext(channel)

    def outcome(self, channel, path, metadata=None):
        """Returns the code of a call without a message, and its text."""
        call = channel.stream_stream(path)(iter([b""]), metadata=metadata,
                                           timeout=CALL_S)
        try:
            for _ in call:
                call.cancel()  # a watch goes on
                return grpc.StatusCode.OK, ""
            return call.code(), call.details()
        except grpc.RpcError as error:
            return error.code(), error.details()


class MethodsTest(TrustCase):
    WRONG_TOKENS = (trust.bearer(WRONG), trust.bearer(""), (("authorization", "x"),))

    def check_by_tokens(self, channel, elsewhere=()):
        self.check_each_method(
            {scope: (channel, trust.bearer(token))
             for scope, token in TOKENS.items()},
            [(channel, shown) for shown in (None, *self.WRONG_TOKENS)], elsewhere)

    def check_each_method(self, clients, strangers, elsewhere=()):
        """Calls each method of each service that is registered, and then the one
        that ends the server. clients: (channel, metadata) by scope. elsewhere: the
        methods that only another address has."""
        reflection = Reflection(*clients["read"])
        paths = {f"/{service}/{method.name}" for service in reflection.services()
                 for method in reflection.service(service).methods}
        self.assertGreaterEqual(paths, HEALTH | ADMIN | READ)
        self.assertEqual(len(paths), 26)
        self.check_methods_that_are_none(strangers[0], clients["admin"])
        texts = set()
        for path in sorted(paths, key=lambda path: (path == DRAIN, path)):
            with self.subTest(path):
                for channel, shown in strangers:
                    code, text = self.outcome(channel, path, shown)
                    self.assertEqual(code, grpc.StatusCode.UNAUTHENTICATED)
                    texts.add(text)
                let_in, refused = set(), set()
                for scope, (channel, shown) in clients.items():
                    code, text = self.outcome(channel, path, shown)
                    if code not in REFUSALS:
                        let_in.add(scope)
                    elif "at the server's --admin-address alone" in text:
                        refused.add(scope)
                needed = scope_of(path)
                self.assertEqual(refused, set(clients) if path in elsewhere
                                 else set())
                self.assertEqual(
                    let_in, set() if path in elsewhere else
                    set(clients) if needed == "health" else {needed})
        self.assertEqual(len(texts), 1, "unknown and wrong are told apart")

    def check_methods_that_are_none(self, stranger, admin):
        for (channel, shown), code in zip((stranger, admin), REFUSALS):
            self.assertEqual(self.outcome(
                channel, "/inference.GRPCInferenceService/Other", shown)[0], code)

    def flags(self):
        return [f"--auth-token-file={self.token_file}", "--grpc-reflection",
                "--admin-rpc", "--model-control-mode=explicit",
                "--load-model=echo"]

    def test_over_tls(self):
        server = self.start(*self.sign(), *self.flags())
        self.check_by_tokens(self.connect(
            server.address, trust.credentials(self.authority)))

    def test_over_mutual_tls(self):
        tls = self.sign()
        server = self.start(*tls, *self.flags(),
                            f"--tls-client-ca={self.authority.certificate}")
        pair = self.authority.sign("unlisted")
        self.check_by_tokens(self.connect(
            server.address, trust.credentials(self.authority, pair)))

    def test_by_the_name_in_a_certificate(self):
        self.write_tokens("".join(f"{scope}-client {scope} cert:{scope}.example\n"
                                  for scope in TOKENS))
        tls = self.sign()
        server = self.start(*tls, *self.flags(),
                            f"--tls-client-ca={self.authority.certificate}")
        channels = {scope: self.connect(server.address, trust.credentials(
            self.authority, self.authority.sign(f"{scope}.example")))
            for scope in (*TOKENS, "unlisted")}
        # A token that is shown counts alone.
        self.check_each_method(
            {scope: (channels[scope], None) for scope in TOKENS},
            [(channels["unlisted"], None),
             *((channels[scope], shown) for scope in TOKENS
               for shown in self.WRONG_TOKENS)])

    def test_over_a_unix_socket(self):
        path = os.path.join(self.folder, "ferry.sock")
        server = self.start(f"--grpc-address=unix:{path}", *self.flags())
        self.assertEqual(server.address, f"unix:{path}")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o660)
        self.assertEqual(server.metric("ferry_connections"), 0,
                         "no token, no page")
        self.check_by_tokens(self.connect(server.address))

    def test_over_plain_loopback(self):
        server = self.start(*self.flags())
        self.check_by_tokens(self.connect(server.address))

    def test_with_an_admin_address(self):
        tls = self.sign()
        for address, flags, credentials in (
                (f"127.0.0.1:{free_port()}", tls, trust.credentials(self.authority)),
                (f"unix:{self.folder}/admin.sock", [], None)):
            with self.subTest(address):
                server = self.start(*flags, *self.flags(),
                                    f"--admin-address={address}")
                self.check_by_tokens(
                    self.connect(server.address, credentials), elsewhere=ADMIN)
                self.check_by_tokens(self.connect(address, credentials))
                self.assertEqual(server.wait(), 0, "by its last method")

    def test_health_may_be_open(self):
        server = self.start(*self.flags(), "--open-health")
        channel = self.connect(server.address)
        for path in sorted(HEALTH):
            self.assertEqual(self.outcome(channel, path)[0],
                             grpc.StatusCode.OK, path)
        self.assertEqual(self.outcome(
            channel, "/inference.GRPCInferenceService/ServerMetadata")[0],
            grpc.StatusCode.UNAUTHENTICATED)
        self.assertEqual(server.get("/v2/health/ready"), (200, "ok\n"))
        self.assertEqual(server.get("/metrics")[0], 401)


class CertificatesTest(TrustCase):

    def test_clients_without_a_certificate_do_not_come_in(self):
        tls = self.sign()
        server = self.start(*tls, f"--tls-client-ca={self.authority.certificate}")
        path = "/inference.GRPCInferenceService/ServerLive"
        strangers = trust.Authority(self.folder, "strangers")
        for pair in (None, strangers.sign("stranger")):
            code, _ = self.outcome(self.connect(server.address, trust.credentials(
                self.authority, pair)), path)
            self.assertEqual(code, grpc.StatusCode.UNAVAILABLE)
        self.assertEqual(self.outcome(self.connect(server.address),
                                      path)[0], grpc.StatusCode.UNAVAILABLE)
        code, _ = self.outcome(self.connect(server.address, trust.credentials(
            self.authority, self.authority.sign("client"))), path)
        self.assertEqual(code, grpc.StatusCode.OK)

    def test_names_in_certificates_have_scopes(self):
        tls = self.sign()
        self.write_tokens("vision infer cert:vision.example\n" +
                          trust.token_line("ops", "admin", TOKENS["admin"]))
        server = self.start(*tls, f"--auth-token-file={self.token_file}",
                            f"--tls-client-ca={self.authority.certificate}")

        def codes(name, metadata=None):
            channel = self.connect(server.address, trust.credentials(
                self.authority, self.authority.sign(name)))
            return [self.outcome(channel, f"/inference.GRPCInferenceService/{rpc}",
                                 metadata)[0]
                    for rpc in ("ServerMetadata", "RepositoryModelUnload")]
        OK, DENIED, UNKNOWN = (grpc.StatusCode.OK, *reversed(REFUSALS))
        self.assertEqual(codes("vision.example"), [OK, DENIED])
        self.assertEqual(codes("other.example"), [UNKNOWN, UNKNOWN])
        # A token is shown: the certificate does not count beside it.
        self.assertEqual(codes("vision.example", trust.bearer(WRONG)),
                         [UNKNOWN, UNKNOWN])
        self.assertEqual(codes("vision.example",
                               trust.bearer(TOKENS["admin"]))[0], DENIED)

    def test_certificate_that_ends_in_force_keeps_new_clients_out(self):
        server = self.start(*self.sign())
        path = "/inference.GRPCInferenceService/ServerLive"

        def fresh():
            with grpc.secure_channel(
                    server.address, trust.credentials(self.authority),
                    options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
                return self.outcome(channel, path)[0]
        context = ssl.create_default_context(cafile=self.authority.certificate)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE

        def expiry():
            text = read_page(server, "/metrics", context)[1]
            return next(float(line.split(" ")[1]) for line in text.splitlines()
                        if line.startswith("ferry_tls_certificate_expiry"))
        end = self.authority.shorten("server", seconds=10)
        self.assertTrue(wait_until(lambda: expiry() == end))
        held = self.connect(server.address, trust.credentials(self.authority))
        self.assertEqual(self.outcome(held, path)[0], grpc.StatusCode.OK)
        self.assertTrue(wait_until(
            lambda: fresh() == grpc.StatusCode.UNAVAILABLE, 30))
        self.assertGreaterEqual(time.time(), end)
        self.assertEqual(self.outcome(held, path)[0], grpc.StatusCode.OK)
        self.authority.sign("server")
        self.assertTrue(wait_until(lambda: fresh() == grpc.StatusCode.OK))

    def test_wrong_files_leave_those_in_force(self):
        server = self.start(*self.sign(), f"--auth-token-file={self.token_file}",
                            "--open-health")
        credentials = trust.credentials(self.authority)

        def says(text):
            self.assertTrue(wait_until(
                lambda: any(text in line for line in server.log)), text)

        def is_served():
            with grpc.secure_channel(server.address, credentials) as channel:
                return self.outcome(
                    channel, "/inference.GRPCInferenceService/ServerMetadata",
                    trust.bearer(TOKENS["infer"]))[0] == grpc.StatusCode.OK
        other = trust.Authority(self.folder, "other").sign("other")
        for wrong, said in ((trust.read(other[1]).decode(), "got that of another"),
                            ("no certificate\n", "a certificate in PEM, got none")):
            trust.write(self.pair[1], wrong)
            says(said)
            self.assertTrue(is_served())
        self.write_tokens("broken\n")
        says(f"tokens stay those before: {self.token_file}:1: expected")
        self.assertTrue(is_served())
        context = ssl.create_default_context(cafile=self.authority.certificate)
        text = read_page(server, "/metrics", context, TOKENS["read"])[1]
        self.assertIn("ferry_trust_reload_failures_total 3", text)
        self.assertIn("ferry_trust_reloads_total 0", text)
        self.assertIn("ferry_tls_certificate_expiry_timestamp_seconds ", text)


def read_page(server, path, context=None, token=None):
    """Returns (code, text)."""
    server.tls = context
    return server.get(path, headers=dict(
        (name.title(), value) for name, value in trust.bearer(token))
        if token else {})


class PagesTest(TrustCase):

    def test_each_page_asks_for_its_scope(self):
        server = self.start(*self.sign(), f"--auth-token-file={self.token_file}")
        context = ssl.create_default_context(cafile=self.authority.certificate)
        scopes = {"/metrics": "read", "/metrics/fine": "read",
                  "/status.json": "read", "/nothing": "read",
                  "/v2": "infer", "/v2/models/echo": "infer",
                  "/v2/health/live": "health", "/v2/health/ready": "health",
                  "/v2/models/echo/ready": "health",
                  "/v2/models/echo/versions/1/ready": "health"}
        for path, scope in scopes.items():
            with self.subTest(path):
                for token in (None, WRONG):
                    self.assertEqual(read_page(server, path, context, token)[0],
                                     401)
                codes = {name: read_page(server, path, context, token)[0]
                         for name, token in TOKENS.items()}
                let_in = {name for name, code in codes.items() if code != 403}
                self.assertEqual(let_in, set(TOKENS) if scope == "health"
                                 else {scope}, codes)
        self.assertEqual(read_page(server, "/", context)[0], 200,
                         "the live page has no data")

    def test_no_page_over_plain_http_where_there_is_tls(self):
        server = self.start(*self.sign())
        with self.assertRaises((urllib.error.URLError, OSError)):
            read_page(server, "/v2/health/live")
        context = ssl.create_default_context(cafile=self.authority.certificate)
        self.assertEqual(read_page(server, "/v2/health/live", context)[0], 200)


class AdminAddressTest(TrustCase):

    def test_models_are_controlled_there_alone(self):
        path = os.path.join(self.folder, "admin.sock")
        server = self.start(f"--admin-address=unix:{path}", "--admin-rpc",
                            "--model-control-mode=explicit", "--load-model=echo",
                            "--grpc-reflection")
        channel = self.connect(server.address)
        admin = self.connect(f"unix:{path}")
        for method in ADMIN:
            code, text = self.outcome(channel, method)
            self.assertEqual(code, grpc.StatusCode.PERMISSION_DENIED, method)
            self.assertIn("--admin-address", text)
        for method in ADMIN - {DRAIN}:
            self.assertNotIn(self.outcome(admin, method)[0], REFUSALS, method)
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        self.assertTrue(stub.ModelInfer(one_row("echo")).raw_output_contents)
        admin_stub = service_pb2_grpc.GRPCInferenceServiceStub(admin)
        admin_stub.RepositoryModelUnload(
            pb.RepositoryModelUnloadRequest(model_name="echo"))
        self.assertFalse(stub.ModelReady(
            pb.ModelReadyRequest(name="echo")).ready)
        self.assertTrue(stub.ServerReady(pb.ServerReadyRequest()).ready)
        self.assertNotIn(self.outcome(admin, DRAIN)[0], REFUSALS)
        self.assertEqual(server.process.wait(timeout=CALL_S), 0)


class RotationsTest(TrustCase):
    ROTATIONS = 20
    OUTSTANDING = 64

    def test_no_request_fails_while_certificates_and_tokens_are_replaced(self):
        server = self.start(*self.sign(), f"--auth-token-file={self.token_file}")
        context = ssl.create_default_context(cafile=self.authority.certificate)
        counts = asyncio.run(self.rotate(server, context))
        self.assertEqual(counts["failed"], 0)
        self.assertGreater(counts["served"], 1000)
        self.assertGreater(counts["channels"], self.ROTATIONS)
        newest = ssl.PEM_cert_to_DER_cert(trust.read(self.pair[1]).decode())
        for port in (server.port, server.metrics_port):
            self.assertTrue(wait_until(
                lambda: self.certificate_at(port, context) == newest))

    def test_authorities_of_clients_are_read_again(self):
        others = trust.Authority(self.folder, "others")
        trusted = os.path.join(self.folder, "trusted.pem")
        first = self.sign()
        trust.write(trusted, trust.read(self.authority.certificate).decode())
        server = self.start(*first, f"--tls-client-ca={trusted}")
        clients = [trust.credentials(self.authority, signer.sign(name))
                   for name, signer in (("old", self.authority), ("new", others))]

        def is_served(credentials):
            with grpc.secure_channel(
                    server.address, credentials,
                    options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
                try:
                    service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(
                        one_row("echo"), timeout=CALL_S)
                    return True
                except grpc.RpcError as error:
                    self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
                    return False
        self.assertEqual([is_served(client) for client in clients], [True, False])
        trust.write(trusted, trust.read(others.certificate).decode())
        self.assertTrue(wait_until(lambda: is_served(clients[1])))
        self.assertFalse(is_served(clients[0]))

    @staticmethod
    def certificate_at(port, context):
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", port)) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as tls:
                return tls.getpeercert(binary_form=True)

    async def rotate(self, server, context):
        counts = {"served": 0, "failed": 0, "channels": 0}
        newest = ["token-0"]
        self.set_tokens(0)
        reader = TOKENS["read"]

        async def until(condition):
            for _ in range(CALL_S * 20):
                if await asyncio.to_thread(condition):
                    return
                await asyncio.sleep(0.05)
            self.fail("not taken in time")

        def value(name):
            text = read_page(server, "/metrics", context, reader)[1]
            return float(next(line.rsplit(" ", 1)[1] for line in text.splitlines()
                              if line.startswith(name + " ")))
        await until(lambda: value("ferry_trust_reloads_total") == 1)
        is_done = asyncio.Event()

        async def send():
            while not is_done.is_set():
                async with grpc.aio.secure_channel(
                        server.address, trust.credentials(self.authority),
                        options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
                    counts["channels"] += 1
                    stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
                    for _ in range(20):
                        try:
                            await stub.ModelInfer(
                                one_row("echo"), timeout=CALL_S,
                                metadata=trust.bearer(newest[0]))
                            counts["served"] += 1
                        except grpc.RpcError as error:
                            counts["failed"] += 1
                            print(error)
        senders = [asyncio.create_task(send()) for _ in range(self.OUTSTANDING)]
        for number in range(1, self.ROTATIONS + 1):
            self.set_tokens(number)
            await asyncio.to_thread(self.authority.sign, f"server-{number}",
                                    "server")
            # Both were taken: the clients move on.
            await until(lambda: value("ferry_trust_reloads_total")
                        == 1 + 2 * number)
            newest[0] = f"token-{number}"
        self.assertEqual(value("ferry_trust_reload_failures_total"), 0)
        is_done.set()
        await asyncio.gather(*senders)
        return counts

    def set_tokens(self, number):
        """Those of this rotation and the one before it are known."""
        self.write_tokens(
            trust.token_line("reader", "read", TOKENS["read"]) + "".join(
                trust.token_line(f"client-{i}", "infer", f"token-{i}")
                for i in (number - 1, number) if i >= 0))


class StartTest(TrustCase):

    def refusal(self, *flags):
        """Returns what the start that ends with exit code 1 said last."""
        ended = run("--grpc-port=0", "--metrics-port=0", "--load-model=mlp",
                    *flags)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertNotIn("PRIVATE KEY", ended.stderr)
        for token in (*TOKENS.values(), WRONG):
            self.assertNotIn(token, ended.stderr)
        return ended.stderr

    def test_no_other_machine_reaches_it_unless_it_is_told_so(self):
        tls = self.sign()
        tokens = f"--auth-token-file={self.token_file}"
        ca = f"--tls-client-ca={self.authority.certificate}"
        exposed = "--grpc-address=0.0.0.0"
        for flags in ([], [tokens]):
            said = self.refusal(exposed, *flags)
            for way in ("--grpc-address=0.0.0.0: expected TLS", "--tls-cert",
                        "127.0.0.1", "unix:", "--insecure"):
                self.assertIn(way, said)
        self.assertIn("expected --auth-token-file or --tls-client-ca",
                      self.refusal(exposed, *tls))
        self.assertIn("--metrics-address=::: expected TLS", self.refusal(
            "--metrics-address=::", "--metrics-port=18002"))
        self.assertIn("--metrics-address=0.0.0.0: expected --auth-token-file "
                      "where", self.refusal(
                          "--metrics-address=0.0.0.0", "--metrics-port=18002",
                          *tls, ca))
        self.assertIn("--admin-address=0.0.0.0: expected TLS",
                      self.refusal("--admin-address=0.0.0.0:0"))
        for flags in ([*tls, tokens], [*tls, ca], ["--insecure"]):
            server = self.start(exposed, *flags)
            self.assertEqual(any("--insecure" in line and "warn" in line
                                 for line in server.log),
                             flags == ["--insecure"])

    def test_files_that_are_wrong_are_told_and_no_secret_is(self):
        tls = self.sign()
        key, certificate = self.pair

        def expect(said, *flags):
            self.assertIn(said, self.refusal(*flags))
        expect("--tls-cert requires --tls-key", f"--tls-cert={certificate}")
        expect("--tls-client-ca requires --tls-cert", f"--tls-client-ca={key}")
        expect("cannot read '/no/ca'", *tls, "--tls-client-ca=/no/ca")
        for begins in (-7200, 7200):  # it is over, or has not begun
            self.authority.shorten("server", 3600, begins)
            expect(f"{certificate}: expected a certificate that is valid now, got",
                   *tls)
        self.sign()
        other = trust.Authority(self.folder, "other")
        expect(f"{certificate}: expected the certificate of the key in "
               f"{other.key}, got that of another",
               f"--tls-cert={certificate}", f"--tls-key={other.key}")
        os.chmod(key, 0o644)
        expect(f"{key}: expected a key that others may not read (chmod o= FILE), "
               "got mode 0644", *tls)
        os.chmod(key, 0o600)
        good = trust.token_line("a", "infer", WRONG)
        for text, said in (
                ("", ": expected a line NAME SCOPES sha256:DIGEST, got none"),
                ("# only words\n", ": expected a line NAME"),
                (good + good, ":2: expected each name, token and certificate "
                              "once, got that of 'a' again"),
                (good + good.replace("a ", "b ", 1), ":2: expected each name"),
                ("x all sha256:" + "0" * 64, ":1: expected scopes of infer, read "
                                             "and admin with commas between"),
                (f"a infer {WRONG}\n", ":1: expected sha256: and 64 hexadecimal"),
                (f"{WRONG}\n", ":1: expected NAME SCOPES sha256:DIGEST or "
                               "cert:NAME, got 1 words"),
                ("a infer cert:b\n", ": expected --tls-client-ca beside a line")):
            self.write_tokens(text)
            expect(self.token_file + said,
                   f"--auth-token-file={self.token_file}")
        self.write_tokens("#" * ((1 << 20) + 1))
        expect("1048576 bytes", f"--auth-token-file={self.token_file}")
        expect("expected a file, got a folder", f"--auth-token-file={self.folder}")
        expect("--admin-address: expected HOST:PORT", "--admin-address=here")

    def test_socket_files_are_taken_over_from_the_dead_alone(self):
        path = os.path.join(self.folder, "s.sock")
        flag = f"--grpc-address=unix:{path}"
        with FerryProcess(flag) as first:
            self.assertIn("Address already in use", self.refusal(flag))
            first.process.kill()
            first.process.wait()
            self.assertTrue(os.path.exists(path))
        with FerryProcess(flag) as server:
            with grpc.insecure_channel(server.address) as channel:
                stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
                self.assertTrue(stub.ModelInfer(one_row("echo")).raw_output_contents)
        self.assertFalse(os.path.exists(path))
        trust.write(path, "mine")
        self.assertIn("it is there, and is no socket", self.refusal(flag))
        os.unlink(path)
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as other:
            other.bind(path)
            other.listen()
            self.assertIn("Address already in use", self.refusal(flag))
        self.assertIn("in 1 to 107 bytes", self.refusal(flag + "x" * 100))


class SeveralTokensTest(TrustCase):

    def test_client_that_shows_several_tokens_is_not_known(self):
        server = self.start(f"--auth-token-file={self.token_file}")
        channel = self.connect(server.address)
        for others in (WRONG, TOKENS["infer"]):
            shown = trust.bearer(TOKENS["infer"]) + trust.bearer(others)
            code, _ = self.outcome(
                channel, "/inference.GRPCInferenceService/ServerMetadata", shown)
            self.assertEqual(code, grpc.StatusCode.UNAUTHENTICATED)


class SecretsTest(TrustCase):

    def test_no_token_is_in_log_or_metrics(self):
        server = self.start(f"--auth-token-file={self.token_file}",
                            "--log-level=debug")
        channel = self.connect(server.address)
        for token in (*TOKENS.values(), WRONG):
            self.outcome(channel, "/inference.GRPCInferenceService/ModelInfer",
                         trust.bearer(token))
        told = [read_page(server, path, None, TOKENS["read"])[1]
                for path in ("/metrics", "/status.json", "/nothing")]
        self.assertIn('ferry_unauthorized_total{reason="unauthenticated"} 1\n',
                      told[0])
        self.assertIn('ferry_unauthorized_total{reason="permission_denied"} 2\n',
                      told[0])
        server.stop()
        for token in (*TOKENS.values(), WRONG):
            for text in (*told, *server.log):
                self.assertNotIn(token, text)


if __name__ == "__main__":
    unittest.main()
