#!/usr/bin/env bash
# What action.yml runs: compares $LOG with $BASELINE, writes the job's summary, and fails where it got slower.
# Too little to judge is a warning, not a failure. $1 is the stepscope command.
set -u
stepscope=$1
read -r -a more <<<"${ARGUMENTS:-}"

if [ ! -e "$BASELINE" ]; then
  "$stepscope" compare "$LOG" --save-baseline "$BASELINE" || exit 1
  echo "verdict=new-baseline" >>"${GITHUB_OUTPUT:-/dev/null}"
  echo "::notice::Stepscope: no baseline yet; this run is now the baseline"
  exit 0
fi

code=0
"$stepscope" compare "$BASELINE" "$LOG" --fail-on "$FAIL_ON" --format github ${more[@]+"${more[@]}"} \
  >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}" || code=$?
case $code in
  0) verdict=passed ;;
  3) verdict=cannot-judge; echo "::warning::Stepscope cannot judge: see the job summary"; code=0 ;;
  5) verdict=slower; echo "::error::Training is slower than the baseline by more than $FAIL_ON: see the job summary" ;;
  *) verdict=failed ;;
esac
echo "verdict=$verdict" >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"
