#!/bin/sh
# Starts the ranks of a job on this node: train.sh [--nproc N] [--profile] [--scalene] -- PROGRAM.py [ARG...]
set -eu

nproc=1
profile=
scalene=
while [ $# -gt 0 ]; do
  case $1 in
    --nproc) nproc=$2; shift 2 ;;
    --profile) profile=1; shift ;;
    --scalene) scalene=--scalene; shift ;;
    --) shift; break ;;
    *) echo "train.sh: unknown option $1" >&2; exit 2 ;;
  esac
done

python=${PYTHON:-python3}
launcher=${TORCHRUN:-torchrun}
if [ -z "$profile" ]; then
  exec "$launcher" --nproc-per-node "$nproc" --no-python "$python" "$@"
fi
# Each rank becomes a capture. The job's name is a label of all of them.
exec "$launcher" --nproc-per-node "$nproc" --no-python \
  kprofctl rank-exec --job "train-$$" $scalene -- "$python" "$@"
