#!/bin/sh
# slurm.sh - one fit on several machines: sbatch examples/slurm.sh p.npy q.npy
# Ranks share folds of `ratio` and `mi`, steps and chains of `ebm`, `loglik`, `sample`; docs/scale.md says how many pay.
#SBATCH --job-name=waymark
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue

# The run folder must be on a file system that all machines see. A job that was stopped, killed or requeued goes on where
# its last checkpoint is, with the same answer; the number of tasks may be another one.
run=waymark-run
if [ -f "$run/config.json" ]; then
    set -- -o "$run" --resume
else
    set -- "$@" -o "$run"
fi
export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"

# Slurm tells the batch script two minutes before the end; it passes that on, and ranks stop in good order.
srun --mpi=pmix waymark ratio "$@" --rank-limit 2h --strict &
trap 'kill -TERM $!; wait $!' TERM
wait $!
