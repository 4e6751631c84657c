#!/usr/bin/env bash
# Writes MANIFEST.sha256 of a model's folder, and its signature beside it.
#
#   scripts/sign_model.sh KEY FOLDER...
#
# KEY is a private Ed25519 key in PEM; each FOLDER is a model's in a repository,
# or a version's in that. A model's manifest lists its files and those of all
# versions, except versions with a manifest of their own: sign these first, each
# by its own folder. Servers check it with the public half of the key:
#
#   openssl genpkey -algorithm ed25519 -out KEY
#   openssl pkey -in KEY -pubout -out KEY.pub
#   ferry-server --model-repository DIR --manifest-key KEY.pub
#
# Sign a folder before it is put in place. Keep KEY where no server runs.
set -euo pipefail
called_from=$PWD
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$called_from"

manifest=MANIFEST.sha256

# Prints the files of the current folder that its manifest lists, ended by NUL.
files() {
  local own pass_over=()
  while IFS= read -r own; do
    pass_over+=(-path "${own%/*}" -prune -o)
  done < <(find . -mindepth 2 -maxdepth 2 -name "$manifest")
  find . "${pass_over[@]}" ! -type d ! -name "$manifest" \
    ! -name "$manifest.sig" -printf '%P\0' | LC_ALL=C sort -z
}

sign() {
  local key=$1 folder=$2 odd text
  [ -d "$folder" ] || die "expected a folder of a model, got '$folder'"
  cd "$folder"
  odd=$(find . ! -type d ! -type f -print -quit)
  [ -z "$odd" ] || die "expected files, got a link or the like, '$folder/$odd':" \
    "put what it leads to in its place"
  odd=$(find . \( -name '*\\*' -o -name $'*\n*' \) -print -quit)
  [ -z "$odd" ] || die "expected no backslash and no end of line in a name," \
    "got them in '$folder/$odd': rename it"
  text=$(files | xargs -0 -r sha256sum --)
  [ -n "$text" ] || die "expected files in '$folder', got none"
  trap 'rm -f "$manifest.new" "$manifest.sig.new"' EXIT
  printf '%s\n' "$text" >"$manifest.new"
  openssl pkeyutl -sign -rawin -inkey "$key" -in "$manifest.new" \
    -out "$manifest.sig.new"
  mv "$manifest.sig.new" "$manifest.sig"
  mv "$manifest.new" "$manifest"
  say "$folder: $(wc -l <"$manifest") files"
}

case ${1:-} in
  -h | --help)
    sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "$root/scripts/sign_model.sh"
    exit 0
    ;;
esac
[ $# -ge 2 ] || die "expected KEY and FOLDER; see --help"
key=$(realpath -- "$1")
shift
openssl pkey -in "$key" -noout -text 2>/dev/null | grep -q '^ED25519 Private' ||
  die "expected a private Ed25519 key in PEM, got '$key'; see --help"
for folder in "$@"; do
  (sign "$key" "$folder")
done
