#!/usr/bin/env bash
# Shows that a build is reproducible: clones the commit into two folders, builds each
# without ccache, and compares what came out, byte by byte.
#
#   scripts/reproduce.sh [TARGET...]     for example: scripts/reproduce.sh ferry-server
#
# Without TARGET compares two bundles, which hold all that is shipped but the CUDA
# parts; with some, those programs of build/release/bin. Takes twice as long as
# a first build, and 5 GB under ${FERRY_REPRODUCE_DIR:-/var/tmp}, which it removes.
# Both builds use this folder's .venv, as what links torch has its path.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
  die "expected a clean tree, as commits are cloned, found changes; commit them"
bash scripts/setup.sh
[ -d .venv/lib ] || die "expected torch in .venv, found none; run scripts/setup.sh"
LibTorch_ROOT=$(echo "$root"/.venv/lib/python3*/site-packages/torch)
export LibTorch_ROOT CCACHE_DISABLE=1

work=$(mktemp -d "${FERRY_REPRODUCE_DIR:-/var/tmp}/ferry-reproduce.XXXXXX")
trap 'rm -rf "$work"' EXIT
clones=("$work/one" "$work/another/and/deeper")
for clone in "${clones[@]}"; do  # both now: commits may come while one is built
  git clone --quiet --no-local "$root" "$clone"
done
for clone in "${clones[@]}"; do
  ln -s "$root/.venv" "$clone/.venv"
  cp -r "$root/.tools" "$clone/.tools"
  if [ $# -gt 0 ]; then
    bash "$clone/scripts/build.sh" release "$@"
    (cd "$clone/build/release/bin" && sha256sum "$@") >"$clone.sums"
  else
    bash "$clone/scripts/bundle.sh" --cuda none
    tar -xzf "$clone"/dist/*.tar.gz -C "$clone/dist"
    (cd "$clone/dist" && sha256sum ./*.tar.gz &&
      cat ferry-*/MANIFEST.sha256) >"$clone.sums"
  fi
done
diff "${clones[0]}.sums" "${clones[1]}.sums" ||
  die "expected equal files of two builds, found those above to differ;" \
    "compare them with diffoscope"
say "$(wc -l <"${clones[0]}.sums") files of two builds are equal:"
head -n 20 "${clones[0]}.sums"
