#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program with workers on other machines, that are started by ssh and end with it:
#
#   ssh-workers.sh "gpubox otherbox" --explain-offload program.bc arguments...
#
# Each worker dials in through the connection of ssh, which encrypts what passes and knows who is who: no port is opened, and no
# key is needed. DHPVM_RUN is the command there and here. The program listens at DHPVM_PORT of this machine alone; on the
# others, the ports that follow lead there.
set -eu
hosts=$1
shift
run=${DHPVM_RUN:-dhpvm-run}
port=${DHPVM_PORT:-7471}
there=$port
workers=
for host in $hosts; do
  there=$((there + 1))
  ssh -o BatchMode=yes -o ExitOnForwardFailure=yes -R "127.0.0.1:$there:127.0.0.1:$port" "$host" \
    "$run" --worker --connect="127.0.0.1:$there" &
  workers="$workers $!"
done
# Workers that come later are used by the loops that begin after that.
status=0
"$run" --listen="127.0.0.1:$port" "$@" || status=$?
# Workers end with the program; those that have never reached it, with their connection.
kill $workers 2>/dev/null || true
wait
exit "$status"
