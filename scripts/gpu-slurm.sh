#!/usr/bin/env bash
#SBATCH --job-name=plumbline
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=4
#SBATCH --time=00:30:00
# sbatch scripts/gpu-slurm.sh RUN.toml DIR [OPTION...]: the pipeline over NCCL, one task a GPU. Submit it from the project's folder.
set -euo pipefail
run=${1:?usage: sbatch scripts/gpu-slurm.sh RUN.toml DIR [OPTION...]} record=${2:?the folder for the run record is missing}
shift 2
export OMP_NUM_THREADS=1 # one compute thread a rank is part of what the bits rest on
exec srun --mpi=pmix --kill-on-bad-exit=1 build/cuda/bin/plumbline-pipeline "$run" --device cuda --transport nccl --record "$record" "$@"
