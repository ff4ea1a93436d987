#!/bin/sh
# Everything that only a machine with a GPU can tell, without a network: one command, parts in order.
#
#   device/run.sh [--out FOLDER] [--seconds N] [--rehearse] [--jobs N] [--run NAME]... [PART...]
#
#   check      every kernel against the float64 loop; streams, threads, captured graphs; the adversary
#   times      kernels by replayed graphs beside their peers, the host's work, in which thread, memory
#   sanitize   compute-sanitizer over the kernels
#   train      the runs of benchmarks/training_runs.py whose names begin with a NAME, --jobs of them side by side, as far
#              as the time goes; without --run psMNIST with UnICORNN-128
#
# Without parts: all, in this order. Each ends within --seconds (default 500), writes under --out (default device_out)
# by rename, and goes on from there when it is called again. --rehearse runs the order on the CPU, in the emulator.
# Runs side by side share the device by NVIDIA's MPS where nvidia-cuda-mps-control is installed: it is started and
# stopped here, in a folder of its own, unless CUDA_MPS_PIPE_DIRECTORY names one that runs. Without it they take turns.
# The bundle (device/bundle.py; BUNDLE, default build/device) has what the machine lacks.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
out=device_out seconds=500 rehearse= jobs=1 mps=
parts= runs=
newline='
'
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --rehearse) rehearse=1; shift ;;
    --jobs) jobs=$2; shift 2 ;;
    --run) runs="$runs$2$newline"; shift 2 ;;
    check|times|sanitize|train) parts="$parts $1"; shift ;;
    *) echo "run.sh: there is no part or option '$1'. See the first lines of this file." >&2; exit 2 ;;
  esac
done
case $jobs in ''|*[!0-9]*|0*) echo "run.sh: --jobs is '$jobs'; give 1 or more." >&2; exit 2 ;; esac
runs=${runs:-psMNIST, UnICORNN-128, longer}
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

share() {
  [ "$jobs" -gt 1 ] && [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ] || return 0
  if ! command -v nvidia-cuda-mps-control >/dev/null 2>&1; then
    echo "run.sh: there is no nvidia-cuda-mps-control: $jobs runs take turns on the device"
    return 0
  fi
  mps=$(mktemp -d "${TMPDIR:-/tmp}/odernn_mps.XXXXXX") || return 0
  mkdir "$mps/pipe" "$mps/log"
  export CUDA_MPS_PIPE_DIRECTORY="$mps/pipe" CUDA_MPS_LOG_DIRECTORY="$mps/log"
  if nvidia-cuda-mps-control -d; then
    echo "run.sh: $jobs runs share the device by MPS"
  else
    echo "run.sh: MPS does not start: $jobs runs take turns on the device"
    rm -rf "$mps"
    mps=
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  fi
}

stop_sharing() {
  [ -n "$mps" ] || return 0
  echo quit | nvidia-cuda-mps-control || echo "run.sh: MPS does not stop; its pipe is in $mps"
  rm -rf "$mps"
  mps=
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}
trap stop_sharing EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

train() {
  for each in "$root"/device/unfinished/*/; do # what stopped elsewhere goes on
    [ ! -d "$each" ] || [ -d "$out/$(basename "$each")" ] || cp -r "$each" "$out/"
  done
  share
  (
    IFS=$newline
    set -f
    # Lines of $runs are arguments, and nothing in them is a pattern.
    "$python" benchmarks/training_runs.py $runs --device "$device" --seconds "$seconds" --jobs "$jobs" \
      --checkpoints "$out" --output "$out"
  )
  trained=$?
  stop_sharing
  return $trained
}

status=0
for part in $parts; do
  echo "== $part"
  case $part in
    check) suite --part correctness --part streams --part adversary ;;
    times)
      suite --part times --part crossover --part scornn --part trajectories --part host --part threads --part memory ;;
    sanitize) suite --part sanitizer ;;
    train) train ;;
  esac || { status=1; echo "== $part: not all was done, or not all holds"; }
done
exit $status
