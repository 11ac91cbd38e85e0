#!/usr/bin/env bash
# Layout, layering and file sizes of the sources; with --tidy also clang-tidy (slow; needs compile_commands.json in the build folder).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}

mapfile -t sources < <(git ls-files '*.cpp' '*.h' '*.cuh')
clang-format-19 --dry-run --Werror "${sources[@]}"
python3 tools/check_layers.py
if [ "${2:-}" = "--tidy" ]; then
  mapfile -t units < <(git ls-files 'tc/*.cpp' 'cli/*.cpp')
  # The commands are those of GCC, whose options clang need not know.
  printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy-19 -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option
fi
echo "lint: ${#sources[@]} files are clean"
