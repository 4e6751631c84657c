"""Ferry as a deployment of Ray Serve: each replica owns a ferry-server, and passes
the bytes of requests and answers on to it and back.

Ray places replicas, restarts and counts them; Ferry batches. Clients speak KServe v2
to Serve's gRPC port. To copy from; docs/deploy.md, "Ray Serve", says how to run it.

  serve start --grpc-port 9000 \\
      --grpc-servicer-functions ferry_on_ray.add_inference_service
  serve run ferry_on_ray:app server=ferry-server models=/var/lib/ferry/models
"""

import asyncio
import math
import os
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.request

import grpc
from ray import serve
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy

SERVICE = "inference.GRPCInferenceService"
METHODS = ("ServerLive", "ServerReady", "ModelReady", "ServerMetadata",
           "ModelMetadata", "ModelConfig", "ModelStatistics", "ModelInfer")
# Metadata that belongs to the connection to Serve, not to the request.
OWN_METADATA = re.compile(r"grpc-|user-agent$|application$|request_id$|"
                          r"multiplexed_model_id$|session_id$")
LOAD = re.compile(r"^ferry_load_5s_ratio\{.*\} (\S+)$", re.MULTILINE)
# The share that is asked for of what the devices of all replicas carry.
TARGET_LOAD = 0.7
START_S = 600
DRAIN_S = 30
# No deadline of a client reaches a replica; past it a call is given up.
CALL_S = 60


class Answer(bytes):
    """The bytes of an answer, which Serve takes for a message."""

    def SerializeToString(self):  # pylint: disable=invalid-name
        return bytes(self)


def add_inference_service(servicer, server):
    """Registers the RPCs of KServe v2 with Serve's proxy, by the bytes of their
    messages: no proxy reads a tensor."""
    handlers = {name: grpc.unary_unary_rpc_method_handler(getattr(servicer, name))
                for name in METHODS}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, handlers),))


def replicas_by_load(context):
    """Returns how many replicas carry what all of them are asked for."""
    loads = context.aggregated_metrics.get("ferry_load", {})
    if not loads:
        return context.target_num_replicas, {}
    return max(1, math.ceil(sum(loads.values()) / TARGET_LOAD)), {}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServerProcess:
    """A ferry-server at a UNIX socket of its own, which ends with this process."""

    def __init__(self, server, models, flags):
        self.folder = tempfile.TemporaryDirectory(prefix="ferry-replica-")
        self.address = f"unix:{self.folder.name}/ferry.sock"
        # Where the replica is killed, the kernel tells its server to drain: by the end
        # of the thread that starts it, Serve's own, which lasts as long as the replica.
        metrics_port = free_port()
        self.metrics = f"http://127.0.0.1:{metrics_port}/metrics"
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", server, f"--grpc-address={self.address}",
             f"--metrics-port={metrics_port}", f"--model-repository={models}",
             f"--exit-timeout-secs={DRAIN_S}", *flags],
            stderr=subprocess.PIPE, text=True)
        self.last_lines = []
        self.stops = False
        self.is_ready = threading.Event()
        self.has_ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        if not self.is_ready.wait(START_S) or self.has_ended.is_set():
            self.process.kill()
            raise RuntimeError("expected a server that is ready, got one that says: " +
                               " | ".join(self.last_lines))

    def _read(self):
        for line in self.process.stderr:
            print(line, end="")  # into the log of the replica
            self.last_lines = [*self.last_lines[-4:], line.strip()]
            if " ready grpc=" in line:
                self.is_ready.set()
        self.has_ended.set()
        if self.is_ready.is_set() and not self.stops:
            # A replica without a server would fail requests until Serve asks for its
            # health; one that is gone gets none.
            os._exit(1)
        self.is_ready.set()

    def load(self):
        with urllib.request.urlopen(self.metrics, timeout=2) as page:
            return sum(map(float, LOAD.findall(page.read().decode())))

    def stop(self):
        """Has it answer what it admitted, and waits for its end."""
        self.stops = True
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(DRAIN_S + 5)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.folder.cleanup()


@serve.deployment(
    # More wait in Ferry's queue than in Serve's, which forms no batches.
    max_ongoing_requests=256,
    health_check_period_s=2,
    health_check_timeout_s=5,
    graceful_shutdown_timeout_s=DRAIN_S + 5,
    autoscaling_config=AutoscalingConfig(
        min_replicas=1, max_replicas=7, upscale_delay_s=10, downscale_delay_s=300,
        policy=AutoscalingPolicy(policy_function=replicas_by_load)))
class Ferry:
    """One server, on the device that Ray gave the replica: `ray_actor_options` in
    your configuration says num_gpus=1, or the resource that you gave MIG slices."""

    def __init__(self, server, models, flags):
        self.process = ServerProcess(server, models, flags)
        self.channel = grpc.aio.insecure_channel(
            self.process.address, options=[("grpc.max_send_message_length", -1),
                                           ("grpc.max_receive_message_length", -1)])
        self.calls = {name: self.channel.unary_unary(f"/{SERVICE}/{name}")
                      for name in METHODS}

    async def check_health(self):
        """Raises where the server is not live: Serve then replaces the replica."""
        await self.calls["ServerLive"](b"", timeout=2)

    async def record_autoscaling_stats(self):
        return {"ferry_load": await asyncio.to_thread(self.process.load)}

    def __del__(self):
        if hasattr(self, "process"):  # it was started
            self.process.stop()

    async def _pass_on(self, name, request, context):
        metadata = [(key, value) for key, value in context.invocation_metadata()
                    if not OWN_METADATA.match(key)]
        try:
            return Answer(await self.calls[name](request, metadata=metadata,
                                                 timeout=CALL_S))
        except grpc.aio.AioRpcError as error:
            # Serve gives it to the client, with the time to try again; an answer
            # without a message, so that clients of gRPC may send the call again.
            context.set_code(error.code())
            context.set_details(error.details())
            context.set_trailing_metadata(
                [(key, value) for key, value in error.trailing_metadata() or ()
                 if key == "grpc-retry-pushback-ms"])
            raise

    # pylint: disable=invalid-name,missing-function-docstring
    async def ServerLive(self, request, grpc_context):
        return await self._pass_on("ServerLive", request, grpc_context)

    async def ServerReady(self, request, grpc_context):
        return await self._pass_on("ServerReady", request, grpc_context)

    async def ModelReady(self, request, grpc_context):
        return await self._pass_on("ModelReady", request, grpc_context)

    async def ServerMetadata(self, request, grpc_context):
        return await self._pass_on("ServerMetadata", request, grpc_context)

    async def ModelMetadata(self, request, grpc_context):
        return await self._pass_on("ModelMetadata", request, grpc_context)

    async def ModelConfig(self, request, grpc_context):
        return await self._pass_on("ModelConfig", request, grpc_context)

    async def ModelStatistics(self, request, grpc_context):
        return await self._pass_on("ModelStatistics", request, grpc_context)

    async def ModelInfer(self, request, grpc_context):
        return await self._pass_on("ModelInfer", request, grpc_context)


def app(arguments):
    """Builds the application: server, models, flags."""
    return Ferry.bind(arguments.get("server", "ferry-server"), arguments["models"],
                      shlex.split(arguments.get("flags", "")))
