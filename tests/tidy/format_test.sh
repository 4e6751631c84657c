#!/usr/bin/env bash
# Checks that clang-format 14 would change no C++ file: format_test.sh DIR.
# Another version formats otherwise; without this one the test is skipped.
set -euo pipefail
cd "$1"
command -v clang-format-14 >/dev/null || {
  echo "clang-format-14 is not installed; run scripts/setup.sh"
  exit 77
}
# Outside git (a release archive) the folders are walked.
files() {
  git -c safe.directory='*' ls-files --cached --others --exclude-standard \
    -- '*.h' '*.cc' '*.cu' '*.cuh' 2>/dev/null ||
    find base tensor batcher models flags server bench deploy tests examples -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh'
}
mapfile -t sources < <(files | while read -r file; do
  if [ -f "$file" ]; then echo "$file"; fi
done)
[ ${#sources[@]} -gt 20 ] || {
  echo "found too few files to check"
  exit 1
}
clang-format-14 --dry-run -Werror "${sources[@]}"
echo "${#sources[@]} files are formatted"
