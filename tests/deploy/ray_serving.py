"""Puts examples/ray on a Ray of its own, and kills, loads and counts its replicas;
run by scripts/ray.sh, for tests/deploy/ray_test.py.

  PYTHONPATH=examples/ray:tests/e2e scripts/ray.sh python \\
      tests/deploy/ray_serving.py --server FILE --models DIR

Prints one JSON object: what clients of each part saw.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import threading
import time

import ferry_on_ray
from ferry_process import wait_until
import grpc
import numpy as np
from ray import serve
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy, gRPCOptions
import ray
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc


# Command lines of what is killed.
SERVERS = r"^\S*ferry-server --grpc-address=unix:"
REPLICAS = "^ray::ServeReplica:ferry"
WIDTH = 16
ROWS = 8
TIMEOUT_S = 120
# Serve answers INTERNAL for what a replica had under way that died, which gRPC's own
# policy does not send again: a client does.
RETRIED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL)
ATTEMPTS = 5
BACKOFF_S = 0.1


def request(number):
    """Returns a request whose rows no other has."""
    ask = pb.ModelInferRequest(model_name="sim", id=str(number))
    ask.inputs.add(name="input", datatype="FP32", shape=[ROWS, WIDTH])
    ask.raw_input_contents.append(
        np.full((ROWS, WIDTH), number, np.float32).tobytes())
    return ask


class Clients:
    """Clients that send requests with numbers, and a ledger of what they got."""

    def __init__(self, port):
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(
            grpc.insecure_channel(f"127.0.0.1:{port}"))
        self.outcomes = collections.Counter()
        self.sent = self.resent = 0
        self.lock = threading.Lock()

    def ask(self, number):
        """Sends a request until it is answered, and counts how that ended."""
        backoff = BACKOFF_S
        for attempt in range(1, ATTEMPTS + 1):
            outcome, code = self.outcome(number)
            if code not in RETRIED or attempt == ATTEMPTS:
                break
            time.sleep(backoff)
            backoff *= 2
        with self.lock:
            self.outcomes[outcome] += 1
            self.resent += attempt - 1

    def outcome(self, number):
        """Returns what one sending gives, and the code of an error."""
        try:
            answer = self.stub.ModelInfer(request(number), timeout=60)
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()[:200]}", error.code()
        rows = np.frombuffer(answer.raw_output_contents[0], np.float32)
        is_right = (answer.id == str(number) and rows.size == ROWS * WIDTH and
                    (rows == number).all())
        return "OK" if is_right else "wrong", None

    def send(self, rate, until):
        """Sends requests at that rate a second until the condition holds; returns
        whether it did in time."""
        started = due = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(256) as pool:
            while not until():
                if time.monotonic() - started > TIMEOUT_S:
                    return False
                self.sent += 1
                pool.submit(self.ask, self.sent)
                due += 1 / rate
                time.sleep(max(0, due - time.monotonic()))
        return True


def replicas():
    """Returns how many replicas run."""
    status = serve.status().applications["ferry"].deployments["Ferry"]
    states = {str(getattr(state, "value", state)): count
              for state, count in status.replica_states.items()}
    return states.get("RUNNING", 0) if set(states) <= {"RUNNING"} else None


def processes(name):
    """Returns the processes of replicas, or their servers, of this Ray."""
    found = subprocess.run(["pgrep", "-f", name], text=True, capture_output=True,
                           check=False).stdout.split()
    return [int(pid) for pid in found if int(pid) != os.getpid()]


def after(seconds):
    """Returns a condition that holds from then on."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def kill_one(clients, pattern):
    """Kills a process under load, and goes on until all replicas run again."""
    victims = processes(pattern)
    timer = threading.Timer(2, os.kill, (victims[0], signal.SIGKILL))
    timer.start()
    is_past = after(10)
    is_whole = clients.send(40, lambda: is_past() and replicas() == 2)
    return {"of": len(victims), "is_whole": is_whole,
            "replaced": victims[0] not in processes(pattern)}


def deploy(options, scaling):
    serve.run(ferry_on_ray.Ferry.options(autoscaling_config=scaling).bind(
        options.server, options.models, []), name="ferry", route_prefix="/ferry")


def scale(least, most):
    return AutoscalingConfig(
        min_replicas=least, max_replicas=most, upscale_delay_s=1, downscale_delay_s=3,
        metrics_interval_s=1, look_back_period_s=3,
        policy=AutoscalingPolicy(policy_function=ferry_on_ray.replicas_by_load))


def measure(options, port):
    clients = Clients(port)
    told = {"versions": {"ray": ray.__version__, "grpcio": grpc.__version__}}
    deploy(options, scale(2, 2))
    wait_until(lambda: replicas() == 2, TIMEOUT_S)
    told["live"] = clients.stub.ServerLive(pb.ServerLiveRequest()).live
    told["inputs"] = clients.stub.ModelMetadata(
        pb.ModelMetadataRequest(name="sim")).inputs[0].name
    try:
        clients.stub.ModelMetadata(pb.ModelMetadataRequest(name="none"))
    except grpc.RpcError as error:
        told["unknown_model"] = [error.code().name, error.details()]
    told["kills"] = [kill_one(clients, SERVERS), kill_one(clients, REPLICAS)]
    deploy(options, scale(1, 3))
    counts = []

    def has(count):
        def condition():
            running = replicas()
            if running is not None and (not counts or counts[-1] != running):
                counts.append(running)
            return running == count
        return condition

    wait_until(has(1), TIMEOUT_S)
    # A replica carries 400 rows a second.
    told["grew"] = clients.send(2 * 400 * 0.9 / ROWS, has(3))
    told["shrank"] = clients.send(2, has(1))
    told["replicas"] = counts
    told |= {"outcomes": dict(clients.outcomes), "sent": clients.sent,
             "resent": clients.resent}
    serve.shutdown()
    told["servers_left"] = len(processes(SERVERS))
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--models", required=True)
    options = parser.parse_args()
    port = ferry_on_ray.free_port()
    ray.init(num_cpus=8, include_dashboard=False,
             object_store_memory=100 << 20, logging_level="ERROR", log_to_driver=False)
    try:
        serve.start(
            http_options={"host": "127.0.0.1", "port": ferry_on_ray.free_port()},
            grpc_options=gRPCOptions(port=port, grpc_servicer_functions=[
                "ferry_on_ray.add_inference_service"]))
        json.dump(measure(options, port), sys.stdout, indent=1)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
