#!/bin/sh
# ended_job.sh COMMAND…: runs a job that must be ended, and says so when it has.
"$@"
status=$?
echo "the job has ended: exit status $status"
exit $status
