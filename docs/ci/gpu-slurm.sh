#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#SBATCH --job-name=plumbline
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
# To be copied, and submitted from the project's folder after `make cuda`:
#   sbatch docs/ci/gpu-slurm.sh                                     this project's tests on the GPUs of a node
#   sbatch --nodes=2 docs/ci/gpu-slurm.sh RUN.toml DIR [OPTION...]  the pipeline over NCCL, one task a GPU
set -euo pipefail
export OMP_NUM_THREADS=1 # one compute thread a rank is part of what the bits rest on
if (($# == 0)); then
  PATH=$PWD/.deps/tools/bin:$PATH # CTest, where the set-up brought it
  exec ctest --preset cuda -L gpu -j "${SLURM_CPUS_ON_NODE:-4}" --output-junit junit.xml
fi
run=$1 record=${2:?the folder for the run record is missing}
shift 2
exec srun --mpi=pmix --kill-on-bad-exit=1 build/cuda/bin/plumbline-pipeline "$run" --device cuda --transport nccl --record "$record" "$@"
