#!/usr/bin/env bash
# Brings up a Kubernetes of one node on this machine, runs a command in it and
# takes all of it down again.
#
#   scripts/cluster.sh [--image TAR]... COMMAND...
#   scripts/cluster.sh kubectl get nodes
#
# It needs root, and control groups of version 1 (on a machine of version 2 boot
# with systemd.unified_cgroup_hierarchy=0). The node is real: etcd, the API server,
# its controllers and scheduler, kubelet, kube-proxy and CoreDNS, built of their own
# source, with Debian's containerd and runc. It lives in namespaces of its own for
# mounts, processes and network, with overlays in place of /etc, /opt, /var/lib and
# /var/log, so that it reaches nothing but this machine and ends with its first
# process. The command runs in these namespaces, with KUBECONFIG set and kubectl in
# its PATH.
# Where the node does not start, its logs stay in the folder that is named.
#
# On first use builds them into ${FERRY_TOOLS:-~/.cache/ferry-tools} through the
# Go module proxy, which takes about eight minutes on two cores.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
version=1.34.4
coredns=1.12.4
home=$tools/cluster-$version
kubernetes=(kube-apiserver kube-controller-manager kube-scheduler kubelet
  kube-proxy kubectl)
debian=(containerd runc containernetworking-plugins nftables libnftables1
  libnftnl11)

# write_module FOLDER: a module that builds Kubernetes and etcd. The repository
# names its parts by folders that its published module lacks, so each is taken by
# its own number.
write_module() {
  local parts
  mkdir -p "$1/etcd"
  cat >"$1/etcd/main.go" <<'END'
// Package main is etcd.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
END
  parts=$(cd "$1" && "${with_go[@]}" go mod download -json \
    "k8s.io/kubernetes@v$version" | sed -n 's/^\t"GoMod": "\(.*\)",/\1/p')
  {
    printf 'module node\n\ngo 1.24.0\n\n'
    printf 'require k8s.io/kubernetes v%s\n' "$version"
    sed -n 's,^\t\(k8s.io/[a-z-]*\) => ./staging.*,replace \1 => \1 v0.'"${version#1.}"',p' \
      "$parts"
  } >"$1/go.mod"
}

# write_coredns FOLDER: a module that builds CoreDNS with what a cluster needs.
write_coredns() {
  mkdir -p "$1"
  cat >"$1/main.go" <<'END'
// Package main is CoreDNS.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	dnsserver.Directives = []string{"bind", "cache", "kubernetes"}
	coremain.Run()
}
END
  printf 'module coredns\n\ngo 1.24.0\n\nrequire %s v%s\n' \
    github.com/coredns/coredns "$coredns" >"$1/go.mod"
}

# write_pause FOLDER: the process that holds a pod's namespaces.
write_pause() {
  mkdir -p "$1"
  cat >"$1/main.go" <<'END'
// Package main waits until it is told to end.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	<-end
}
END
  printf 'module pause\n\ngo 1.24.0\n' >"$1/go.mod"
}

# pack_pause FOLDER: the image of bin/pause, pause.tar.
pack_pause() {
  local layer=$1/image/layer.tar
  mkdir -p "$1/image"
  tar -C "$1/bin" --owner=0 --group=0 -cf "$layer" pause
  printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/pause"]},
"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$(sha256sum <"$layer" | cut -c 1-64)" >"$1/image/config.json"
  printf '[{"Config":"config.json","RepoTags":["localhost/pause:1"],
"Layers":["layer.tar"]}]' >"$1/image/manifest.json"
  tar -C "$1/image" -cf "$1/pause.tar" manifest.json config.json layer.tar
  rm -r "$1/image"
}

# compile FOLDER NAME MODULE PACKAGE: bin/NAME of a package of that module.
compile() {
  [ ! -x "$1/bin/$2" ] || return 0
  (cd "$1/$3" && alive "compiling $2" "${with_go[@]}" go build -mod=mod -ldflags \
    "-s -w -X k8s.io/component-base/version.gitVersion=v$version" \
    -o "$1/bin/$2" "$4") ||
    fail "could not build $2: is the Go module proxy reachable?"
}

# fetch_kinds FOLDER: kinds/, what KEDA and the operator of Prometheus add to the
# API, which is no more than their schemas. Their files have the modules' names.
fetch_kinds() {
  local module path folder kind
  mkdir -p "$1/kinds"
  while read -r module path; do
    folder=$("${with_go[@]}" go mod download -json "$module" |
      sed -n 's/^\t"Dir": "\(.*\)",/\1/p')
    kind=${module#github.com/}
    kind=${kind//\//-}-$(basename "$path")
    cp "$folder/$path" "$1/kinds/$kind" || fail "$module has no $path"
  done <<'END'
github.com/kedacore/keda/v2@v2.21.0 config/crd/bases/keda.sh_scaledobjects.yaml
github.com/kedacore/keda/v2@v2.21.0 config/crd/bases/keda.sh_triggerauthentications.yaml
github.com/prometheus-operator/prometheus-operator@v0.85.0 example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml
END
}

fill() {
  local name
  prepare_go "$1" 24
  mkdir -p "$1/node" "$1/bin"
  write_module "$1/node"
  write_coredns "$1/coredns"
  write_pause "$1/pause"
  compile "$1" etcd node ./etcd
  for name in "${kubernetes[@]}"; do
    compile "$1" "$name" node "k8s.io/kubernetes/cmd/$name"
  done
  compile "$1" coredns coredns .
  compile "$1" pause pause .
  pack_pause "$1"
  fetch_kinds "$1"
  for name in "${debian[@]}"; do
    unpack "$1" "$name"
  done
  rm -rf "$1/node" "$1/coredns" "$1/pause"
  drop_go "$1"
}

images=()
while [ "${1:-}" = --image ]; do
  [ $# -ge 2 ] || fail "--image needs a file"
  images+=(--image "$(readlink -f "$2")")
  shift 2
done
if [ $# = 0 ] || [ "${1:-}" = --help ]; then
  sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
  exit 0
fi
[ "$(id -u)" -eq 0 ] || fail "needs root, for namespaces and mounts"
install_tool "$home" bin/pause fill

# What the kubelet sets for the whole machine, and its pods' control groups, are
# put back when all has ended.
work=$(mktemp -d /var/tmp/ferry-cluster.XXXXXX)
group=$(basename "$work")
clean_up() {
  sysctl -q -p "$work/sysctl" || true
  find /sys/fs/cgroup -mindepth 2 -depth -path "*/$group*" -type d \
    -exec rmdir {} + 2>/dev/null || true
  [ -e "$work/failed" ] || rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'kill -KILL "$node" 2>/dev/null; wait "$node"; exit 130' INT TERM HUP
sysctl -e vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops \
  kernel.keys.root_maxkeys kernel.keys.root_maxbytes >"$work/sysctl"
unshare --mount --pid --net --fork --mount-proc --kill-child --propagation private \
  -- /usr/bin/python3 "$tool_scripts/../tests/cluster/node.py" --home "$home" \
  --work "$work" --group "$group" "${images[@]}" -- "$@" <&0 &
node=$!
wait "$node"
