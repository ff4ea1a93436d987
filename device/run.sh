#!/bin/sh
# Everything that only a machine with a GPU can tell, without a network: one command, parts in order.
#
#   device/run.sh [--out FOLDER] [--seconds N] [--rehearse] [PART...]
#
#   check      every kernel against the float64 loop; streams, threads, captured graphs; the adversary
#   times      kernels by replayed graphs beside their peers, the host's work, memory
#   sanitize   compute-sanitizer over the kernels
#   train      psMNIST with UnICORNN-128, as far as the time goes
#
# Without parts: all, in this order. Each ends within --seconds (default 500), writes under --out (default device_out)
# by rename, and goes on from there when it is called again. --rehearse runs the order on the CPU, in the emulator.
# The bundle (device/bundle.py; BUNDLE, default build/device) has what the machine lacks.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
out=device_out seconds=500 rehearse=
parts=
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --rehearse) rehearse=1; shift ;;
    check|times|sanitize|train) parts="$parts $1"; shift ;;
    *) echo "run.sh: there is no part or option '$1'. See the first lines of this file." >&2; exit 2 ;;
  esac
done
parts=${parts:-check times sanitize train}
device=cuda
[ -z "$rehearse" ] || device=cpu
python=${PYTHON:-python3}
bundle=${BUNDLE:-$root/build/device}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# What the machine lacks, beside its own packages and never in their place.
site=${TMPDIR:-/tmp}/odernn_site_$(id -u)
if ls "$bundle"/wheels/*.whl >/dev/null 2>&1 && [ ! -f "$site/.done" ]; then
  "$python" -m pip install --quiet --no-index --no-deps --no-compile --no-cache-dir --target "$site" \
    "$bundle"/wheels/*.whl && touch "$site/.done"
fi
export PYTHONPATH="$root:$site${PYTHONPATH:+:$PYTHONPATH}"
export ODERNN_CUBINS="$bundle/cubins"
export ODERNN_DATA="${ODERNN_DATA:-$bundle/data}"
export PYTHONUNBUFFERED=1
# cuBLAS adds in one order only with its workspace fixed before the first product.
export CUBLAS_WORKSPACE_CONFIG=:4096:8
cd "$root" || exit 1

suite() {
  "$python" -m device.suite --output "$out" --seconds "$seconds" ${rehearse:+--emulated} "$@"
}

status=0
for part in $parts; do
  echo "== $part"
  case $part in
    check) suite --part correctness --part streams --part adversary ;;
    times) suite --part times --part crossover --part scornn --part trajectories --part host --part memory ;;
    sanitize) suite --part sanitizer ;;
    train)
      "$python" benchmarks/training_runs.py "psMNIST, UnICORNN-128, longer" --device "$device" --seconds "$seconds" \
        --checkpoints "$out" --output "$out" ;;
  esac || { status=1; echo "== $part: not all was done, or not all holds"; }
done
exit $status
