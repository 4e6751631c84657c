"""Runs HAProxy, Envoy and nginx with the configurations that are shipped, changed by no
more than addresses and what is there as a comment, as TLS to the servers, and has each
read its file again."""

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e")]
from ferry_process import accepts, free_port, wait_until  # pylint: disable=wrong-import-position
from tools import ROOT, Tool, replace_once, uncomment

READY_S = 60
PROXY_S = 30  # to end


class Proxy:
    """What both share: a port, a log and processes that `with` ends."""

    def __init__(self, name, folder):
        self.tool = Tool(name)
        self.port = free_port()
        self.path = pathlib.Path(folder) / name
        self.processes = []
        self._log = open(f"{self.path}.log", "ab")  # closed with the proxy

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self, *arguments, **variables):
        self.processes.append(subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", "bash",
             str(self.tool.script), *arguments], stdout=self._log,
            stderr=self._log,
            env=os.environ | {"FERRY_INSTALL_TOOLS": "no"} | variables))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(PROXY_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._log.close()

    def down(self, servers):
        """Returns those of the servers that the proxy takes for not ready."""
        raise NotImplementedError

    def log(self):
        return pathlib.Path(f"{self.path}.log").read_text("utf-8", "replace")


class Haproxy(Proxy):
    """With a master, which starts workers anew on SIGUSR2."""

    def __init__(self, servers, ca, folder, retries=True):
        super().__init__("haproxy", folder)
        self._looked = 0
        text = (ROOT / "deploy/haproxy/haproxy.cfg").read_text("utf-8")
        text = replace_once(
            text, "  default-server proto h2 check ",
            f"  default-server ssl verify required ca-file {ca} sni str(localhost) "
            "check-sni localhost alpn h2 check-ssl check-alpn http/1.1 check ")
        if not retries:
            text = replace_once(text, "  retries 3\n", "  retries 0\n")
        config = self.path.with_suffix(".cfg")
        config.write_text(text)
        variables = {"FERRY_LISTEN": self.address}
        for i, server in enumerate(servers):
            variables[f"FERRY_SLICE_{i}"] = server.address
            variables[f"FERRY_CHECK_{i}"] = str(server.metrics_port)
        self.start("-W", "-db", "-f", str(config), **variables)

    def reload(self):
        """Returns at once; a new worker takes over when it has read the file."""
        self._looked = len(self.log())  # the new worker takes all for ready
        self.processes[0].send_signal(signal.SIGUSR2)
        return True

    def down(self, servers):
        said = re.findall(r"slices/slice-(\d) is (UP|DOWN)",
                          self.log()[self._looked:])
        last = {int(index): state for index, state in said}
        return [server for server in servers if last.get(server.index) == "DOWN"]

    def wait_until_ready(self):
        if not wait_until(lambda: accepts(self.port), READY_S):
            raise RuntimeError("HAProxy is not ready:\n" + self.log())


class Envoy(Proxy):
    """A reload is a hot restart: another process takes over the port."""

    DRAIN_S, PARENT_S = 5, 15  # of the process before
    LEAST_S = PARENT_S + 3  # between reloads
    TAKES = ("transport_socket",)  # of what is there as a comment

    def __init__(self, servers, ca, folder, retries=True):
        super().__init__("envoy", folder)
        self.admin_port = free_port()
        text = (ROOT / "deploy/envoy/envoy.yaml").read_text("utf-8")
        for old, new in [(9901, self.admin_port), (8001, self.port)] + [
                (8101 + i, server.grpc_port) for i, server in enumerate(servers)]:
            text = replace_once(text, f"port_value: {old}}}",
                                f"port_value: {new}}}")
        for key in self.TAKES:
            text = uncomment(text, key)
        text = replace_once(text, "/etc/ferry/ca.pem", ca)
        if not retries:
            text = replace_once(text, "num_retries: 2", "num_retries: 0")
        self._config = self.path.with_suffix(".yaml")
        self._config.write_text(text)
        self._base = random.randrange(1, 1 << 20)
        self._reloaded_at = 0.0
        self._launch()

    def _launch(self):
        self.start("-c", str(self._config), "--concurrency", "1", "-l", "warning",
                   "--base-id", str(self._base),
                   "--restart-epoch", str(len(self.processes)),
                   "--drain-time-s", str(self.DRAIN_S),
                   "--parent-shutdown-time-s", str(self.PARENT_S))

    def reload(self):
        """Starts the next process, unless one before the last is still there."""
        if time.monotonic() - self._reloaded_at < self.LEAST_S:
            return False
        self._reloaded_at = time.monotonic()
        self._launch()
        return True

    def _page(self, path):
        """Returns a page of its admin port, or "" where there is none now."""
        try:
            with urllib.request.urlopen(
                    f"http://127.0.0.1:{self.admin_port}{path}",
                    timeout=1) as reply:
                return reply.read().decode()
        except OSError:
            return ""

    def down(self, servers):
        page = self._page("/clusters")
        return [server for server in servers if
                f"ferry::{server.address}::health_flags::healthy\n" not in page]

    def wait_until_ready(self):
        if not wait_until(lambda: self._page("/ready"), READY_S):
            raise RuntimeError("Envoy is not ready:\n" + self.log())


class WeightedEnvoy(Envoy):
    """By the load that servers tell with --endpoint-load-metrics."""

    TAKES = (*Envoy.TAKES, "load_balancing_policy")


class Nginx(Proxy):
    """Looks at no health: it hears of a server's end from connections that fail."""

    def __init__(self, servers, ca, folder):
        super().__init__("nginx", folder)
        text = (ROOT / "deploy/nginx/nginx.conf").read_text("utf-8")
        for old, new in [("127.0.0.1:8001", self.address),
                         ("/run/ferry-nginx.pid", f"{self.path}.pid"),
                         ("grpc_pass grpc:", "grpc_pass grpcs:")] + [
                             (f"127.0.0.1:{8101 + i}", server.address)
                             for i, server in enumerate(servers)]:
            text = replace_once(text, old, new)
        text = text.replace("#grpc_ssl", "grpc_ssl").replace("/etc/ferry/ca.pem", ca)
        # Where Debian's build writes to belongs to what is installed.
        temporary = "".join(
            f"  {kind}_temp_path {self.path}.{kind};\n" for kind in
            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        text = replace_once(text, "http {\n", "http {\n" + temporary)
        config = self.path.with_suffix(".conf")
        config.write_text(text)
        self.start("-c", str(config), "-g", "daemon off;")

    def wait_until_ready(self):
        if not wait_until(lambda: accepts(self.port), READY_S):
            raise RuntimeError("nginx is not ready:\n" + self.log())


PROXIES = {"haproxy": Haproxy, "envoy": Envoy}
