"""emfile: a server that has no descriptor left for another connection: when health says
so, and how soon a new client is answered once those that were idle have gone.

Idle connections are opened until one is refused, over TLS each with its handshake.
"""

import contextlib
import socket
import ssl
import sys
import tempfile
import time

import grpc
import measuring
from tritonclient.grpc import service_pb2_grpc

sys.path.append(str(measuring.ROOT / "tests/e2e"))
import ending_test  # noqa: E402
import ferry_process  # noqa: E402
import trust  # noqa: E402

OPEN_FILES = 512
MOST_S = 1.0  # until a new client is answered
TRIES = 20
POLL_S = 0.005
GIVE_UP_S = 30


def is_taken(stack, server, wrap):
    """Opens one more connection, and returns whether the server speaks on it."""
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        peer = stack.enter_context(contextlib.closing(
            wrap(socket.create_connection(("127.0.0.1", server.port), GIVE_UP_S))))
        return peer.recv(1) != b""
    return False


def seconds_until(condition):
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > GIVE_UP_S:
            raise measuring.Failure(f"what is waited for took {GIVE_UP_S} s")
        time.sleep(POLL_S)
    return time.monotonic() - begin


def is_answered(server, credentials):
    """Asks over a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    with (grpc.secure_channel(server.address, credentials, options) if credentials
          else grpc.insecure_channel(server.address, options)) as channel:
        try:
            return service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(
                ending_test.one_row("echo"), timeout=GIVE_UP_S)
        except grpc.RpcError:
            return None


def one_try(server, wrap, credentials):
    """Returns how many idle connections the server took, and the times."""
    def ready_is(code):
        return lambda: server.get("/v2/health/ready")[0] == code
    seconds_until(ready_is(200))
    idle = 0
    with contextlib.ExitStack() as stack:
        while is_taken(stack, server, wrap):
            idle += 1
        not_ready_s = seconds_until(ready_is(503))
        if is_answered(server, credentials):
            raise measuring.Failure("a connection past the last was answered")
        begin = time.monotonic()
    seconds_until(lambda: is_answered(server, credentials))
    return {"idle": idle, "not_ready_s": not_ready_s,
            "answered_s": time.monotonic() - begin}


def tries_of(tries, wrap, credentials, context, *flags):
    with ferry_process.FerryProcess(*flags, open_files=OPEN_FILES) as server:
        server.tls = context
        return [one_try(server, wrap, credentials) for _ in range(tries)]


def measure(options):
    result = measuring.describe(
        "emfile", "a server whose descriptors idle connections have used up answers a "
        f"new client within {MOST_S:.0f} s of their end, each time", options.command)
    ferry_process.SERVER = options.programs.path("ferry-server")
    count = options.runs or TRIES
    with tempfile.TemporaryDirectory() as folder:
        authority = trust.Authority(folder)
        key, certificate = authority.sign("server")
        tries = {"plain": tries_of(count, lambda plain: plain, None, None),
                 "TLS": tries_of(
                     count, trust.wrapper(authority.certificate),
                     trust.credentials(authority),
                     ssl.create_default_context(cafile=authority.certificate),
                     f"--tls-key={key}", f"--tls-cert={certificate}")}
    result |= {"tries": tries, "passed": all(
        each["answered_s"] <= MOST_S for of in tries.values() for each in of)}
    page = (f"{count} tries each, on a server that may have {OPEN_FILES} descriptors. "
            "Ms, median and most: from the first connection that is refused until "
            "/v2/health/ready is 503, and from the moment at which the idle ones are "
            "closed until a client of gRPC that connects anew has its inference.\n\n")
    return result, page + measuring.table(
        ["connections", "idle ones taken", "not ready", "most", "answered again",
         "most"],
        [[name, f"{measuring.median(each['idle'] for each in of):.0f}",
          *(f"{1e3 * which(each[what] for each in of):.1f}"
            for what in ("not_ready_s", "answered_s")
            for which in (measuring.median, max))] for name, of in tries.items()])
