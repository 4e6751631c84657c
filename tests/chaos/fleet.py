"""Three ferry-servers of one repository, with TLS and tokens, and what starts them
again: the part of the launcher that the chaos needs, with ends that it may count."""

import asyncio
import pathlib
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

import grpc

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "support")]
import scale_model  # pylint: disable=wrong-import-position
import trust
from ferry_process import SERVER, free_port, sim_config

COUNT = 3
DRAIN_DELAY_S = 10  # as docs/deploy.md says for HAProxy
RESTART_S = 0.5
LOOK_S = 0.2
STEADY_S = 2  # so long after it is ready a proxy has seen it
START_S = 90
KILLED = -signal.SIGKILL


class Server:
    """One of them. `state` is what was done to it: up, stopped, ending or down."""

    def __init__(self, index, port):
        self.index = index
        self.name = f"server-{index}"
        self.host = f"127.0.0.{1 + index}" if port else "127.0.0.1"
        self.grpc_port, self.metrics_port = port or free_port(), free_port()
        self.process = None
        self.state = "down"
        self.is_ready = False
        self.ready_since = None
        self.start_at = 0.0
        self.stays_down_s = RESTART_S
        self.expected = set()  # exit codes

    @property
    def address(self):
        return f"{self.host}:{self.grpc_port}"

    def is_steady(self, now):
        return (self.state == "up" and self.is_ready and
                now - self.ready_since >= STEADY_S)

    def signal(self, number):
        self.process.send_signal(number)


class Fleet:
    """Starts with `async with`, which ends all of them by their ids. Everything is
    of one event loop but reads of health, which have threads. has_one_port: each
    server has an address of its own instead, as behind a name of DNS."""

    def __init__(self, folder, *flags, drain_delay_s=DRAIN_DELAY_S, alpha_ms=5,
                 has_one_port=False):
        self.folder = pathlib.Path(folder)
        self.repository = self.folder / "models"
        port = free_port() if has_one_port else None
        self.servers = [Server(i, port) for i in range(COUNT)]
        self.unexpected = []  # ends that no event asked for
        self.ends = {}  # how often a process ended with which code
        self.versions = set()  # that may answer, those of now and before
        self.present = []  # good versions that are in the repository
        self._newest = 0
        self._flags = flags
        self._drain_delay_s = drain_delay_s
        self._is_over = False
        self.repository.mkdir()
        for model in ("sim", "scale"):
            (self.repository / model).mkdir()
        (self.repository / "sim" / "1").mkdir()
        (self.repository / "sim" / "config.pbtxt").write_text(
            sim_config(16, alpha_ms=alpha_ms, beta_ms=0.1))
        scale_model.write_config(self.repository, "scale",
                                 scale_model.SCALE_CONFIG)
        self.add_version()
        self.authority = trust.Authority(str(self.folder))
        self.certificates = 0
        self.rotate_certificate()
        self._tokens = []
        self._rotating = asyncio.Lock()
        self.token = self.add_token()
        self.context = ssl.create_default_context(
            cafile=self.authority.certificate)

    # What clients and proxies need.

    @property
    def ca(self):
        return self.authority.certificate

    def metadata(self):
        return trust.bearer(self.token)

    # What events do; each is done when it returns.

    def add_version(self):
        self._newest += 1
        self.versions.add(self._newest)
        self.present.append(self._newest)
        scale_model.write_version(self.repository, self._newest)
        return self._newest

    def add_broken_version(self):
        """Returns its folder, in which a file of weights is cut."""
        self._newest += 1
        made = self.repository / f".broken-{self._newest}"
        made.mkdir()
        weights = scale_model.scale_weights(self._newest)
        (made / "model.safetensors").write_bytes(weights[:len(weights) // 2])
        return made.rename(self.repository / "scale" / str(self._newest))

    def remove_version(self):
        """Rolls back to the version before; returns the one that is gone."""
        gone = self.present.pop()
        self.forget(self.repository / "scale" / str(gone))
        return gone

    def forget(self, folder):
        away = self.repository / f".gone-{folder.name}"
        folder.rename(away)
        shutil.rmtree(away)

    def rotate_certificate(self):
        self.certificates += 1
        key, certificate = self.authority.sign(f"server-{self.certificates}",
                                               "server")
        return key, certificate

    def add_token(self):
        """Adds one to the file, beside the one before; returns it."""
        self._tokens.append(f"chaos-token-{len(self._tokens)}")
        first = max(0, len(self._tokens) - 2)
        trust.write(str(self.folder / "tokens"), "".join(
            trust.token_line(f"client-{i}", "infer,read", self._tokens[i])
            for i in range(first, len(self._tokens))))
        return self._tokens[-1]

    async def rotate_token(self):
        """Adds a token, and lets clients use it once each server knows it."""
        async with self._rotating:  # the one before is still in use meanwhile
            token = self.add_token()
            credentials = trust.credentials(self.authority)
            for server in self.servers:
                while not await self._knows(server, credentials, token):
                    await asyncio.sleep(LOOK_S)
            self.token = token

    async def _knows(self, server, credentials, token):
        async with grpc.aio.secure_channel(server.address, credentials) as channel:
            try:
                await channel.unary_unary(
                    "/inference.GRPCInferenceService/ServerMetadata")(
                        b"", metadata=trust.bearer(token), timeout=2)
                return True
            except grpc.RpcError:
                return False

    def kill(self, server):
        server.expected = {KILLED}
        server.state, server.stays_down_s = "ending", RESTART_S
        server.signal(signal.SIGKILL)

    def drain(self, server, stays_down_s=RESTART_S):
        server.expected = {0}
        server.state, server.stays_down_s = "ending", stays_down_s
        server.signal(signal.SIGTERM)

    def stop(self, server):
        server.state = "stopped"
        server.signal(signal.SIGSTOP)

    def go_on(self, server):
        server.signal(signal.SIGCONT)
        server.state = "up"
        server.ready_since = time.monotonic()  # proxies may not know it yet

    def steady(self):
        now = time.monotonic()
        return [server for server in self.servers if server.is_steady(now)]

    # Life.

    def _start(self, server):
        log = open(self.folder / f"{server.name}.log", "a", encoding="utf-8")
        with log:
            # The kernel ends it with this process; setpriv becomes the server.
            server.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", SERVER,
                 f"--grpc-address={server.host}",
                 f"--grpc-port={server.grpc_port}",
                 f"--metrics-port={server.metrics_port}",
                 f"--model-repository={self.repository}",
                 "--model-control-mode=poll", "--repository-poll-secs=0.5",
                 "--exit-on-error=false", "--threads=1",
                 f"--tls-cert={self.folder / 'server.pem'}",
                 f"--tls-key={self.folder / 'server.key'}",
                 f"--auth-token-file={self.folder / 'tokens'}", "--open-health",
                 f"--drain-delay-secs={self._drain_delay_s}", *self._flags],
                stdout=log, stderr=log)
        server.state, server.expected = "up", set()
        server.is_ready, server.ready_since = False, None

    def _ask_ready(self, server):
        try:
            with urllib.request.urlopen(
                    f"https://127.0.0.1:{server.metrics_port}/v2/health/ready",
                    timeout=2, context=self.context) as reply:
                return reply.status == 200
        except (urllib.error.URLError, OSError):
            return False

    async def _watch(self, server):
        while not self._is_over:
            now = time.monotonic()
            if server.process is not None and server.process.poll() is not None:
                self._ended(server, server.process.returncode, now)
            if server.process is None:
                if now >= server.start_at:
                    self._start(server)
            elif server.state == "up":
                ready = await asyncio.to_thread(self._ask_ready, server)
                if server.state == "up":
                    if ready and not server.is_ready:
                        server.ready_since = time.monotonic()
                    server.is_ready = ready
            await asyncio.sleep(LOOK_S)

    def _ended(self, server, code, now):
        self.ends[code] = self.ends.get(code, 0) + 1
        if code not in server.expected:
            self.unexpected.append(
                f"{server.name} ended with {code}, expected "
                f"{sorted(server.expected) or 'no end'}")
        server.process, server.is_ready, server.state = None, False, "down"
        server.start_at = now + server.stays_down_s

    async def __aenter__(self):
        self._watches = [asyncio.create_task(self._watch(server))
                         for server in self.servers]
        deadline = time.monotonic() + START_S
        while len(self.steady()) < COUNT:
            if time.monotonic() > deadline or self.unexpected:
                await self.__aexit__()
                raise RuntimeError(f"the servers are not ready: {self.unexpected} "
                                   + self.log_ends())
            await asyncio.sleep(LOOK_S)
        return self

    async def __aexit__(self, *_):
        self._is_over = True
        await asyncio.gather(*self._watches)
        for server in self.servers:
            if server.process is not None and server.process.poll() is None:
                server.process.kill()  # also ends one that is stopped
                server.process.wait()

    def log_ends(self, lines=5):
        texts = []
        for server in self.servers:
            path = self.folder / f"{server.name}.log"
            if path.exists():
                last = path.read_text("utf-8").splitlines()[-lines:]
                texts.append(f"{server.name}:\n" + "\n".join(last))
        return "\n".join(texts)
