"""Runs a Kubernetes of one node, then a command, in the namespaces that
scripts/cluster.sh has made for them; see there.

The node's address is one of a veth pair of these namespaces, which lead nowhere
else. What it writes lies in the folder of --work, where the logs stay.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ADDRESS = "10.90.0.2"
GATEWAY = "10.90.0.1"
POD_NETWORK = "10.244.0.0/24"
SERVICE_NETWORK = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"
NAME = "node"
CONTAINERD = "unix:///run/containerd/containerd.sock"
START_TIMEOUT_S = 180
# What a class of devices needs that stands for a resource of a device plugin.
FEATURES = "--feature-gates=DRAExtendedResource=true"
# What the scheduler is told that the node has; containers run on the processor.
SLICES = {"nvidia.com/mig-1g.18gb": "7"}


def say(text):
    print(f"cluster: {text}", file=sys.stderr, flush=True)


def run(*command, **options):
    """Returns what a command prints. Errors: RuntimeError with its words."""
    done = subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code "
                           f"{done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_until(what, condition):
    deadline = time.monotonic() + START_TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"expected within {START_TIMEOUT_S} s: {what}")
        time.sleep(0.2)


class Node:
    """The parts of the node, each a process with a log of its own."""

    def __init__(self, home, work, group):
        self.home, self.work, self.group = home, work, group
        self.logs = work / "logs"
        self.keys = work / "keys"
        self.parts = {}
        for folder in (self.logs, self.keys):
            folder.mkdir()
        os.environ["PATH"] = ":".join(
            [str(home / "bin"), str(home / "usr/bin"), str(home / "usr/sbin"),
             os.environ["PATH"]])
        self.debian = os.environ | {
            "LD_LIBRARY_PATH": str(home / "usr/lib/x86_64-linux-gnu")}

    # --- what the machine gives ---

    def overlay(self, path):
        """Lets what is written to a folder go to --work."""
        name = path.strip("/").replace("/", "-")
        upper, scratch = (self.work / f"{name}-{kind}" for kind in
                          ("upper", "scratch"))
        upper.mkdir()
        scratch.mkdir()
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir={path},upperdir={upper},workdir={scratch}", path)

    def make_room(self):
        for path in ("/etc", "/opt", "/var/lib", "/var/log"):
            self.overlay(path)
        run("mount", "-t", "tmpfs", "tmpfs", "/run")
        # Layers of containers are overlays, which do not lie in another.
        for name in ("containerd", "kubelet", "cni"):
            here, path = self.work / name, pathlib.Path("/var/lib") / name
            here.mkdir()
            path.mkdir(exist_ok=True)
            run("mount", "--bind", here, path)
        run("mount", "--make-shared", "/var/lib/kubelet")

    def make_network(self):
        for line in ("link set lo up",
                     "link add node0 type veth peer name node1",
                     f"addr add {ADDRESS}/24 dev node0",
                     "link set node0 up", "link set node1 up",
                     f"route add default via {GATEWAY} dev node0"):
            run("ip", *line.split())
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        etc = pathlib.Path("/etc")
        (etc / "resolv.conf").unlink(missing_ok=True)
        (etc / "resolv.conf").write_text(
            f"nameserver {ADDRESS}\n"
            "search default.svc.cluster.local svc.cluster.local\n")
        (etc / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {NAME}\n")
        (etc / "cni/net.d").mkdir(parents=True, exist_ok=True)
        (etc / "cni/net.d/10-pods.conflist").write_text(json.dumps({
            "cniVersion": "1.0.0", "name": "pods",
            "plugins": [{
                "type": "bridge", "bridge": "pods", "isGateway": True,
                "ipam": {"type": "host-local", "ranges": [[
                    {"subnet": POD_NETWORK}]],
                    "routes": [{"dst": "0.0.0.0/0"}]}}]}))

    def make_group(self):
        """Makes the group of version 1 of each controller in which all pods are."""
        made = False
        for controller in pathlib.Path("/sys/fs/cgroup").iterdir():
            if not (controller / "tasks").exists():
                continue
            made = True
            folder = controller / self.group
            folder.mkdir(exist_ok=True)
            for file in ("cpuset.cpus", "cpuset.mems"):
                if (folder / file).exists():
                    (folder / file).write_text((controller / file).read_text())
        if not made:
            raise RuntimeError("expected control groups of version 1 in "
                               "/sys/fs/cgroup, got none: scripts/cluster.sh --help")

    # --- keys ---

    def openssl(self, *arguments):
        run("openssl", *arguments, cwd=self.keys)

    def make_keys(self):
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                     "-subj", "/CN=ferry-cluster", "-keyout", "ca.key", "-out",
                     "ca.crt")
        self.openssl("genrsa", "-out", "accounts.key", "2048")
        names = ("DNS:kubernetes", "DNS:kubernetes.default",
                 "DNS:kubernetes.default.svc", "DNS:localhost",
                 f"IP:{API_SERVICE}", f"IP:{ADDRESS}", "IP:127.0.0.1")
        for name, subject in (("server", "/CN=kube-apiserver"),
                              ("admin", "/O=system:masters/CN=admin"),
                              ("front", "/CN=front-proxy")):
            self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject,
                         "-addext", "subjectAltName=" + ",".join(names),
                         "-keyout", f"{name}.key", "-out", f"{name}.csr")
            self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt",
                         "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                         "-copy_extensions", "copy", "-out", f"{name}.crt")
        self.kubeconfig = self.keys / "kubeconfig"
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "cluster",
            "clusters": [{"name": "cluster", "cluster": {
                "server": f"https://{ADDRESS}:6443",
                "certificate-authority": str(self.keys / "ca.crt")}}],
            "users": [{"name": "admin", "user": {
                "client-certificate": str(self.keys / "admin.crt"),
                "client-key": str(self.keys / "admin.key")}}],
            "contexts": [{"name": "cluster", "context": {
                "cluster": "cluster", "user": "admin",
                "namespace": "default"}}]}))
        os.environ["KUBECONFIG"] = str(self.kubeconfig)

    # --- parts ---

    def start(self, *command, **options):
        name = pathlib.Path(command[0]).name
        with open(self.logs / f"{name}.log", "ab") as log:
            self.parts[name] = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True, **options)

    def check_parts(self):
        for name, part in self.parts.items():
            if part.poll() is not None:
                log = (self.logs / f"{name}.log").read_text(errors="replace")
                raise RuntimeError(f"{name} ended with {part.returncode}:\n"
                                   f"{log[-3000:]}")

    def answers(self, *command):
        self.check_parts()
        return subprocess.run(command, check=False, timeout=60,
                              capture_output=True).returncode == 0

    def start_control(self):
        key = self.keys
        self.start("etcd", f"--data-dir={self.work}/etcd", "--unsafe-no-fsync",
                   "--listen-client-urls=http://127.0.0.1:2379",
                   "--advertise-client-urls=http://127.0.0.1:2379",
                   "--listen-peer-urls=http://127.0.0.1:2380")
        self.start(
            "kube-apiserver", f"--advertise-address={ADDRESS}",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--client-ca-file={key}/ca.crt",
            f"--tls-cert-file={key}/server.crt",
            f"--tls-private-key-file={key}/server.key",
            f"--kubelet-client-certificate={key}/admin.crt",
            f"--kubelet-client-key={key}/admin.key",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-account-key-file={key}/accounts.key",
            f"--service-account-signing-key-file={key}/accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={SERVICE_NETWORK}",
            f"--requestheader-client-ca-file={key}/ca.crt",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={key}/front.crt",
            f"--proxy-client-key-file={key}/front.key",
            "--enable-aggregator-routing", "--authorization-mode=Node,RBAC",
            FEATURES)
        wait_until("an API server", lambda: self.answers(
            "kubectl", "get", "--raw", "/readyz"))
        self.start(
            "kube-controller-manager", f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={key}/accounts.key",
            f"--root-ca-file={key}/ca.crt", "--leader-elect=false",
            "--horizontal-pod-autoscaler-sync-period=5s",
            "--horizontal-pod-autoscaler-initial-readiness-delay=5s")
        self.start("kube-scheduler", f"--kubeconfig={self.kubeconfig}",
                   "--leader-elect=false", FEATURES)

    def start_containerd(self, images):
        cri = 'plugins."io.containerd.grpc.v1.cri"'
        config = self.work / "containerd.toml"
        config.write_text(f"""version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs"]
[{cri}]
  sandbox_image = "localhost/pause:1"
  # A process that is not the machine's first may not raise what it was given.
  restrict_oom_score_adj = true
[{cri}.cni]
  bin_dir = "{self.home}/usr/lib/cni"
  conf_dir = "/etc/cni/net.d"
[{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[{cri}.containerd.runtimes.runc.options]
  BinaryName = "{self.home}/usr/sbin/runc"
""")
        self.start("containerd", "--config", config, env=self.debian)
        wait_until("containerd", lambda: self.answers("ctr", "version"))
        for image in images:
            run("ctr", "--namespace", "k8s.io", "images", "import", image)

    def start_node(self):
        config = self.work / "kubelet.json"
        config.write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False}, "webhook": {"enabled": False},
                "x509": {"clientCAFile": str(self.keys / "ca.crt")}},
            "authorization": {"mode": "AlwaysAllow"},
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self.group}",
            "failCgroupV1": False, "failSwapOn": False,
            "enforceNodeAllocatable": [],
            "makeIPTablesUtilChains": False,
            "containerRuntimeEndpoint": CONTAINERD,
            "clusterDNS": [ADDRESS], "clusterDomain": "cluster.local",
            "resolvConf": "/etc/resolv.conf",
            "evictionHard": {"memory.available": "100Mi"},
            "podLogsDir": "/var/log/pods"}))
        self.start("kubelet", f"--config={config}",
                   f"--kubeconfig={self.kubeconfig}",
                   f"--hostname-override={NAME}", f"--node-ip={ADDRESS}",
                   env=self.debian)
        self.start("kube-proxy", f"--kubeconfig={self.kubeconfig}",
                   f"--hostname-override={NAME}", "--proxy-mode=nftables",
                   f"--cluster-cidr={POD_NETWORK}",
                   "--conntrack-max-per-core=0", "--conntrack-min=0",
                   "--conntrack-tcp-timeout-established=0",
                   "--conntrack-tcp-timeout-close-wait=0", env=self.debian)
        corefile = self.work / "Corefile"
        corefile.write_text(
            f".:53 {{\n  bind {ADDRESS}\n  cache 30\n"
            f"  kubernetes cluster.local {{\n    kubeconfig {self.kubeconfig}\n"
            "    ttl 30\n  }\n}\n")
        self.start("coredns", "-conf", corefile)
        wait_until("a node", lambda: self.answers("kubectl", "get", "node", NAME))
        run("kubectl", "patch", "node", NAME, "--subresource=status", "--type=merge",
            "--patch", json.dumps({"status": {"capacity": SLICES}}))
        wait_until("a node that is ready", lambda: self.answers(
            "kubectl", "wait", f"node/{NAME}", "--for=condition=Ready",
            "--timeout=1s"))


def main():
    parser = argparse.ArgumentParser(prog="scripts/cluster.sh")
    parser.add_argument("--home", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--image", action="append", default=[])
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    # The first process of its namespace: what ends without a parent is its own.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    node = Node(options.home, options.work, options.group)
    try:
        node.make_room()
        node.make_network()
        node.make_group()
        node.make_keys()
        node.start_control()
        node.start_containerd([options.home / "pause.tar", *options.image])
        node.start_node()
    except RuntimeError as error:
        (options.work / "failed").touch()
        say(f"error: {error}\ncluster: logs are in {node.logs}")
        return 1
    say(f"the node is ready after {time.monotonic() - started:.0f} s")
    os.environ["FERRY_CLUSTER_KINDS"] = str(options.home / "kinds")
    os.environ["TMPDIR"] = str(options.work)
    return subprocess.run(options.command[1:], check=False).returncode  # after --


if __name__ == "__main__":
    sys.exit(main())
