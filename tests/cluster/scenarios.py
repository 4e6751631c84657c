"""Runs Ferry's manifests on the node of scripts/cluster.sh, with clients that keep a
ledger, and writes what came out as JSON.

  scripts/cluster.sh --image dist/ferry-0.1.0-image.tar \\
      .venv/bin/python tests/cluster/scenarios.py OUT.json [SCENARIO...]

The pods run on the processor. Errors: RuntimeError for what Kubernetes refuses; what
Ferry does not hold is a result.
"""

import asyncio
import collections
import contextlib
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / name) for name in ("chaos", "e2e", "support")]
# pylint: disable=wrong-import-position
import grpc
import adapter
import client as clients
import ledger as ledgers
import node
import scale_model
import trust
from ferry_process import sim_config

DEPLOY = ROOT / "deploy"
MANIFESTS = [*sorted((DEPLOY / "kubernetes").glob("*.yaml")),
             DEPLOY / "keda" / "scaled_object.yaml",
             DEPLOY / "prometheus" / "pod_monitor.yaml"]
TOKEN = "cluster-token"
RATE = 40  # requests a second of each client
SERVICE = "ferry.default.svc.cluster.local:8001"
HEADLESS = "dns:///ferry-headless.default.svc.cluster.local:8001"
END_S = 300
SLICES = int(node.SLICES["nvidia.com/mig-1g.18gb"])
FAST = (16, 5, 0.1)  # max_batch_size, alpha and beta in ms
KILLS = 4
NAMES_S = 35  # CoreDNS keeps an answer for 30 s
NEXT_IMAGE = "ferry:next"
HANGS = 3
# --- the autoscaler ---
FLEET = 4  # replicas at most
LOADS = (0.05, 0.2, 0.7, 0.95, 0.2)  # of what they all carry
TARGET = 0.7  # of each, as the manifest has it
DEVICE = (16, 150, 2)  # as FAST: 88 rows a second
ROWS = 2  # of a request, on average
# The load is that of the last minute, so the autoscaler must look back for longer
# before it scales down: by default it does for five minutes.
SETTLE_S, DOWN_S = 120, 75


def say(text):
    print(f"scenarios: {text}", file=sys.stderr, flush=True)


def kubectl(*words, given=None, check=True):
    done = subprocess.run(["kubectl", *map(str, words)], text=True, check=False,
                          capture_output=True, input=given)
    if check and done.returncode != 0:
        raise RuntimeError(f"kubectl {' '.join(map(str, words))}:\n"
                           f"{done.stdout}{done.stderr}")
    return done.stdout if check else done


def get(kind, name="", selector=None):
    words = ["get", kind, *([name] if name else []), "-o", "json"]
    return json.loads(kubectl(*words, *(["-l", selector] if selector else [])))


def parts():
    """Returns the versions of what the node is made of besides."""
    kinds = pathlib.Path(os.environ["FERRY_CLUSTER_KINDS"])
    libraries = kinds.parent / "usr/lib/x86_64-linux-gnu"
    told = [get("node", "node")["status"]["nodeInfo"]["containerRuntimeVersion"]]
    for command in (["etcd", "--version"], ["runc", "--version"],
                    ["coredns", "-version"], ["nft", "--version"]):
        said = node.run(*command, env=os.environ | {"LD_LIBRARY_PATH": str(libraries)})
        told.append(said.splitlines()[0].strip())
    modules = {re.match(r"(.*@v[0-9.]*[0-9])-", path.name)[1]
               for path in kinds.iterdir()}
    return told + sorted(modules) + [f"clients: grpcio {grpc.__version__}"]


def apply(*documents):
    for document in documents:
        kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                given=json.dumps(document))


def documents_of(path):
    """Returns the documents of a manifest, as the API server would store them."""
    told = json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-f", path))
    return told["items"] if told["kind"] == "List" else [told]


def wait_until(what, condition):
    """Returns the seconds that it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > END_S:
            told = kubectl("get", "events,pods", check=False).stdout
            raise RuntimeError(f"{told}\nexpected within {END_S} s: {what}")
        time.sleep(0.1)
    return time.monotonic() - began


def pods():
    """Returns the pods of Ferry that are not on their way out."""
    return [pod for pod in get("pods", selector="app.kubernetes.io/name=ferry")["items"]
            if "deletionTimestamp" not in pod["metadata"]]


def is_ready(pod):
    return any(part["type"] == "Ready" and part["status"] == "True"
               for part in pod["status"].get("conditions", []))


def server_of(pod):
    """Returns the process of a pod's server."""
    (container,) = pod["status"]["containerStatuses"]
    number = container["containerID"].rpartition("/")[2]
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (number in (folder / "cgroup").read_text() and
                    (folder / "comm").read_text().strip() == "ferry-server"):
                return int(folder.name)
    raise RuntimeError(f"no server of the container {number}")


def set_slices(count):
    """Says how many a device plugin would offer; None: there is no such plugin."""
    offered = dict.fromkeys(node.SLICES, None if count is None else str(count))
    kubectl("patch", "node", node.NAME, "--subresource=status", "--type=merge",
            "--patch", json.dumps({"status": {"capacity": offered,
                                              "allocatable": offered}}))


def events():
    """Returns how often Kubernetes has told each reason, of Ferry's things."""
    counts = collections.Counter()
    for event in get("events")["items"]:
        about = event["involvedObject"]
        if about["name"].startswith("ferry"):
            counts[f"{about['kind']}: {event['reason']}"] += event.get("count") or 1
    return dict(sorted(counts.items()))


class Load:
    """Clients that ask while its block runs; then `counts` has their ledgers."""

    def __init__(self, authority, targets, **how):
        self._targets, self._how = targets, how
        self._connect = clients.connect_to(trust.credentials(authority))
        self.counts = {}
        self._is_over = threading.Event()
        self._error = None
        self._thread = threading.Thread(target=self._run_thread)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
        if self._error:
            raise self._error

    def _run_thread(self):
        try:
            asyncio.run(self._run())
        except Exception as error:  # pylint: disable=broad-except
            self._error = error

    async def _run(self):
        is_over = asyncio.Event()
        began = time.monotonic()
        asked = {}
        for seed, (name, (address, options)) in enumerate(self._targets.items()):
            ledger = ledgers.Ledger(lambda: time.monotonic() - began)
            asked[name] = ledger, clients.Client(
                address, ledger, seed=seed, **self._how, connect=self._connect,
                metadata=lambda: trust.bearer(TOKEN), options=options)
        tasks = [asyncio.ensure_future(client.run(is_over))
                 for _, client in asked.values()]
        while not self._is_over.is_set():
            await asyncio.sleep(0.1)
        is_over.set()
        await asyncio.gather(*tasks)
        for name, (ledger, client) in asked.items():
            self.counts[name] = ledger.counts() | {
                "told": ledger.told[:10], "latency_ms": client.latency_ms()}


class Scenarios:

    def __init__(self, folder):
        self.folder = folder
        self.authority = trust.Authority(str(folder))

    # --- what all need ---

    def load(self, retries):
        """Clients as the document has them or, without retries, as plain as can be:
        they know no more than that a name has several addresses."""
        options = (clients.documented_options() if retries else
                   [("grpc.lb_policy_name", "round_robin")])
        return Load(self.authority, {
            "ClusterIP": (SERVICE, options if retries else ()),
            "headless": (HEADLESS, options)}, rate=RATE, retries=retries)

    def deployment(self, replicas):
        """Returns that of the manifests, as this node can run it."""
        (made,) = documents_of(DEPLOY / "kubernetes" / "deployment.yaml")
        made["spec"]["replicas"] = replicas
        (container,) = made["spec"]["template"]["spec"]["containers"]
        container["imagePullPolicy"] = "Never"
        container["args"] = [word.replace("--device=only", "--device=cpu")
                             for word in container["args"]]
        container["resources"]["requests"] = {"cpu": "100m", "memory": "512Mi"}
        container["resources"]["limits"]["memory"] = "1Gi"
        return made

    def prepare(self):
        models = self.folder / "models"
        (models / "sim" / "1").mkdir(parents=True)
        self.set_device(*FAST)
        scale_model.write_config(models, "scale", scale_model.SCALE_CONFIG)
        scale_model.write_version(models, 1)
        key, certificate = self.authority.sign("server")
        tokens = self.folder / "tokens"
        tokens.write_text(trust.token_line("cluster", "infer,read", TOKEN))
        subprocess.run(["chmod", "-R", "a+rX", self.folder], check=True)
        apply(
            {"apiVersion": "v1", "kind": "PersistentVolume",
             "metadata": {"name": "ferry-models"},
             "spec": {"capacity": {"storage": "1Gi"}, "storageClassName": "",
                      "accessModes": ["ReadOnlyMany"],
                      "hostPath": {"path": str(models)}}},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "metadata": {"name": "ferry-models"},
             "spec": {"accessModes": ["ReadOnlyMany"], "storageClassName": "",
                      "volumeName": "ferry-models",
                      "resources": {"requests": {"storage": "1Gi"}}}})
        for name, files in (("ferry-tls", {"tls.crt": certificate, "tls.key": key}),
                            ("ferry-tokens", {"tokens": tokens})):
            kubectl("create", "secret", "generic", name,
                    *(f"--from-file={file}={path}" for file, path in files.items()))
        for name in ("service.yaml", "disruption_budget.yaml", "network_policy.yaml"):
            kubectl("apply", "--server-side", "-f", DEPLOY / "kubernetes" / name)

    def set_device(self, batch, alpha_ms, beta_ms):
        """Writes what pods that start from now on simulate."""
        (self.folder / "models" / "sim" / "config.pbtxt").write_text(
            sim_config(batch, alpha_ms=alpha_ms, beta_ms=beta_ms))

    def scale_to(self, replicas, *flags):
        made = self.deployment(replicas)
        (container,) = made["spec"]["template"]["spec"]["containers"]
        given = {flag.split("=")[0] for flag in flags}
        container["args"] = [word for word in container["args"]
                             if word.split("=")[0] not in given] + list(flags)
        apply(made)
        return wait_until(f"{replicas} pods that are ready", lambda: (
            [is_ready(pod) for pod in pods()] == [True] * replicas))

    # --- scenarios ---

    def manifests(self):
        """Each manifest is admitted: validation, defaults and all."""
        for path in sorted(pathlib.Path(os.environ["FERRY_CLUSTER_KINDS"]).iterdir()):
            kubectl("apply", "--server-side", "-f", path)
        # One that has no conditions yet is an error to kubectl.
        wait_until("kinds that are established", lambda: kubectl(
            "wait", "--for=condition=Established", "crd", "--all", "--timeout=1s",
            check=False).returncode == 0)
        told = {}
        for path in MANIFESTS:
            done = kubectl("apply", "--server-side", "--dry-run=server",
                           "--validate=strict", "-f", path, check=False)
            told[path.name] = {"admitted": done.returncode == 0,
                               "said": (done.stdout + done.stderr).strip()}
        return told

    def start(self):
        """Two replicas come up, and names tell both."""
        result = {"ready_s": self.scale_to(2),
                  "pods": kubectl("get", "pods", "-o", "wide")}
        time.sleep(NAMES_S)
        return result

    def roll_out(self):
        """A new version's roll-out and one back, under load, without any retry."""
        rounds = []
        made = self.deployment(2)
        image = made["spec"]["template"]["spec"]["containers"][0]["image"]
        set_slices(2)  # all are taken: a pod comes once another has gone
        node.run("ctr", "--namespace=k8s.io", "images", "tag",
                 *(f"docker.io/library/{name}" for name in (image, NEXT_IMAGE)))
        for to in (NEXT_IMAGE, image):
            with self.load(retries=False) as load:
                time.sleep(3)
                kubectl("set", "image", "deployment/ferry", f"ferry={to}")
                took = time.monotonic()
                kubectl("rollout", "status", "deployment/ferry", f"--timeout={END_S}s")
                took = time.monotonic() - took
                time.sleep(5)
            rounds.append({"to": to, "seconds": took, "clients": load.counts})
            say(f"roll-out: {took:.0f} s, {load.counts}")
        set_slices(SLICES)
        return rounds

    def kill(self):
        """Servers that are killed, with the documented retries: one as soon as the one
        before is ready, then one once names tell the one before."""
        return {"in_a_row": self.kill_each(0), "apart": self.kill_each(NAMES_S)}

    def kill_each(self, pause_s):
        with self.load(retries=True) as load:
            for turn in range(KILLS):
                time.sleep(3)
                victim = pods()[turn % 2]
                os.kill(server_of(victim), signal.SIGKILL)
                time.sleep(1)
                wait_until("pods that are ready", lambda: all(map(is_ready, pods())))
                time.sleep(pause_s)
        time.sleep(NAMES_S)
        return {"kills": KILLS, "clients": load.counts}

    def drain(self):
        """The node is drained and taken back, with the documented retries."""
        with self.load(retries=True) as load:
            time.sleep(3)
            before = {pod["metadata"]["uid"] for pod in pods()}
            draining = subprocess.Popen(
                ["kubectl", "drain", "node", "--ignore-daemonsets",
                 "--delete-emptydir-data", "--timeout=240s"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # The budget lets one pod go at a time, and no other node takes it: it
            # comes back here, then the other may go.
            while draining.poll() is None:
                here = {pod["metadata"]["uid"] for pod in pods() if is_ready(pod)}
                if len(here) < 2:
                    kubectl("uncordon", "node")
                    wait_until("both pods", lambda: sum(map(is_ready, pods())) == 2)
                time.sleep(0.1)
            kubectl("uncordon", "node")
            wait_until("both pods", lambda: sum(map(is_ready, pods())) == 2)
            left = before & {pod["metadata"]["uid"] for pod in pods()}
            time.sleep(NAMES_S)
        return {"exit_code": draining.returncode, "pods_replaced": 2 - len(left),
                "clients": load.counts}

    def lose_slice(self):
        """A slice is gone under load, then the pod that had it: another waits for the
        slice until it is back, with the documented retries."""
        set_slices(2)
        with self.load(retries=True) as load:
            time.sleep(3)
            set_slices(1)
            kubectl("delete", "pod", pods()[0]["metadata"]["name"])
            time.sleep(NAMES_S)
            phases = sorted(pod["status"]["phase"] for pod in pods())
            set_slices(SLICES)
            back_s = wait_until("both pods", lambda: sum(map(is_ready, pods())) == 2)
        time.sleep(NAMES_S)
        return {"phases": phases, "back_s": back_s, "clients": load.counts}

    def hang(self):
        """Servers that are stopped: when they are not ready, and when gone."""
        tries = []
        with self.load(retries=True) as load:
            for turn in range(HANGS):
                time.sleep(3)
                victim = pods()[turn % 2]
                process = server_of(victim)
                os.kill(process, signal.SIGSTOP)
                not_ready = wait_until("a pod that is not ready", lambda: not is_ready(
                    get("pod", victim["metadata"]["name"])))
                gone = not_ready + wait_until("a process that is gone", lambda: (
                    not pathlib.Path(f"/proc/{process}").exists()))
                ready = gone + wait_until("another that is ready", lambda: (
                    list(map(is_ready, pods())) == [True, True]))
                tries.append({"not_ready_s": not_ready, "gone_s": gone,
                              "ready_s": ready})
        return {"tries": tries, "clients": load.counts}

    def autoscale(self):
        """The autoscaler's counts at four loads of the fleet, told by an adapter."""
        adapter.Adapter(
            node.ADDRESS, f"{self.folder}/server.pem", f"{self.folder}/server.key",
            lambda selector: [pod for pod in get("pods", selector=selector)["items"]
                              if is_ready(pod)], TOKEN)
        apply(
            {"apiVersion": "v1", "kind": "Service",
             "metadata": {"name": "metrics-adapter"},
             "spec": {"ports": [{"port": adapter.PORT, "name": "https"}]}},
            {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
             "metadata": {"name": "metrics-adapter", "labels": {
                 "kubernetes.io/service-name": "metrics-adapter"}},
             "addressType": "IPv4", "endpoints": [{"addresses": [node.ADDRESS]}],
             "ports": [{"name": "https", "port": adapter.PORT, "protocol": "TCP"}]},
            {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
             "metadata": {"name": f"{adapter.VERSION}.{adapter.GROUP}"},
             "spec": {"group": adapter.GROUP, "version": adapter.VERSION,
                      "groupPriorityMinimum": 100, "versionPriority": 100,
                      "insecureSkipTLSVerify": True,
                      "service": {"namespace": "default", "name": "metrics-adapter",
                                  "port": adapter.PORT}}})
        (scaler,) = documents_of(DEPLOY / "kubernetes" / "autoscaler.yaml")
        scaler["spec"].update(minReplicas=1, maxReplicas=FLEET)
        scaler["spec"]["behavior"] = {
            "scaleDown": {"stabilizationWindowSeconds": DOWN_S}}
        # One mean wait of many: that of this device's batches.
        scaler["spec"]["metrics"][1]["pods"]["target"]["averageValue"] = "1"
        self.scale_to(0)
        batch, alpha_ms, beta_ms = DEVICE
        self.set_device(batch, alpha_ms, beta_ms)
        self.scale_to(1, "--grpc-max-connection-age-secs=10")
        apply(scaler)
        rounds = []
        for before, share in zip((0, *LOADS), LOADS):
            offered = share * FLEET * batch / (alpha_ms + batch * beta_ms) * 1000
            with Load(self.authority,
                      {"headless": (HEADLESS, clients.documented_options())},
                      rate=offered / ROWS, retries=True, only="sim") as load:
                time.sleep(SETTLE_S if share > before else 2 * SETTLE_S)
                seen = get("hpa", "ferry")
            rounds.append({
                "load": share, "rows_per_second": offered,
                "replicas": seen["status"]["currentReplicas"],
                "wanted": seen["status"]["desiredReplicas"],
                "told": seen["status"].get("currentMetrics"),
                "right": min(FLEET, max(1, math.ceil(share * FLEET / TARGET - 0.1))),
                "clients": load.counts})
            say(f"load {share}: {rounds[-1]['replicas']} replicas, "
                f"{rounds[-1]['right']} are right")
        kubectl("delete", "hpa", "ferry")
        self.scale_to(0)
        self.set_device(*FAST)
        return rounds

    def too_many(self):
        """Three replicas on two slices, and then a roll-out."""
        set_slices(2)
        try:
            apply(self.deployment(3))
            wait_until("a pod that waits", lambda: sum(
                pod["status"]["phase"] == "Pending" for pod in pods()) == 1)
            kubectl("rollout", "restart", "deployment/ferry")
            done = kubectl("rollout", "status", "deployment/ferry", "--timeout=90s",
                           check=False)
            result = {"ended": done.returncode == 0,
                      "pods": kubectl("get", "pods"),
                      "ready": sum(map(is_ready, pods()))}
            # What the runbook says.
            kubectl("scale", "deployment/ferry", "--replicas=2")
            began = time.monotonic()
            kubectl("rollout", "status", "deployment/ferry", f"--timeout={END_S}s")
            result["scaled_down_ends_s"] = time.monotonic() - began
        finally:
            set_slices(SLICES)
        return result

    def claims(self):
        """Eight pods claim a slice each, of seven that a node publishes."""
        kubectl("apply", "--server-side", "-f",
                DEPLOY / "kubernetes" / "device_claim.yaml")
        kubectl("delete", "deployment", "ferry", "--ignore-not-found", "--wait")
        devices = [{"name": f"slice-{i}", "attributes": {
            "type": {"string": "mig"},
            "profile": {"string": "1g.18gb" if i < SLICES else "3g.71gb"}}}
            for i in range(SLICES + 1)]  # the last is of another profile
        apply({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
               "metadata": {"name": "node-slices"},
               "spec": {"driver": "gpu.nvidia.com", "nodeName": "node",
                        "pool": {"name": "node", "generation": 1,
                                 "resourceSliceCount": 1}, "devices": devices}})
        apply(*({"apiVersion": "v1", "kind": "Pod",
                 "metadata": {"name": f"claims-{i}", "labels": {"of": "claims"}},
                 "spec": {"resourceClaims": [{
                     "name": "slice", "resourceClaimTemplateName": "ferry-slice"}],
                     "containers": [{
                         "name": "one", "image": "localhost/pause:1",
                         "imagePullPolicy": "Never",
                         "resources": {"claims": [{"name": "slice"}]}}]}}
                for i in range(SLICES + 1)))

        def given():
            return [result["device"] for claim in get("resourceclaims")["items"]
                    for result in claim.get("status", {}).get("allocation", {}).get(
                        "devices", {}).get("results", [])]

        def waits():
            return [pod for pod in get("pods", selector="of=claims")["items"]
                    if any(part.get("reason") == "Unschedulable"
                           for part in pod["status"].get("conditions", []))]

        wait_until("a slice of each", lambda: len(given()) == SLICES and
                   len(waits()) == 1)
        (waiting,) = waits()
        result = {"given": sorted(given()), "waits": waiting["metadata"]["name"],
                  "why": waiting["status"]["conditions"][0]["message"]}
        kubectl("delete", "pod", "claims-0" if result["waits"] != "claims-0" else
                "claims-1", "--wait=false", "--grace-period=0", "--force")
        wait_until("the slice of a pod that went", lambda: len(given()) == SLICES and
                   not waits())
        kubectl("delete", "pods", "-l", "of=claims", "--grace-period=0", "--force")
        wait_until("slices that are free", lambda: not given())
        # Where no device plugin offers it, the class stands for the resource.
        set_slices(None)
        apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "by-limit"},
               "spec": {"containers": [{
                   "name": "one", "image": "localhost/pause:1",
                   "imagePullPolicy": "Never",
                   "resources": {"limits": dict.fromkeys(node.SLICES, "1")}}]}})
        wait_until("a slice by the limit alone", lambda: len(given()) == 1)
        result["by_limit"] = given()
        kubectl("delete", "pod", "by-limit", "--grace-period=0", "--force")
        set_slices(SLICES)
        return result


def main():
    names = sys.argv[2:] or ["manifests", "claims", "autoscale", "start", "roll_out",
                             "kill", "drain", "lose_slice", "hang", "too_many"]
    with tempfile.TemporaryDirectory() as folder:
        scenarios = Scenarios(pathlib.Path(folder))
        scenarios.prepare()
        result = {"version": json.loads(kubectl("version", "-o", "json")),
                  "parts": parts()}
        for name in names:
            say(getattr(Scenarios, name).__doc__)
            result[name] = getattr(scenarios, name)()
            result["events"] = events()
            pathlib.Path(sys.argv[1]).write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
