#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=dhpvm
#SBATCH --ntasks-per-node=1
#
# A program on the job's first node, with a worker on each node that dials in to it:
#
#   sbatch --nodes=4 slurm-job.sh --stats program.bc arguments...
#
# The key is made for this job alone, in a folder that all nodes see (DHPVM_SHARED; the home directory unless set).
set -euo pipefail
run=${DHPVM_RUN:-dhpvm-run}
key=${DHPVM_SHARED:-$HOME}/.dhpvm-job-$SLURM_JOB_ID.key
# Below the ports that systems give to outgoing connections, which begin at 32768.
port=$((20000 + SLURM_JOB_ID % 12000))
"$run" --make-key="$key"
trap 'rm -f "$key"' EXIT
# Without --kill-on-bad-exit: when a worker fails, the others do its work.
srun --kill-on-bad-exit=0 "$run" --worker --connect="$(hostname):$port" --key-file="$key" &
workers=$!
status=0
"$run" --listen="0.0.0.0:$port" --key-file="$key" "$@" || status=$?
# Workers end with the program. One that has never reached it would go on trying for a minute.
kill "$workers" 2>/dev/null || true
wait || true # the workers' exit codes say nothing about the program
exit "$status"
