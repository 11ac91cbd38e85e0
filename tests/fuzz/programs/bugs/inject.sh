#!/usr/bin/env bash
# Does the fuzzer find what it should? Applies each patch of this folder in a scratch worktree, rebuilds and fuzzes until the
# first failure.
#   inject.sh [--count N] [--seed S] [--scratch FOLDER] [NUMBER...]     default: 600 programs from seed 20240, every patch
# Prints one line a bug: its name, found or missed, after how many programs, which property failed. Exit status 1 if one is missed.
set -euo pipefail
bugs=$(cd "$(dirname "$0")" && pwd)
root=$(git -C "$bugs" rev-parse --show-toplevel)
count=600 seed=20240 scratch=$root/build-bugs/worktree
chosen=()
while [ $# -gt 0 ]; do
  case $1 in
    --count) count=$2; shift 2 ;;
    --seed) seed=$2; shift 2 ;;
    --scratch) scratch=$2; shift 2 ;;
    -*) sed -n '2,5s/^# *//p' "$0" >&2; exit 2 ;;
    *) chosen+=("$1"); shift ;;
  esac
done

if [ ! -e "$scratch/.git" ]; then
  git -C "$root" worktree add --quiet --detach "$scratch" HEAD
fi
cd "$scratch"
git checkout --quiet -- .
[ -e build/build.ninja ] || cmake --preset release -B build > build.log
rebuild() { ninja -j1 -C build fuzz_programs > build.log 2>&1 || { tail -n 20 build.log >&2; exit 2; }; }

if [ ${#chosen[@]} -gt 0 ]; then
  patches=()
  for number in "${chosen[@]}"; do patches+=("$bugs/${number}"_*.patch); done
else
  patches=("$bugs"/*.patch)
fi

missed=0
for patch in "${patches[@]}"; do
  name=$(basename "$patch" .patch)
  git apply "$patch"
  rebuild
  result=$(build/bin/fuzz_programs --seed "$seed" --count "$count" --bug "$name" || true)
  git apply --reverse "$patch"
  verdict=$(grep -m1 '^bug ' <<< "$result" || echo "bug $name: missed, the fuzzer itself broke")
  property=$(grep -m1 '^FAILED' <<< "$result" | cut -d: -f2 || true)
  echo "$verdict${property:+ ($(xargs <<< "$property"))}"
  case $verdict in *missed*) missed=$((missed + 1)) ;; esac
done
echo "$missed missed"
[ "$missed" -eq 0 ]
