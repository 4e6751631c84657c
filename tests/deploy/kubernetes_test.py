"""The manifests, by published schemas: Kubernetes' own through
kubernetes-validate, strict; KServe's by the lists of fields of its own Python
package, and its containers as those of a Pod.

Skipped where scripts/check_manifests.sh has not installed them.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import trust
from tools import ROOT, Tool

DEPLOY = ROOT / "deploy"
PLAIN = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
RUNTIMES = [DEPLOY / "kserve" / "cluster_serving_runtime.yaml",
            ROOT / "examples" / "kserve" / "serving-runtime.yaml"]
SERVER = os.environ["FERRY_SERVER"]
TERMINATION_LOG = "/dev/termination-log"  # where Kubernetes has it by itself
TO_JSON = ("import json, sys, yaml; print(json.dumps(list("
           "yaml.safe_load_all(open(sys.argv[1])))))")


def setUpModule():
    global CHECK
    CHECK = Tool("check_manifests")
    CHECK.require()


def documents(path):
    """Returns the documents of a YAML file."""
    read = CHECK.run("--python", "-c", TO_JSON, path)
    if read.returncode != 0:
        raise AssertionError(f"{path}: {read.stderr}")
    return json.loads(read.stdout)


class KServeModels:
    """The fields of KServe's types, from the classes of its package."""

    def __init__(self):
        told = CHECK.run("--python", "-c",
                         "import os; print(os.environ['FERRY_KSERVE_MODELS'])")
        self.folder = pathlib.Path(told.stdout.strip())

    def fields(self, kind):
        """Returns {JSON name: type}; of types that are not KServe's, None."""
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()
        path = self.folder / f"{name}.py"
        if not path.exists():
            return None
        text = path.read_text(encoding="utf-8")

        def table(which):
            body = re.search(rf"{which} = {{(.*?)}}", text, re.DOTALL).group(1)
            return dict(re.findall(r"'(\w+)': '([^']+)'", body))

        types, names = table("openapi_types"), table("attribute_map")
        return {names[field]: kind for field, kind in types.items()}

    def complaints(self, value, kind, where):
        """Yields what of the value the type does not have."""
        plain = {"str": str, "bool": bool, "int": int}
        inner = re.fullmatch(r"list\[(.*)\]", kind)
        if inner:
            if not isinstance(value, list):
                yield f"{where}: expected a list, got {value!r}"
                return
            for i, one in enumerate(value):
                yield from self.complaints(one, inner.group(1), f"{where}[{i}]")
        elif kind in plain:
            if type(value) is not plain[kind]:
                yield f"{where}: expected {kind}, got {value!r}"
        elif (fields := self.fields(kind)) is not None:
            for name, one in value.items():
                if name not in fields:
                    yield f"{where}: {kind} has no {name}"
                else:
                    yield from self.complaints(one, fields[name],
                                               f"{where}.{name}")


class ManifestTest(unittest.TestCase):

    def assertValid(self, *paths):
        checked = CHECK.run("--strict", *paths)
        self.assertEqual(checked.returncode, 0,
                         checked.stdout + checked.stderr)
        self.assertNotIn("WARN", checked.stdout + checked.stderr)

    def test_manifests_follow_the_schemas(self):
        self.assertEqual(len(PLAIN), 7)
        self.assertValid(*PLAIN)

    def test_what_an_autoscaler_scales_says_no_replicas(self):
        """Each apply would reset what the autoscaler has chosen."""
        all_ = [one for path in PLAIN for one in documents(path)]
        scaled = [one["spec"]["scaleTargetRef"] for one in all_
                  if one["kind"] == "HorizontalPodAutoscaler"]
        self.assertEqual(len(scaled), 1)
        for one in all_:
            if {"kind": one["kind"], "name": one["metadata"]["name"],
                    "apiVersion": one["apiVersion"]} in scaled:
                self.assertNotIn("replicas", one["spec"])
                break
        else:
            self.fail(f"no {scaled[0]}")

    def test_autoscaler_asks_for_what_the_adapter_makes(self):
        """Load and wait, not the busy ratio, which is high at any load under
        eager. What the adapter makes them of: prometheus_test."""
        (scaler,) = documents(DEPLOY / "kubernetes" / "autoscaler.yaml")
        named = [one["pods"]["metric"]["name"]
                 for one in scaler["spec"]["metrics"]]
        self.assertEqual(named, ["ferry_load", "ferry_queue_wait_mean_seconds"])
        (adapter,) = documents(DEPLOY / "prometheus" / "adapter.yaml")
        self.assertEqual([rule["name"]["as"] for rule in adapter["rules"]],
                         named)

    def test_scaled_object_scales_the_deployment_on_load(self):
        (scaled,) = documents(DEPLOY / "keda" / "scaled_object.yaml")
        (deployment,) = documents(DEPLOY / "kubernetes" / "deployment.yaml")
        self.assertEqual(scaled["spec"]["scaleTargetRef"]["name"],
                         deployment["metadata"]["name"])
        asked = [one["metadata"] for one in scaled["spec"]["triggers"]
                 if one["type"] == "prometheus"]
        self.assertIn("ferry_load_ratio", asked[0]["query"])
        for one in asked:  # a Prometheus that is away is no load of 0
            self.assertEqual(one["ignoreNullValues"], "false")
        tests = (DEPLOY / "prometheus" / "rules_test.yaml").read_text()
        self.assertEqual(tests.count(f"- expr: {asked[0]['query']}\n"), 2)

    def test_endpoint_picker_reads_what_there_is(self):
        (picker,) = documents(DEPLOY / "gateway" / "endpoint_picker.yaml")
        plugins = {one.get("name", one["type"]): one for one in picker["plugins"]}
        (engine,) = plugins["metrics-extractor"]["parameters"]["engineConfigs"]
        metrics = (ROOT / "docs" / "metrics.md").read_text()
        self.assertIn(f"`{engine['queuedRequestsSpec']}`", metrics)
        named = re.findall(r"pluginRef': '([^']+)'", str(picker))
        self.assertEqual(set(named), set(plugins))

    def test_pods_that_are_scraped_are_those_of_the_deployment(self):
        (monitor,) = documents(DEPLOY / "prometheus" / "pod_monitor.yaml")
        (deployment,) = documents(DEPLOY / "kubernetes" / "deployment.yaml")
        pod = deployment["spec"]["template"]
        self.assertEqual(
            monitor["spec"]["selector"]["matchLabels"].items() -
            pod["metadata"]["labels"].items(), set())
        (scraped,) = monitor["spec"]["podMetricsEndpoints"]
        self.assertIn(scraped["port"],
                      [port["name"] for container in pod["spec"]["containers"]
                       for port in container["ports"]])

    def test_network_policy_lets_clients_in(self):
        (policy,) = documents(DEPLOY / "kubernetes" / "network_policy.yaml")
        (deployment,) = documents(DEPLOY / "kubernetes" / "deployment.yaml")
        (job,) = documents(DEPLOY / "kubernetes" / "batch_job.yaml")
        pod = deployment["spec"]["template"]
        self.assertEqual(policy["spec"]["podSelector"]["matchLabels"],
                         pod["metadata"]["labels"])
        rules = policy["spec"]["ingress"]
        self.assertEqual([port["port"] for rule in rules for port in rule["ports"]],
                         [port["name"] for port in
                          pod["spec"]["containers"][0]["ports"]])
        (client,) = rules[0]["from"]
        self.assertLessEqual(client["podSelector"]["matchLabels"].items(),
                             job["spec"]["template"]["metadata"]["labels"].items())

    def test_a_wrong_manifest_would_be_found(self):
        text = (DEPLOY / "kubernetes" / "deployment.yaml").read_text()
        with tempfile.TemporaryDirectory() as folder:
            wrong = pathlib.Path(folder) / "wrong.yaml"
            wrong.write_text(text.replace("readinessProbe", "readyProbe"))
            self.assertNotEqual(CHECK.run("--strict", wrong).returncode, 0)

    def test_runtimes_follow_kserve(self):
        models = KServeModels()
        for path in RUNTIMES:
            (runtime,) = documents(path)
            kind = "V1alpha1" + runtime["kind"]
            said = list(models.complaints(runtime, kind, path.name))
            self.assertEqual(said, [])
            runtime["spec"]["supported"] = []
            said = list(models.complaints(runtime, kind, path.name))
            self.assertEqual(len(said), 1, said)

    def test_containers_of_the_runtimes_follow_the_schemas(self):
        for path in RUNTIMES:
            (runtime,) = documents(path)
            spec = runtime["spec"]
            self.assertEqual(spec["containers"][0]["name"], "kserve-container")
            pod = {"apiVersion": "v1", "kind": "Pod",
                   "metadata": {"name": "ferry"},
                   "spec": {"containers": spec["containers"],
                            "volumes": spec.get("volumes", [])}}
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "pod.yaml"
                file.write_text(json.dumps(pod))
                self.assertValid(file)


class ArgumentsTest(unittest.TestCase):
    """What the schemas do not know: our own flags, ports and times."""

    def containers(self):
        (deployment,) = documents(DEPLOY / "kubernetes" / "deployment.yaml")
        pod = deployment["spec"]["template"]["spec"]
        yield pod["containers"][0], pod["terminationGracePeriodSeconds"]
        for path in RUNTIMES:
            (runtime,) = documents(path)
            yield runtime["spec"]["containers"][0], 30

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-secrets-")
        self.addCleanup(folder.cleanup)
        key, certificate = trust.Authority(folder.name).sign("ferry")
        tokens = os.path.join(folder.name, "tokens")
        trust.write(tokens, trust.token_line("web", "infer", "token"))
        self.files = {"/tls/tls.key": key, "/tls/tls.crt": certificate,
                      "/tokens/tokens": tokens,
                      TERMINATION_LOG: os.path.join(folder.name, "reason")}

    def arguments(self, container):
        """Returns them, with files in the place of those of a pod."""
        return [f"{name}={self.files.get(value, value)}" if value else name
                for name, _, value in (argument.partition("=")
                                       for argument in container["args"])]

    def flags(self, container):
        return {name.lstrip("-"): value for name, _, value in (
            argument.partition("=") for argument in container["args"])}

    def test_the_server_knows_the_flags(self):
        for container, _ in self.containers():
            # Past the flags, it fails for want of the models.
            flags = [flag for flag in self.arguments(container)
                     if not flag.startswith("--device=")]
            ended = subprocess.run([SERVER, *flags], text=True,
                                   capture_output=True, timeout=60, check=False)
            self.assertEqual(ended.returncode, 1)
            self.assertRegex(ended.stderr, "cannot start: .*(/models|/mnt)")

    def test_kubernetes_shows_why_a_server_ended(self):
        for container, _ in self.containers():
            self.assertEqual(
                self.flags(container)["reason-file"],
                container.get("terminationMessagePath", TERMINATION_LOG))
            self.assertEqual(container["terminationMessagePolicy"],
                             "FallbackToLogsOnError")

    def test_the_image_starts_the_server(self):
        """It has no ferry-server in its PATH."""
        image = (DEPLOY / "container" / "Containerfile").read_text()
        self.assertRegex(image, r'(?m)^ENTRYPOINT \[".*/ferry-server"\]$')
        for container, _ in self.containers():
            self.assertNotIn("command", container)

    def test_a_server_that_drains_is_live(self):
        for container, _ in self.containers():
            port = next(arg.split("=")[1] for arg in container["args"]
                        if arg.startswith("--metrics-port="))
            names = {one["name"]: one["containerPort"]
                     for one in container["ports"]}
            asked = container["livenessProbe"]["httpGet"]
            self.assertEqual(asked["path"], "/v2/health/live")
            self.assertEqual(names.get(asked["port"], asked["port"]), int(port))

    @unittest.skipUnless("FERRY_FAKE_NVML_FILE" in os.environ, "no fake NVML")
    def test_a_pod_with_a_slice_takes_that_slice(self):
        with_slice = [
            container for container, _ in self.containers()
            if any(name.startswith("nvidia.com/")
                   for name in container["resources"].get("limits", {}))]
        self.assertEqual(len(with_slice), 2)
        with tempfile.TemporaryDirectory() as folder:
            scenario = pathlib.Path(folder) / "scenario"
            scenario.write_text(
                "gpu uuid=GPU-a name=G mig=on places=7 memory_mib=143771\n"
                "mig gpu=0 place=4 uuid=MIG-b name=G_MIG_1g.18gb "
                "memory_mib=16384\n")
            environment = os.environ | {
                "LD_LIBRARY_PATH":
                    os.path.dirname(os.environ["FERRY_FAKE_NVML_FILE"]),
                "FERRY_FAKE_NVML": str(scenario)}
            environment.pop("CUDA_VISIBLE_DEVICES", None)
            for container in with_slice:
                ended = subprocess.run([SERVER, *self.arguments(container)],
                                       text=True, capture_output=True, timeout=60,
                                       env=environment, check=False)
                self.assertEqual(ended.returncode, 1)
                self.assertIn(" device uuid=MIG-b parent=GPU-a", ended.stderr)

    def test_probes_ask_ports_that_are_served(self):
        for container, _ in self.containers():
            flags = self.flags(container)
            grpc_port = int(flags["grpc-port"])
            named = {port["name"]: port["containerPort"]
                     for port in container["ports"]}
            self.assertIn(grpc_port, named.values())
            for name in ("startupProbe", "readinessProbe", "livenessProbe"):
                probe = container[name]
                if "grpc" in probe:
                    self.assertEqual(probe["grpc"]["port"], grpc_port)
                    self.assertNotIn("tls-cert", flags, "it has no TLS")
                else:
                    self.assertEqual(probe["httpGet"].get("scheme") == "HTTPS",
                                     "tls-cert" in flags)
                    port = probe["httpGet"]["port"]
                    self.assertEqual(named.get(port, port),
                                     int(flags.get("metrics-port", 8002)))

    def test_probes_need_no_token(self):
        for container, _ in self.containers():
            flags = self.flags(container)
            self.assertEqual("auth-token-file" in flags, "open-health" in flags)

    def test_secrets_are_mounted_where_the_flags_look(self):
        (deployment,) = documents(DEPLOY / "kubernetes" / "deployment.yaml")
        pod = deployment["spec"]["template"]["spec"]
        secrets = {one["name"] for one in pod["volumes"] if "secret" in one}
        (container,) = pod["containers"]
        mounted = {one["mountPath"] for one in container["volumeMounts"]
                   if one["name"] in secrets}
        flags = self.flags(container)
        self.assertEqual(mounted, {os.path.dirname(flags[name]) for name in
                                   ("tls-cert", "tls-key", "auth-token-file")})
        for one in pod["volumes"]:
            if "secret" in one:  # the server refuses a key that others may read
                self.assertEqual(one["secret"]["defaultMode"] & 0o007, 0)

    def test_grace_is_longer_than_the_drain(self):
        for container, grace in self.containers():
            flags = self.flags(container)
            drain = (int(flags["drain-delay-secs"]) +
                     int(flags.get("exit-timeout-secs", 20)))
            self.assertGreaterEqual(grace, drain + 5)

    def test_server_that_hangs_is_gone_in_time(self):
        """Within 20 s, and not before one that ends by itself has ended."""
        (deployment,) = documents(DEPLOY / "kubernetes" / "deployment.yaml")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        probe = container["livenessProbe"]
        looks, period = probe["failureThreshold"], probe["periodSeconds"]
        grace = probe["terminationGracePeriodSeconds"]
        self.assertLessEqual(looks * period + probe["timeoutSeconds"] + grace, 20)
        exit_timeout = int(self.flags(container)["exit-timeout-secs"])
        self.assertGreaterEqual((looks - 1) * period + grace, exit_timeout + 2)

    def test_connections_that_are_old_cut_no_call(self):
        for container, _ in self.containers():
            flags = self.flags(container)
            if int(flags.get("grpc-max-connection-age-secs", 0)):
                self.assertEqual(flags["grpc-max-connection-age-grace-secs"], "0")


class BatchJobTest(unittest.TestCase):

    def setUp(self):
        (job,) = documents(DEPLOY / "kubernetes" / "batch_job.yaml")
        self.spec = job["spec"]
        self.pod = self.spec["template"]["spec"]
        (self.container,) = self.pod["containers"]

    def test_codes_that_pass_end_no_job(self):
        actions = {tuple(rule["onExitCodes"]["values"]): rule["action"]
                   for rule in self.spec["podFailurePolicy"]["rules"]
                   if "onExitCodes" in rule}
        self.assertEqual(actions, {(1,): "FailJob", (75,): "Ignore", (2,): "Count"})
        self.assertEqual(self.pod["restartPolicy"], "Never")

    def test_grace_of_the_pod_is_longer_than_that_of_the_job(self):
        grace = next(re.search(r"--grace=(\d+)s$", each).group(1)
                     for each in self.container["args"] if "--grace" in each)
        self.assertGreater(self.pod["terminationGracePeriodSeconds"], int(grace) + 5)

    def test_files_that_the_flags_name_are_mounted(self):
        mounted = {one["mountPath"] for one in self.container["volumeMounts"]}
        for each in self.container["args"]:
            path = each.partition("=")[2] if each.startswith("--") else each
            if path.startswith("/"):
                self.assertIn(f"/{path.split('/')[1]}", mounted)


if __name__ == "__main__":
    sys.exit(unittest.main())
