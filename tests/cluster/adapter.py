"""The adapter serves custom.metrics.k8s.io of what Ferry's pods say of themselves, so
that an autoscaler can read it: what prometheus-adapter does with the rules of
deploy/prometheus/adapter.yaml, without a Prometheus between them.

Of each pod it reads /metrics, over HTTPS with a token of the scope read. A pod that
does not answer is left out, as one that is not scraped would be.
"""

import concurrent.futures
import datetime
import http.server
import json
import re
import ssl
import threading
import time
import urllib.parse
import urllib.request

GROUP = "custom.metrics.k8s.io"
VERSION = "v1beta2"
PORT = 9443
WAIT_WINDOW_S = 60
METRICS = ("ferry_load", "ferry_queue_wait_mean_seconds")
RESOURCES = {
    "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}",
    "resources": [{"name": f"pods/{name}", "singularName": "", "namespaced": True,
                   "kind": "MetricValueList", "verbs": ["get"]} for name in METRICS]}


def total(text, name):
    """Returns the sum of the samples of that name; None where there is none."""
    found = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M)
    # NaN is of a model that has not run.
    values = [float(value) for value in found if value != "NaN"]
    return sum(values) if values else None


class Adapter:
    """Serves until the process ends. `pods` returns the pods of a selector, with
    their addresses; `certificate` and `key` are of its own port."""

    def __init__(self, address, certificate, key, pods, token):
        self._pods, self._token = pods, token
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE  # addresses are in no certificate
        self._waits = {}  # of each pod: (moment, sum, count), oldest first
        adapter = self

        class Handler(http.server.BaseHTTPRequestHandler):

            def do_GET(self):  # pylint: disable=invalid-name
                answer = adapter.answer(self.path)
                body = json.dumps(answer or {}).encode()
                self.send_response(200 if answer else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer((address, PORT), Handler)
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(certificate, key)
        server.socket = own.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def scrape(self, pod):
        request = urllib.request.Request(
            f"https://{pod['status']['podIP']}:8002/metrics",
            headers={"Authorization": f"Bearer {self._token}"})
        try:
            with urllib.request.urlopen(request, timeout=3,
                                        context=self._context) as reply:
                return reply.read().decode()
        except (OSError, KeyError):
            return None

    def value(self, metric, pod, text):
        if metric == "ferry_load":
            return total(text, "ferry_load_ratio")
        waits = self._waits.setdefault(pod["metadata"]["name"], [])
        waits.append((time.monotonic(), *(
            total(text, f"ferry_queue_wait_seconds_{kind}") or 0
            for kind in ("sum", "count"))))
        while waits[-1][0] - waits[0][0] > WAIT_WINDOW_S:
            waits.pop(0)
        return (waits[-1][1] - waits[0][1]) / max(waits[-1][2] - waits[0][2], 1e-9)

    def answer(self, path):
        """Returns what the API has there, or None."""
        where = urllib.parse.urlsplit(path)
        name = urllib.parse.unquote(where.path).rstrip("/")  # "*" comes as %2A
        if name == f"/apis/{GROUP}/{VERSION}":
            return RESOURCES
        asked = re.fullmatch(rf"/apis/{GROUP}/{VERSION}/namespaces/(.+)/pods/\*/(\w+)",
                             name)
        if not asked or asked.group(2) not in METRICS:
            return None
        namespace, metric = asked.groups()
        selector = urllib.parse.parse_qs(where.query).get("labelSelector", [""])[0]
        pods = self._pods(selector)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(self.scrape, pods))
        now = f"{datetime.datetime.utcnow():%Y-%m-%dT%H:%M:%SZ}"
        items = []
        for pod, text in zip(pods, texts):
            value = text and self.value(metric, pod, text)
            if value is not None:
                items.append({
                    "describedObject": {"kind": "Pod", "namespace": namespace,
                                        "name": pod["metadata"]["name"],
                                        "apiVersion": "/v1"},
                    "metric": {"name": metric}, "timestamp": now,
                    "value": f"{round(value * 1000)}m"})
        return {"kind": "MetricValueList", "apiVersion": f"{GROUP}/{VERSION}",
                "metadata": {}, "items": items}
