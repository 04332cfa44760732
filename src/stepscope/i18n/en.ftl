### The master. Every other language has these messages with these { $holes }.
### Setting names, log lines, units and codes stay as they are in every language.

## Numbers

# From here on, thousands are set apart.
number-least-grouped = 1000
clock-with-date = { $date }, { $time }

## Phases, evidence, origins

phase-step = training
phase-evaluation = evaluation
phase-checkpoint = checkpoint
phase-warmup = warm-up
phase-data = data
phase-gc = garbage collection
phase-logging = logging
phase-communication = communication
phase-stall = unexplained
phase-gap = gap
phase-unlogged = not in the log
basis-measured = measured
basis-inferred = inferred
basis-assumed = assumed
basis-unpriced = { $count }×, not timed
origin-flag = stated
origin-config = config
origin-log = log
origin-detected = detected
origin-default = trainer’s default
part = { $phase } { $duration }
part-span = { $phase } { $duration } ({ $span })

## The run

run-progress = iteration { $step } of { $total } ({ $share })
run-progress-open = iteration { $step }
run-none = no iteration with a time
run-normal = A normal iteration takes { $duration }; nine in ten take { $span }.
run-present = At present an iteration takes { $duration }.
run-normal-one = A normal iteration takes { $duration }.
run-tokens = { $tokens } tokens a second.
run-regimes = Its level changed: { $levels }.
run-level = { $duration } from iteration { $step }
run-sampled = One iteration in { $count } is printed; the seconds of the others are inferred from their neighbours.
run-settings = Settings: { $settings }.
setting-from = { $settings } ({ $origin })
run-gpu = { $gpu }: { $details }.
gpu-load = { $share } busy
gpu-memory = { $used } of { $total } GiB
gpu-power = { $power } W
gpu-temperature = { $degrees } °C
## How the speed changes

trend-one = One line: it shows no trend.
trend-one-time = One time is printed: it shows no trend.
trend-steady = Steady within { $share }: no slowdown in these lines.
trend-scatter = No trend: the times scatter between { $low } and { $high }.
trend-two-speeds = Two speeds: { $count } of { $total } printed iterations take { $other_low } to { $other_high }, the others { $low } to { $high }: { $factor } times { $pace ->
    [faster] faster
   *[slower] slower
}.
trend-every = The { $pace ->
    [faster] faster
   *[slower] slower
} ones come every { $count } iterations.
trend-along = Iterations get { $pace ->
    [faster] faster
   *[slower] slower
}: from { $before } to { $after } within these lines ({ $share }).
trend-along-times = Iterations get { $pace ->
    [faster] faster
   *[slower] slower
}: from { $before } to { $after } within these lines ({ $factor } times).
trend-since = About { $share } { $pace ->
    [faster] faster
   *[slower] slower
} since iteration { $step }: { $before } before, { $after } from there on.
trend-since-times = { $factor } times { $pace ->
    [faster] faster
   *[slower] slower
} since iteration { $step }: { $before } before, { $after } from there on.
data-bottleneck = Waiting for data takes { $share } of the time ({ $wait } of { $step } an iteration): loading is the bottleneck, the GPU waits for it.
data-share = Waiting for data takes { $share } of the time ({ $wait } of { $step } an iteration).
data-first = Only the first line waits for data: up to iteration { $step } each iteration waited { $duration }, later ones { $usual }. Loading is not what slows the rest down.
data-minor = Waiting for data takes { $share } of the time: loading is not what slows this run down.
data-at-once = Waiting for data takes { $share } of the time, nearly all of it at { $count ->
    [one] iteration { $step }
   *[other] { $count } slow iterations, the longest at { $step }
} ({ $duration }).
past-total = The count is past 100 % of its total: training goes on from a loaded model, and the time left that is printed means nothing.
rate-needs-size = The log prints rates only: seconds an iteration need the batch size.
rate-one = { $level } { $unit } a second on one line: it shows no trend.
rate-one-time = { $level } { $unit } a second, printed once: it shows no trend.
rate-steady = Steady within { $share }: { $level } { $unit } a second.
rate-scatter = No trend: the speed scatters between { $low } and { $high } { $unit } a second.
rate-two-speeds = Two speeds: { $count } of { $total } printed iterations run at { $other_low } to { $other_high } { $unit } a second, the others at { $low } to { $high }: { $factor } times { $pace ->
    [faster] faster
   *[slower] slower
}.
rate-along = The speed { $pace ->
    [faster] rises
   *[slower] falls
} from { $before } to { $after } { $unit } a second within these lines ({ $share }).
rate-along-times = The speed { $pace ->
    [faster] rises
   *[slower] falls
} from { $before } to { $after } { $unit } a second within these lines ({ $factor } times).
rate-since = About { $share } { $pace ->
    [faster] faster
   *[slower] slower
} since iteration { $step }: { $before } { $unit } a second before, { $after } from there on.
rate-since-times = { $factor } times { $pace ->
    [faster] faster
   *[slower] slower
} since iteration { $step }: { $before } { $unit } a second before, { $after } from there on.

## Where the time went

section-time = Where the time went
section-slow = Slow iterations
section-finish = When it finishes
section-change = What to change
section-alarms = Alarms
section-normal = Normal iterations
section-log = What was read
time-table-phase = phase
time-table-time = time
time-table-share = share
time-table-range = range
time-table-basis = basis
time-total = total

## Slow iterations

slow-none = No iteration was slower than its neighbours.
slow-none-alone = No single iteration stands out from its neighbours.
slow-column-step = iteration
slow-column-took = took
slow-column-why = made of
slow-more = { $count ->
    [one] and one more: { $causes }
   *[other] and { $count } more: { $causes }
  }
slow-more-cause = { $count } × { $cause } (+{ $duration })
cause-evaluation = evaluation
cause-checkpoint = checkpoint
cause-warmup = warm-up
cause-data = data
cause-gc = garbage collection
cause-unexplained = unexplained
slow-unexplained = { $count ->
    [one] One slow iteration has no cause that this log could show: { $duration } more than a normal one.
   *[other] { $count } slow iterations have no cause that this log could show: { $duration } more than normal ones.
  }
slow-first-no-save = Nothing is saved at iteration 0: what is above the evaluation there is warm-up (compile, first touch), not a checkpoint.
split-stamps = Evaluation and checkpoint are told apart by the time stamps on the lines.
split-contrast = Evaluation and checkpoint are told apart by comparing evaluations with and without a save.
split-first-step = Evaluation and checkpoint are told apart by the first evaluation, which saves nothing.
split-model = Evaluation and checkpoint cannot be told apart in this log: every save comes with an evaluation. The split is computed from the number of forward passes and what saves usually cost; the ranges say how far it can be off.
split-guess = Evaluation and checkpoint cannot be told apart in this log: every save comes with an evaluation, and how many batches an evaluation runs is not known (pass --set eval_iters=N). The split is a guess from what saves usually cost; the ranges say how far it can be off.
split-guess-plain = Evaluation and checkpoint cannot be told apart in this log: every save comes with an evaluation. The split is a guess from what saves usually cost; the ranges say how far it can be off.
split-not-yet = What a save costs is not resolvable yet: that needs about { $needed } evaluations with and without a save, and the log has { $count }.
split-settle = To settle it, put time stamps on the lines: { $command }
stamps-unusable = The time stamps on the lines contradict the printed times (a block-buffered pipe?) and are not used. Run python with -u.
arrivals-unused = The recorded arrival of the lines contradicts the times that they print; the printed times count.
evidence-marker = follows “{ $line }”
evidence-markers = follows “{ $line }” and “{ $save }”
evidence-first = the first iteration of the process: compile and first touch
evidence-unprinted = an iteration at which this trainer always evaluates; its line is not in the log
evidence-inside = timed from inside: { $parts }
evidence-none = no line says why; { $duration } more than its neighbours

## When it finishes

finish-left = { $duration } left ({ $span } at { $confidence })
finish-at = done at { $time } ({ $low } – { $high })
finish-from-flag = counted from { $time }, as stated
finish-from-stamp = counted from { $time }, the last timestamp in the log
finish-from-stamp-plus = counted from { $time }, the last timestamp, plus { $duration } of iterations printed after it
finish-from-no-year = { $text }; it prints no year, { $year } is assumed from the file’s time
finish-from-no-day = { $text }; it prints no date, the day is assumed from the file’s time
finish-from-nvidia-smi = counted from { $time }, the time in the nvidia-smi table
finish-from-mtime = counted from { $time }, when the file was last written
finish-from-clock = counted from now, { $time }
finish-ended = The run has ended; this is what it would still need if it were resumed now from its last iteration.
finish-complete = The run is complete: iteration { $step } of { $total }.
left-step = { $count ->
    [one] one iteration
   *[other] { $count } iterations
  }
left-evaluation = { $count ->
    [one] one evaluation
   *[other] { $count } evaluations
  }
left-checkpoint = { $count ->
    [one] one checkpoint
   *[other] { $count } checkpoints
  }
left-priced = { $what }: { $duration }
left-unpriced = { $what }: cost unknown
left-line = Still to come: { $items }.
finish-next-evaluation = Next evaluation at iteration { $step }.
rough-own = About { $duration } left by the trainer’s own figure; these lines alone allow no better one.
rough-own-first = About { $duration } left by the trainer’s own figure. It rests on the first and only iteration, which includes start-up: later ones are mostly faster.
rate-and-time = { $rate } { $unit } a second and { $duration } an iteration make { $count } { $unit } an iteration.
skipped-few = { $count ->
    [one] One optimizer step was skipped
   *[other] { $count } optimizer steps were skipped
} so far.
finish-last-event = The last thing in it is of phase “{ $phase }” (line { $line }); no iteration is printed after it.
rough-bar = About { $duration } left of this progress bar, which may be one epoch’s of several.
rough-few = About { $duration } left at this speed{ $range }: a weak estimate from very few lines.
rough-first = About { $duration } left if all iterations took as long as this first and only one, which includes start-up{ $range }: a weak estimate.
finish-none = No finish time: { $reason }
finish-rate = At the present { $duration } an iteration, 1,000 more take { $thousand }.
finish-rate-evaluations = At the present { $duration } an iteration, 1,000 more take { $thousand } with { $count ->
        [one] the evaluation
       *[other] the { $count } evaluations
    } among them.
reason-no-steps = the log has no normal iteration with a time yet. Ask again after a few more lines.
reason-no-times = the log has iterations but not their times: nothing in it says how long one took.
reason-no-total = the log does not say how many iterations the run has. Pass --max-steps N, or --config with the run’s settings.
reason-implausible-total = the stated total of { $total } iterations is implausible: at the present pace they would take another { $left }. Pass --max-steps N.
reason-too-few = { $count ->
    [one] only one normal iteration has been printed; three are needed for a rate. Ask again after a few more lines.
   *[other] only { $count } normal iterations have been printed; three are needed for a rate. Ask again after a few more lines.
  }
assume-level = The rest runs at the present level, { $duration } an iteration.
assume-no-evaluations = Evaluations are not counted: how often they come is unknown. Pass --set eval_interval=N.
assume-evaluations-unannounced = Evaluations to come are estimated: how often they come is unknown, but none has come since the first step. Pass --set eval_interval=N.
assume-evaluation-unpriced = Evaluations are not counted: none has been timed yet, and how many batches one runs is unknown. Pass --set eval_iters=N.
assume-evaluation-prior = No evaluation has been timed yet: its cost is computed from the number of forward passes.
assume-save-prior = No save has been timed yet: its cost is what saves usually cost.
assume-evaluation-outside = Evaluations are not in this log’s clock, and nothing else tells what they cost: the time left counts on that clock, without them.
assume-saves = A save follows { $share } of the evaluations, as it did lately.
assume-default-interval = Evaluations are taken to come every { $count } iterations, as the trainer ships it; the log does not say so yet. Pass --set eval_interval=N.
assume-default-total = The number of iterations, { $count }, is the trainer’s default, not stated anywhere.

## What to change

change-none = Nothing worth changing: evaluation and saving cost { $share } of the time.
change-unknown = No advice: this log does not show what evaluations cost.
change-scope-rest = Saved on the rest of this run; the savings do not add up.
change-scope-run = Saved on a run like this one; the savings do not add up.
change-line = { $change }: saves { $duration } ({ $span })
advice-a101-costs = The validation loss is seen { $factor } times less often; with a save only after an evaluation, a crash loses up to { $steps } iterations ({ $duration }).
advice-a101-evidence = { $count } evaluations of { $duration } each are { $share } of the time. A larger interval means fewer of them.
advice-a102-costs = The standard error of the validation loss grows from { $before } to { $after }.
advice-a102-costs-unknown = The standard error of the validation loss grows { $factor } times; this log has too few losses to say from what.
advice-a102-evidence = Each evaluation runs { $count } batches of { $splits ->
    [one] one split
   *[other] { $splits } splits
  }; cost grows with their number, precision with its square root.
advice-a103-costs = The train loss of an evaluation is no longer printed; the mean of the iteration lines says the same. It takes an edit of estimate_loss in train.py.
advice-a103-evidence = Half of every evaluation measures the training split, whose loss the iteration lines print anyway.
advice-a104-costs = After a crash, the run resumes from the best checkpoint, not from the latest.
advice-a104-evidence = Saves are { $share } of the time; of the last evaluations, { $improving } improved on the best before them.

## Alarms

alarm-nan = { $count ->
    [one] The loss is NaN or infinite from iteration { $step } on (once in the log). What follows trains on nothing.
   *[other] The loss is NaN or infinite from iteration { $step } on ({ $count } times in the log). What follows trains on nothing.
  }
alarm-oom = Out of memory: { $text }
alarm-crash = Traceback or fatal signal: { $text }
alarm-interrupted = The run was interrupted: { $text }
alarm-ended-early = The run ended early, after iteration { $step } of { $total }.
alarm-ended-early-unknown = The run ended after iteration { $step }; how many were planned is not in the log.
alarm-ended-before-steps = The run ended before its first iteration was done.
alarm-restarted = { $count ->
    [0] The run was started again after iteration { $before }, at { $step }.
    [one] The run was started again after iteration { $before }, at { $step }: one iteration ({ $lost }) was done twice.
   *[other] The run was started again after iteration { $before }, at { $step }: { $count } iterations ({ $lost }) were done twice.
  }
alarm-slowdown = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } now.
alarm-contradiction = { $setting } is stated as { $stated }, but the log shows { $seen }; the log is believed.
alarm-contradiction-mfu = { $setting } is stated as { $stated }, but the printed mfu and step times fit { $seen }: check the config, or whether this copy of the trainer counts its mfu against another card’s peak.
state-total = iteration { $step } of { $total } is the last one
state-words = the log says: { $text }
state-last-printed = iteration { $step } is the last one that is printed of { $total }, and what follows the last iteration has been done
state-after-stop = the log ends right after an evaluation or a checkpoint, which are rare in it; nothing in it says that more was to come
state-silent = the log ends without a word, and nothing says when it was written
state-last-written = the log ends without a word; it was last written at { $at }, and { $usual } between two lines is usual
reason-over-state-total = the run is complete: iteration { $step } of { $total }.
reason-over-state-words = the run is over. The log says: { $text }
reason-over-state-last-printed = the run is complete: iteration { $step } is the last one that is printed of { $total }.
state-exit = the command returned exit code { $code }
state-signal = the command was ended by { $name } (exit code { $code })
reason-over-state-exit = the run is over: the command returned exit code { $code }.
reason-over-state-signal = the run is over: the command was ended by { $name } (exit code { $code }).
alarm-crash-code = Traceback or fatal signal: { $text } (exit code { $code })
alarm-exit-code = The command failed with exit code { $code }; its output does not say why.
alarm-signal = The command was ended by { $name } (exit code { $code }).
alarm-killed = The command was killed by { $name } (exit code { $code }), often because memory ran out: dmesg says so if it did.
alarm-walltime = The job ends at { $time }; the run is done by then with { $share } probability (iteration { $step } of { $total } is the last one that can be saved in time).
alarm-save-now = Save now: the job ends at { $time }, and iteration { $step } is the last one that can be saved in time.
alarm-nan-passed = { $count ->
    [one] One loss is not a number, at iteration { $step }; from iteration { $later } on the losses are finite again.
   *[other] { $count } losses are not numbers, the first at iteration { $step }; from iteration { $later } on they are finite again.
}
alarm-nan-unread = { $count } lines print a loss that is not a number, the first is line { $line }.
alarm-skipped-steps = { $count } of { $total } optimizer steps ({ $share }) were skipped: their gradients were not finite, so no weight changed.
alarm-skipped-since = Every optimizer step since iteration { $step } was skipped, up to iteration { $last }: no weight changes any more.
alarm-memory-pressure = { $count } lines say that the card’s memory is so full that PyTorch gives back its cache, which slows iterations down: { $text }
alarm-line = line { $line }

## What was read

read-unread = { $unread ->
    [one] One of { $lines } lines was not understood, at line { $line }: { $text }
   *[other] { $unread } of { $lines } lines were not understood, first at line { $line }: { $text }
  }
read-all = All { $lines } lines were understood.

## Notes

note-title = { $count ->
    [one] Why iteration { $steps } was slow
   *[other] Why iterations { $steps } were slow
  }
note-title-many = Why { $count } iterations were slow
note-title-none = Where the time of a training run went
note-title-eta = Estimated training time: { $duration }
note-title-eta-none = Estimated training time: not known yet
note-intro = { $count ->
    [one] One slow iteration was found in { $lines } log lines.
   *[other] { $count } slow iterations were found in { $lines } log lines.
  }
note-intro-none = No slow iteration was found in { $lines } log lines.
note-explained = { $count ->
    [one] It is not a slow training step: the trainer’s clock runs from the end of one iteration to the end of the next, so an evaluation, a checkpoint or a compilation in between is counted with the iteration that follows.
   *[other] They are not slow training steps: the trainer’s clock runs from the end of one iteration to the end of the next, so an evaluation, a checkpoint or a compilation in between is counted with the iteration that follows.
  }
note-slow-lines = Here is what the log shows around them:
note-list-and = { $first } and { $last }
section-progress = Progress
section-evaluations = Evaluations left
section-estimate = Estimated time
note-progress-done = { $step } of { $total } iterations are done.
note-progress-left = Iterations left: { $count }.
note-evaluation-every = An evaluation comes every { $every } iterations and takes { $duration } ({ $span }).
note-evaluation-next = The next one is at iteration { $next }, then { $after } …, the last at { $last }.
note-evaluation-left = Evaluations left: { $count }.
note-evaluation-unknown = How often the run evaluates is not known.
note-total = Total time left: { $duration }.
note-interval = Range: { $span }, at { $confidence }.
note-hardware-assumed = Shown by nvidia-smi: { $details }.
note-assumptions = Assumed:

## Commands

eta-line = { $left } · { $finish }
formats-title = { $name } — { $title }
formats-clock = Its time figure covers: { $covers }; inside it: { $includes }.
formats-lines = Lines it knows:
formats-try-none = No format in the catalogue claims this file.
formats-try-claimed = { $name }: { $count } of { $lines } lines claimed, { $steps } of them steps
demo-intro = The reference case: nanoGPT on an RTX 4070, asked about at 02:30. The same by hand: { $command }
written = written: { $path }
error-title = error
error-try = try

## Errors

error-no-such-file = no such file
    .hint = { $nearby ->
        [none] check the path; a folder, - for standard input, and .gz, .xz, .zst files work too
       *[other] did you mean { $nearby }?
      }
error-unreadable = cannot be read: { $reason }
    .hint = check its permissions: ls -l { $place }
error-folder-without-log = no training log in this folder
    .hint = name the file itself: stepscope { $place }/train.log
error-empty = the file is empty
    .hint = is the trainer’s output buffered? Run python with -u, and ask again when it has printed something
error-binary = not a text file
    .hint = point at what the trainer printed, for example: python -u train.py | tee train.log
error-broken-archive = a compressed file that cannot be unpacked: { $reason }
    .hint = unpack it by hand to see what is left: zcat { $place } | stepscope -
error-broken-database = a database that cannot be read: { $reason }
    .hint = copy it with sqlite3 { $place } .recover, or export the metrics as CSV
error-no-metrics-table = a database without a table named metrics: it is not MLflow’s
    .hint = name the log of the training, or export its metrics as CSV or JSON lines
error-not-a-training-log = no format claims this file, and its structure is not that of a training log
    .hint = stepscope formats try { $path } --suggest     shows how far each format gets and how to teach a new one
error-no-format-fits = no format claims this file; lines like this one may be iterations, but which of their numbers is the step or the time could not be told
    .hint = stepscope formats try { $path } --suggest     shows how far each format gets and how to teach a new one
error-no-such-config = no such config file
    .hint = --config takes the file the run was started with, for example config/train_gpt2.py
error-config-is-folder = the config is a folder
    .hint = name the file itself
error-config-too-large = too large for a config file
    .hint = is this the log? stepscope { $place }
error-config-not-text = the config is not a text file
    .hint = --config takes nanoGPT’s config.py, JSON or TOML
error-config-syntax = the config does not parse: { $reason }
    .hint = correct it, or state what matters instead: --set max_iters=20000 --set eval_interval=500
error-config-too-deep = the config is nested more than { $limit } levels deep
    .hint = state what matters instead: --set max_iters=20000 --set eval_interval=500
error-config-too-many-values = the config holds more than { $limit } values once its aliases are written out
    .hint = state what matters instead: --set max_iters=20000 --set eval_interval=500
error-not-nvidia-smi = not a table of nvidia-smi
    .hint = nvidia-smi > nvidia-smi.txt
error-nvidia-smi-too-large = more than { $size } came through this pipe
    .hint = save a single reading: nvidia-smi > smi.txt
error-bad-setting = --set takes key=value
    .hint = for example: --set eval_interval=500
error-unknown-setting = no setting of that name
    .hint = { $nearest ->
        [none] there are: { $known }
       *[other] did you mean { $nearest }?
      }
error-bad-count = { $setting } is a whole number of at least 1
    .hint = for example: --set { $setting }=500
error-bad-max-steps = --max-steps takes a whole number of at least 1
    .hint = for example: --max-steps 20000
error-bad-moment = not a moment: { $text }
    .hint = for example: --now 02:30, --now "2026-11-15 02:30", --now 1794768092
error-bad-confidence = --confidence lies between 0.5 and 0.99
    .hint = for example: --confidence 0.9
error-bad-language = no such language: { $text }
    .hint = { $nearest ->
        [none] there are: { $known }
       *[other] did you mean { $nearest }?
      }
error-bad-choice = { $flag } cannot be { $text }
    .hint = { $nearest ->
        [none] there are: { $known }
       *[other] did you mean { $nearest }?
      }
error-no-such-command = no command of that name
    .hint = { $nearest ->
        [none] there are: { $known }
       *[other] did you mean { $nearest }?
      }
error-unknown-flag = no such option: { $flag }
    .hint = { $nearest ->
        [none] { $command } --help     shows what there is
       *[other] did you mean { $nearest }?
      }
error-unknown-command = neither a command nor a file
    .hint = did you mean: stepscope { $nearest }
error-too-many-arguments = more arguments than { $command } takes
    .hint = { $command } --help     shows what there is
error-wrong-usage = { $reason }
    .hint = { $command } --help     shows what there is
error-missing-argument = an argument is missing: { $missing }
    .hint = { $command } --help     shows what there is
error-missing-value = { $flag } needs a value
    .hint = { $command } --help     shows what there is
error-languages-need-folder = several languages make several files
    .hint = name a folder for them: -o notes/
error-no-such-format = no format of that name
    .hint = { $nearest ->
        [none] stepscope formats     lists them
       *[other] did you mean { $nearest }?
      }
error-no-such-code = no page of that code
    .hint = there are: { $known }
error-cannot-write = cannot write: { $reason }
    .hint = name another place with -o
error-unread-lines = { $count ->
    [one] one line was not understood (--strict)
   *[other] { $count } lines were not understood (--strict)
  }
    .hint = stepscope formats try { $path }     shows them

## A plan before the run

plan-model = { $parameters } parameters: { $layers } layers × { $hidden }, context { $context }, vocabulary { $vocabulary }
plan-training = { $steps } iterations of { $tokens } tokens (batch_size { $batch } × gradient_accumulation_steps { $accumulation } × { $context }); { $flops } GFLOP per token.
plan-memory = Memory at batch_size { $batch }: { $parts }.
plan-memory-weights = weights
plan-memory-gradients = gradients
plan-memory-optimizer = optimizer
plan-memory-activations = activations
plan-memory-logits = logits
plan-memory-context = CUDA context
plan-row-memory = memory (GiB)
plan-row-largest = largest batch_size
plan-row-step = iteration
plan-row-band = … 90% band
plan-row-tokens = tokens a second
plan-row-utilisation = MFU of this card
plan-row-evaluation = one evaluation
plan-row-checkpoint = one checkpoint
plan-row-total = whole run
plan-row-finish = done at
plan-row-energy = energy
plan-row-cost = cost
plan-fits = { $used } of { $total }
plan-fits-barely = { $used } of { $total }, tight
plan-fits-not = { $used } of { $total }, too much
plan-fits-nothing = { $gpu }: not even one sequence fits into its memory. Take a smaller model or context.
plan-calibrating = measuring this machine …
plan-note-calibrated = Measured here ({ $gpu }): { $tflops } TFLOPS, { $bandwidth } GB/s memory, { $disk } MB/s disk.
plan-note-defaults = Not stated, so the trainer’s defaults: { $names }.
plan-note-derived = The model’s size is not stated. { $duration } for { $tokens } tokens on { $gpu } fit { $low } to { $high } parameters; the table takes one between. State it to be sure: --params, or n_layer and n_embd in the config.
plan-note-derived-memory = The model’s size is not stated. { $duration } for { $tokens } tokens on { $gpu } and the memory in use fit { $low } to { $high } parameters; the table takes one between. State it to be sure: --params, or n_layer and n_embd in the config.
error-unknown-card = no card of that name
    .hint = for example: { $known }
error-plan-needs-card = which card?
    .hint = name it: --gpu 4070, or several: --gpu 4070,4080,4090; or measure this machine: --calibrate
error-plan-needs-model = which model?
    .hint = --config config/train_gpt2.py, or --params 124M, or --layers 12 --hidden 768
error-plan-shape-missing = the config leaves out what a model’s size needs: { $names }
    .hint = add them with --set, or state the size: --params 7B
error-plan-bad-shape = no model has such a shape
    .hint = for example: --layers 12 --hidden 768 --context 1024 --vocab 50304
error-bad-parameters = not a number of parameters
    .hint = for example: --params 124M
error-bad-devices = --devices takes a whole number of at least 1
    .hint = for example: --devices 8
error-bad-price = not a price
    .hint = for example: --price 0.40/h or --price 0.30/kWh
error-plan-from-needs-card = which card wrote this log?
    .hint = --from-gpu 4070, or a saved table: --nvidia-smi nvidia-smi.txt
error-plan-needs-context = how many tokens has a sequence? The log does not say
    .hint = for example: --context 1024
error-plan-log-untimed = no normal iteration with a time in this log to calibrate with
    .hint = plan without it, or ask again when it has a few more lines
error-plan-not-derived = no model of a usual shape takes this long on that card: is the card right, and the batch?
    .hint = state the model: --params 124M
## Several trainings, several writers
alarm-trainings = The log holds { $count } trainings, one after the other. This answer is about the last one, from line { $line } on; the seconds of the others are in the ledger.
alarm-writers = { $count ->
    [one] Two processes write into this log. One iteration of the other one is left out.
   *[other] Two processes write into this log. { $count } iterations of the other one are left out.
  }
alarm-straggler = Rank { $rank } is slower than the others by { $share }: { $own } per iteration instead of { $others }. All ranks wait for it.
alarm-straggler-host = Rank { $rank } on { $host } is slower than the others by { $share }: { $own } per iteration instead of { $others }. All ranks wait for it.

## More advice, and what a change would do

advice-a102-costs-seen = The standard error of the validation loss grows from { $before } to { $after }; the loss still falls by { $gain } an evaluation, which stays visible.
advice-a102-costs-unseen = The standard error of the validation loss grows from { $before } to { $after }; the loss falls by { $gain } an evaluation, which one evaluation alone then no longer shows.
advice-a105-costs = The curve is smoother, but its level is off by a constant of about { $offset }: measure once with many batches at the end. It takes an edit of the evaluation: the same seed for its batches each time.
advice-a105-costs-unknown = The curve is smoother, but its level has a constant offset: measure once with many batches at the end. It takes an edit of the evaluation: the same seed for its batches each time.
advice-a105-evidence = Each evaluation draws { $count } new batches. On the same batches each time, differences are 4 to 7.6 times less noisy for the same cost, so { $fewer } of them show the trend.
advice-a107-costs = Nothing but an edit: each rank evaluates its share of the same batches and the losses are averaged.
advice-a107-evidence = One of { $count } ranks evaluates while the others wait.
advice-a108-costs = A crash loses up to { $duration } of work.
advice-a108-evidence = A save stalls training for { $duration }; with a crash every { $between }, Daly’s rule puts the best interval at { $best }.
advice-a109-costs = Host memory for one copy of the state, and steps that are a little slower while it is written.
advice-a109-evidence = Training stands still for saves during { $share } of the time.
advice-a111-costs = Memory held by cycles is freed only when collected by hand, every few thousand iterations.
advice-a111-evidence = Garbage collection costs { $share } of the time.
advice-a112-costs = Host memory and processor time for the workers.
advice-a112-evidence = Waiting for data costs { $share } of the time.
advice-a113-costs = The same tokens per iteration: batch_size { $batch } × gradient_accumulation_steps { $accumulation }. Only the rounding of the sum differs. If it runs out of memory, go back.
advice-a113-evidence = Only { $share } of the card’s memory is in use.
advice-a114-costs = float16 needs loss scaling, which nanoGPT, Hugging Face and Lightning do by themselves; the losses differ slightly.
advice-a114-evidence = { $gpu } has no bfloat16 in hardware: it is emulated at about a tenth of the rate.
advise-paste = type: { $paste }
advise-keeps = Does not change what is learned.
advise-changes = Changes what is learned.
section-whatif = What this would change
whatif-change = { $setting }: { $now } → { $then }
whatif-saves = Saves { $duration } ({ $span }).
whatif-costs = Costs { $duration } more ({ $span }).
whatif-same = Changes nothing in the time.
whatif-left = { $duration } left instead of { $before } ({ $span } at { $confidence })
whatif-run = A run like this one takes { $duration } instead of { $before }.
whatif-precision = The standard error of the validation loss goes from { $before } to { $after }.
whatif-unknown = This log cannot tell what { $names } would do to the time.
error-bad-change = --change takes key=value
    .hint = for example: --change eval_interval=1000
error-bad-change-value = { $setting } is a whole number of at least 1
    .hint = for example: --change { $setting }=500

## The card

card-mfu = { $gpu }: { $share } of its { $peak } TFLOPS (MFU against this card’s own peak).
card-normal = That is normal for it: a model of this size should take { $span }.
card-slow = That is slow for it: a model of this size should take { $span }.
card-fast = That is faster than expected: a model of this size should take { $span }.
alarm-hang = A rank stopped answering and the others gave up: { $text }
alarm-false-done = Line { $line } says that training is done, but the last iteration is { $step } of { $total }.
alarm-false-done-empty = { $count ->
    [one] Line { $line } says that training is done, but that launch crashed before its first iteration.
   *[other] Line { $line } and { $count } lines like it in all say that training is done, but those launches crashed before their first iteration.
  }

## The trainer

train-loading = Starting PyTorch and preparing the data …
train-progress = iteration { $iteration } of { $last }, { $left } left
train-doing-evaluation = iteration { $iteration } of { $last }: evaluating …
train-doing-checkpoint = iteration { $iteration } of { $last }: copying the checkpoint aside …
train-doing-compile = compiling …
train-doing-sampling = { $last } iterations done: writing a sample …
train-doing-waiting = waiting until the last checkpoint is on the disk …
train-opening-what = A small GPT ({ $layers } layers, { $width } wide) learns Python from the sources of the standard library: { $iterations } iterations on { $device }, a few minutes.
train-opening-when = Every { $interval } iterations it is evaluated and saved in { $folder }; Ctrl-C saves it and prints the command that goes on.
train-opening-end = At the end: what it writes by then, and where the time went.
train-sample-before = What it wrote before it had learned anything:
train-sample = What it writes after { $iteration } iterations:
train-ledger = Where the { $wall } went ({ $iterations } iterations):
train-phase-data = fetching data
train-phase-forward = forward
train-phase-backward = backward
train-phase-optimizer = optimizer
train-phase-device = waiting for the device
train-phase-evaluation_train = evaluation, training split
train-phase-evaluation_val = evaluation, validation split
train-phase-checkpoint_staging = checkpoint: copying aside
train-phase-checkpoint_waiting = checkpoint: waiting for the writer
train-phase-logging = logging
train-phase-gc = garbage collection
train-phase-compile = compiling
train-phase-startup = start-up
train-phase-sampling = sampling
train-phase-other = other
train-saves = { $count ->
    [one] One checkpoint of { $size } MB, written in { $written } in the background; the run stood still for { $stalled }: { $saved } saved against waiting for the disk.
   *[other] { $count } checkpoints of { $size } MB each, written in { $written } in the background; the run stood still for { $stalled }: { $saved } saved against waiting for the disk.
  }
train-interference = Iterations while one was being written took { $ratio } times as long as the others.
train-more = Checkpoint and logs: { $folder }. Next: stepscope sample --out_dir={ $folder }, or stepscope { $folder }
train-stopped = { $signal }: stopped before iteration { $iteration } and saved. To go on: { $command }
train-no-wandb = wandb_log is on, but wandb is not installed (pip install wandb). Training goes on; steps.jsonl in the folder of the run holds its figures.
train-no-tensorboard = tensorboard is on, but TensorBoard is not installed (pip install tensorboard). Training goes on; steps.jsonl in the folder of the run holds its figures.
train-no-tracker = { $name } could not be started ({ $reason }). Training goes on without it.
train-kept = The logs and the best checkpoint of the run that was here before are in { $folder }.
train-unknown-setting = { $setting } in { $path } is no setting of this trainer and has no effect.
train-bf16-crashes = bfloat16 crashes on this CPU (tried in a child process): training in float32.
train-bf16-slower = bfloat16 takes { $ratio } times as long as float32 on this CPU (tried in a child process): training in float32.
train-cuda-only = { $dtype } is for CUDA only: training in float32 on { $device }.
train-staging = Checkpoints keep a copy of { $size } GB in host memory, so that the run need not wait for the disk (--staging=False waits and keeps none).
train-staging-tight = Checkpoints keep a copy of { $size } GB in host memory, and { $left } GB are left: --staging=False keeps none, and the run waits for the disk.
train-broken-checkpoint = Not a whole checkpoint, trying the one before it: { $path } ({ $reason }).
train-from-checkpoint = { $setting } is { $value } in the checkpoint, which counts; { $asked } was asked for.
train-other-batches = The batches are not those of the checkpoint (other sizes, evaluation or number of processes): the data order starts anew.
train-save-failed = ALARM: the checkpoint of iteration { $iteration } was not written: { $reason }. Training goes on; the checkpoint before it is untouched.
data-ready = { $folder }: { $train } tokens to train on, { $val } to validate
data-use = Use it: { $command }
data-download = Downloading { $url } …
train-shard-alone = shard has no effect with one process: torchrun starts several.
selftest-begins = Trying { $count } parts of the trainer on { $device }:
selftest-pass = pass
selftest-fail = FAIL
selftest-ends = { $failed ->
    [0] Every part passed.
   *[other] { $failed } of { $count } parts failed.
}
selftest-precision = loss { $loss } in { $dtype }, { $other } in float32
selftest-compile = loss { $loss } compiled, { $other } without
selftest-memory = an evaluation of { $sequences } sequences needs { $evaluation } MB, a training step { $step } MB
selftest-clock = { $steps } iterations add up to { $counted } s, the loop took { $loop } s
selftest-checkpoint = { $differing } tensors differ from the moment of the save; longest stall { $stall } s
selftest-resume = { $differing } of { $steps } losses and { $tensors } tensors differ from the uninterrupted run
selftest-sample = { $tokens } tokens, the same twice
selftest-muon = singular values of an update from { $least } to { $most } in { $dtype }
selftest-processes = two processes over { $backend }: losses differ from one process by { $worst }
selftest-shard = two processes with slices over { $backend }: losses differ from one process by { $worst }
export-done = { $path }: { $size } MB, before iteration { $iteration }
error-train-no-slices = no checkpoint in slices here
    .hint = one that train --shard=True wrote is a folder of that name; ckpt.pt needs no export
error-train-no-torch = training needs PyTorch
    .hint = { $install }
error-train-setting-type = { $setting } wants a value of type { $wanted }
    .hint = for example: --{ $setting }=… with a { $wanted }, as in nanoGPT
error-train-choice = no such { $setting }
    .hint = there are: { $known }
error-train-range = { $setting } is out of range
    .hint = it starts at { $least }; dropout, beta1 and beta2 lie below 1
error-train-heads = n_embd must be a multiple of n_head
    .hint = for example: --n_embd=384 --n_head=6
error-train-odd-head = rotary positions need heads of an even width (n_embd / n_head)
    .hint = for example: --n_embd=384 --n_head=6, or --recipe=nanogpt
error-train-gpt2-recipe = GPT-2’s weights fit GPT-2’s network only
    .hint = --recipe=nanogpt
error-train-unknown-character = the corpus has no { $character }
    .hint = start with characters that the network has seen
error-train-not-saved = the training is over, but its last checkpoint (iteration { $iteration }) was not written: { $reason }
    .hint = { $saved ->
        [0] there is no checkpoint: make room, then train again
       *[other] the newest whole checkpoint is that of iteration { $saved }: make room, then go on from it with --init_from=resume
      }
error-train-bad-meta = meta.pkl is not one of nanoGPT’s: { $reason }
    .hint = make it anew: stepscope data prepare FILE
error-train-no-data = no data of that name
    .hint = make them with stepscope data prepare FILE --out data/{ $name }, or name a folder with train.bin and val.bin: --dataset=DIR
error-train-short-data = { $tokens } tokens are too few for sequences of { $block_size }, or the file is not one of 16-bit tokens
    .hint = take more text, or a smaller --block_size
error-train-unreadable = cannot be read: { $reason }
    .hint = check the name and its permissions
error-train-vocabulary = token { $token } does not fit a vocabulary of { $vocab_size }
    .hint = the data are not those of this checkpoint or meta.pkl: name the right --dataset, or start with --init_from=scratch
error-train-no-tiktoken = GPT-2’s byte pairs need tiktoken
    .hint = { $install }, or --tokens char
error-train-tiktoken-download = tiktoken could not download GPT-2’s tables ({ $reason })
    .hint = copy them from a machine that has them and set TIKTOKEN_CACHE_DIR, or --tokens char
error-train-no-stdlib = this Python has no sources of its standard library
    .hint = prepare a text of your own: stepscope data prepare FILE
error-train-no-safetensors = GPT-2’s weights need safetensors
    .hint = { $install }
error-train-bad-gpt2 = not a folder of GPT-2 weights: { $reason }
    .hint = it holds config.json and model.safetensors as Hugging Face publishes them
error-train-no-gpt2 = no weights of { $name } here, and nothing is downloaded
    .hint = hf download openai-community/{ $name } --local-dir { $name }, then --gpt2_folder={ $name }
error-train-no-checkpoint = no checkpoint to start from
    .hint = name its folder with --out_dir, or begin with --init_from=scratch
error-train-no-whole-checkpoint = no whole checkpoint: { $reason }
    .hint = begin with --init_from=scratch, or copy a whole one there
error-train-bad-checkpoint = the checkpoint does not fit: { $reason }
    .hint = it must be one of this trainer or of nanoGPT’s train.py
error-train-block-size = the loaded network reads { $block_size } tokens at most
    .hint = --block_size={ $block_size } or less
error-train-accumulation = { $processes } processes cannot share this number of micro-batches evenly
    .hint = make gradient_accumulation_steps a multiple of { $processes }
error-train-memory = out of memory
    .hint = --batch_size={ $batch_size } --gradient_accumulation_steps={ $accumulation } trains on the same tokens with less memory; or a smaller block_size, n_layer or n_embd
error-train-rank-lost = another process of the run is gone: { $reason }
    .hint = see what it said, then start all of them again with --init_from=resume
error-selftest-alone = --selftest takes no settings but --device
    .hint = stepscope train --selftest --device=cuda
error-train-compile = torch.compile failed: { $reason }
    .hint = --compile=False trains without it
error-train-nan = the loss is { $value } at iteration { $iteration }: stopped
    .hint = try a lower learning_rate or a longer warmup_iters; ckpt.pt, where there is one, is of before and good: --init_from=resume
error-sample-no-meta = the characters of this network are in meta.pkl of its data folder, which is not here
    .hint = run it where the training ran: in the folder that has data/{ $name }
error-train-locked = another trainer is using this folder (process { $process })
    .hint = give each run a folder of its own: --out_dir=DIR
error-train-misspelt = there is no setting { $setting }
    .hint = { $meant } is one
error-train-out-dir = cannot write there: { $reason }
    .hint = name another folder
error-train-device = no such device
    .hint = --device=cpu, cuda, cuda:1 or mps
error-train-no-device = PyTorch finds no { $name } device here
    .hint = --device=cpu --compile=False
error-train-config-expression = { $setting } could only be known by running the file, and config files are read, not run
    .hint = write the value itself, or give it as a flag after removing the line: --{ $setting }=…
error-data-too-many-characters = { $count } different characters are too many for 16-bit tokens
    .hint = --tokens gpt2
error-data-empty = there is no text in it
    .hint = name a file with text; a .jsonl file holds one document per line under "text"
error-data-not-text = not a text in UTF-8
    .hint = convert it first, for example with iconv
error-data-bad-record = not a JSON record with a "text"
    .hint = one document per line, under the key text
error-data-no-download = the download failed: { $reason }
    .hint = get the file another way and name it: stepscope data prepare shakespeare input.txt
error-data-openwebtext = OpenWebText is 54 GB and is not downloaded here
    .hint = export it as .jsonl with a "text" per line and name the files: stepscope data prepare openwebtext part-*.jsonl

## Live

live-now = now
live-left = end
live-steps = steps
live-time = time
live-loss = loss
live-waiting = waiting for the first lines ({ $duration })
live-warmup = starting up: compile, first touch ({ $duration }); no forecast yet
live-training = training, last line { $duration } ago
live-evaluation = evaluating for { $duration }
live-checkpoint = saving for { $duration }
live-stalled = no line for { $duration }: stalled?
live-closing = all iterations are done; the process is still running
live-finished = finished
live-ended = ended
live-usual = (usually { $duration })
alarm-stall = No line for { $duration }; { $usual } would be usual, and { $limit } is the limit. Look at the process: stepscope attach PID
run-kept = log and stamps: { $folder }     stepscope { $folder }
run-kept-partly = log and stamps: { $folder }, without { $count ->
    [one] one byte
   *[other] { $count } bytes
  } of output that the disk did not take     stepscope { $folder }
alarm-disk = { $folder } takes no more of the log: { $reason }. The command goes on and its output is shown here to the end.
alarm-recording-gone = { $folder } was removed: the recording is lost. The command goes on and its output is shown here to the end.
error-run-not-started = the command could not be started
    .hint = the log next to it says why
error-run-no-code = the command has ended, but nobody saw how: the processes that would know were killed
    .hint = the log ends with what it printed last: stepscope { $place }
error-run-what = run what?
    .hint = for example: stepscope run -- python train.py
error-needs-posix = this works on Linux and macOS only
    .hint = stepscope watch train.log     follows a log on any system
error-needs-extra = this needs the extra { $extra }
    .hint = { $install }
error-bad-address = not an address to send to
    .hint = for example: --notify mailto://user:pass@example.org
error-bad-interval = --interval takes seconds, from 0.05 to 3600
    .hint = for example: --interval 2
error-watch-one-log = one log at a time
    .hint = watch the newest part of the run
live-place = in { $place }
attach-log = its log: { $path }
attach-no-stack = The stack cannot be seen ({ $reason }). Run as the same user, or allow it: sudo sysctl kernel.yama.ptrace_scope=0
error-no-such-process = no such process
    .hint = pgrep -af python     lists those there are
error-process-not-ours = this process belongs to somebody else
    .hint = ask as its user: sudo -u USER stepscope attach { $place }
error-process-without-log = this process prints to a terminal or a pipe, not to a file
    .hint = name its log: stepscope attach { $pid } --log train.log; or start it with: stepscope run -- CMD
error-bad-speed = --speed takes a number above 0
    .hint = for example: --speed 50
error-replay-file = only a file can be replayed
    .hint = save it first: cat > train.log
## Causes

cause-accumulation = accumulation
cause-announced = announced work
cause-async-checkpoint = asynchronous save
cause-attention = slow arithmetic
cause-denormals = denormal numbers
cause-heat = heat
cause-interruption = interruption
cause-leak = growth
cause-length = longer batch
cause-logging = logging
cause-memory = full memory
cause-neighbour = another program
cause-optimizer = periodic optimizer work
cause-power = power limit
cause-profiler = profiler
cause-recompile = recompilation
cause-schedule = schedule
cause-straggler = slow rank
cause-c01-evidence = an evaluation of { $duration } is inside its time
cause-c01-rest = the evaluation’s line tells of { $duration }; { $rest } more come with every evaluation here
cause-c01-beside = it stands beside an evaluation’s line, as at most evaluations here: { $duration } more
cause-c01-period = it comes at the interval of evaluations, every { $every } iterations ({ $count } times), though no line says so
cause-c02-evidence = a save of { $duration } is inside its time
cause-c02-period = it comes at the interval of checkpoints, every { $every } iterations ({ $count } times), though no line says so
cause-c03-evidence = it comes right after a save, and { $share } of the { $count } saves are followed by slow iterations
cause-c04-evidence = among the first iterations of the process: { $duration } of compile and first touch
cause-c05-evidence = the first evaluation took { $own }, the { $count } later ones { $others }
cause-c05-level = it begins right after the first evaluation, before iteration { $step }
cause-c06-partial = the last iteration of an epoch of { $count }: a partial batch has another shape
cause-c06-fading = one of { $count } slow iterations that grow rarer, { $share } of them in the first quarter: new shapes are seen less and less
cause-c06-level = it begins with a single very slow iteration, { $step } ({ $duration } more)
cause-c08-printed = a line says that garbage was collected for { $duration }
cause-c08-evidence = { $count } iterations are slow by about the same { $duration } (± { $share }) at no fixed interval, as when Python collects garbage
cause-c09-twins = slow iterations come every { $first } and every { $second } iterations, two combs that drift apart: ranks reach the end of a data shard a step apart
cause-c09-tokens = every { $every } iterations, which is { $shard } tokens of a shard at { $tokens } a step
cause-c09-evidence = every { $every } iterations, no whole number, { $count } times: as when a data shard ends
cause-c09-whole = every { $every } iterations: the end of a data shard may fall so
cause-c10-evidence = exactly every { $every } iterations, always about { $duration } more: work of the optimizer that is meant to be
cause-c11-workers = the slow iterations are as far apart as there are loader workers, { $count }
cause-c11-evidence = every { $every } iterations, by changing amounts (± { $share }): as when so many loader workers cannot keep up
cause-c12-evidence = the first iteration of an epoch of { $steps }; { $share } of the { $count } epochs begin slowly
cause-c12-period = at the edge of every epoch of { $steps } iterations ({ $count } times): loader workers start anew
cause-c13-evidence = the level fell by { $share } early in the run ({ $done } of it) and stayed down, as when data has been read once
cause-c14-evidence = a file was fetched during it and took { $own } to answer; the { $count } others take { $usual }
cause-c16-more = { $count } allocation retries in its window, { $usual } in a usual one
cause-c16-usual = { $count } allocation retries in its window, but { $usual } in the others too: they cost every window, not this one more
cause-c17-full = { $change } slower at once and for good, with { $share } of the card’s memory in use: pages may move to the host
cause-c17-evidence = { $change } slower at once and for good: on Windows or WSL, full card memory does that
cause-c18-evidence = { $change } slower, rising and then settling, as when a card reaches its temperature
cause-c18-follows = { $change } slower, and evaluations by the same factor: everything that computes slowed down
cause-c19-pinned = the card draws { $share } of its power limit
cause-c19-evidence = { $change } slower and steady: a power or clock limit would do that
cause-c20-window = { $change } slower with sharp edges, and later back to the level from before: somebody else came and went
cause-c20-back = { $share } faster, back at a level from before: whoever shared the machine is gone
cause-c20-evidence = { $change } slower at once: another program on the card or the host may have started
cause-c20-burst = one of { $count } slow iterations of every height within { $steps } lines: others may share the machine
cause-c21-evidence = the slowest rank took { $slowest } where the fastest took { $fastest }: the others waited for it
cause-c22-evidence = a single pause of { $duration } among iterations of { $level }: suspended, blocked or hung
cause-c24-evidence = every { $every } iterations, a multiple of the log interval of { $interval }, in a run of short iterations
cause-c25-memory = { $count } micro-steps of { $batch } sequences a step, with { $share } of the card’s memory in use: a larger batch and fewer micro-steps would fit
cause-c25-small = { $count } micro-steps of { $batch } sequences a step for a model of { $parameters } parameters on one card: is that meant for eight?
cause-c26-attention = the header warns of slow attention: every iteration computes it without a fused kernel
cause-c26-dtype = the run computes in 32-bit floats on a GPU: its tensor cores stay idle
cause-c27-evidence = it had { $factor } times the usual work, and time follows work in this run (correlation { $tied })
cause-c27-level = the work of an iteration changed { $factor } times with it
cause-c28-evidence = the first iteration after a resume at { $step }: loading, compiling and skipping took { $duration }
cause-c29-evidence = a steady rise of { $change } over the run that does not settle, as when something grows with every iteration
cause-c30-evidence = a rise on the CPU: numbers near zero may have become denormal
cause-c32-evidence = a line before it tells of a profiler’s trace
cause-c33-evidence = the first iteration after an evaluation; { $share } of the { $count } evaluations have one like it
cause-c33-period = the iteration after an evaluation is slow { $count } times, though this log’s clock leaves evaluations out
cause-c34-evidence = a change of { $change } over the run with hardly any noise (± { $noise }): more likely planned than grown
cause-c35-evidence = the log says it waited { $duration } for its data
cause-c35-figure = it waited { $own } an iteration for its data, usually { $usual }
cause-c35-level = the wait for data changed with it, from { $before } to { $after } an iteration: { $share } of the change
cause-c36-evidence = a line before it that stands before { $count } iterations, { $hits } of them slow
cause-c36-evaluation = evaluations with such a line before them take { $own }, the others { $others } ({ $count } of them)
level-slower = Since iteration { $step } iterations are { $share } slower ({ $duration }).
level-faster = Since iteration { $step } iterations are { $share } faster ({ $duration }).
level-candidate = Best explanation: { $cause } ({ $code }, { $confidence } sure): { $evidence }.
level-others = Also possible: { $others }.
level-none = Nothing in the log says why.
candidate-short = { $cause } ({ $code }, { $confidence })
slow-rhythm = Every { $every } iterations one takes { $duration } more, { $count } times so far: { $cause } ({ $code }).
slow-rhythm-maybe = Every { $every } iterations one takes { $duration } more, { $count } times so far; nothing says for sure why. Best guess: { $candidate }.
slow-rhythm-unknown = Every { $every } iterations one takes { $duration } more, { $count } times so far; nothing says why.
finding-line = The whole run: { $evidence } ({ $code }).
settle-stamps = Time stamps on the lines would tell a pause of the machine from a slow iteration: { $command }
settle-data = Printing how long each iteration waits for its batch would settle whether the data was late.
settle-gpu = nvidia-smi while it happens (and --nvidia-smi FILE here) would settle heat, power, memory and other programs.
settle-gc = gc.disable() after the first iteration would settle whether it is garbage collection: the slow iterations would be gone.
settle-ranks = The same log from every rank would show which one the others waited for.
settle-events = { $count } slow iterations are of one height, but no interval can be resolved yet: that needs about { $enough } of them.
why-title = Iteration { $step }
why-took = It took { $duration }; a normal iteration near it takes { $level }.
why-window = Its line covers { $count } iterations: { $duration } in all, { $mean } each; a normal one near it takes { $level }.
why-normal = That is normal: nine in ten take { $span }.
why-raised = That is above its neighbours, but not enough to count as slow.
why-made-of = Made of: { $parts }.
why-cause = Cause: { $cause } ({ $code }, { $confidence } sure): { $evidence }.
why-unexplained = Unexplained: nothing in this log is sure enough to answer for { $duration }.
why-lines = The lines that speak for it:
why-considered = Also considered:
why-candidate = { $code } { $cause }, { $confidence }: { $evidence }
why-turned-down = Turned down:
why-not-marker = no line before it tells of an evaluation, a save, a collection or a wait
why-not-first = it is not among the first iterations of its process
why-not-period = it keeps no interval with other slow iterations
why-not-epoch = it does not stand at the edge of an epoch
why-not-data = the printed wait for data is as usual there
why-not-work = it had no more work than others
why-not-save = no save stands shortly before it
why-not-pause = it is too short for a suspended machine
why-periodic = It comes every { $every } iterations, { $count } times in this log.
why-neighbours = Around it: { $items }.
why-neighbour = { $step }: { $duration }
why-settle = What would settle it:
why-unprinted = Iteration { $step } has no line of its own. The nearest ones:
why-inside = Iteration { $step } is one of those that the line of iteration { $line_step } covers.
why-no-time = The line of iteration { $step } has no time.
why-page = The whole page: stepscope doc { $code }
error-no-such-step = the log has no iteration { $step }
    .hint = it goes from { $first } to { $last }
error-bad-step = a step is a whole number
    .hint = for example: stepscope why train.log 500
alarm-files-order = { $by ->
    [stamps] The files were read in the order of their time stamps: { $paths }
   *[other] The files were read in the order of their iterations: { $paths }
  }
alarm-files-repeated = { $count ->
    [one] This file holds the same lines as another one and was left out: { $paths }
   *[other] These files hold the same lines as others and were left out: { $paths }
  }
## Logs of no known format

section-inferred = How this log was read
inferred-intro = No format of the catalogue claims this log, so it was read by its structure ({ $confidence } sure):
inferred-item = { $text } ({ $confidence } sure)
inferred-teach = To put it right: stepscope formats try { $path } --suggest > my.toml, change my.toml, and add --format-file my.toml
infer-step = “{ $text }” is taken for the iteration: a whole number that goes up from line to line.
infer-step-epoch = “{ $epoch }” is taken for the epoch and “{ $batch }” for the iteration in it: it starts anew with every epoch.
infer-step-is-epoch = “{ $text }” is taken for the iteration: there is one line per epoch.
infer-step-word = “{ $text }” is taken for the iteration.
infer-time-mean = “{ $text }” is taken for an average since the first iteration, in { $unit }: it falls from line to line while its sum grows, so single iterations are worked out from it.
infer-time-none = No number in these lines is known to be a time.
infer-time-stamps = The times are those between the time stamps of the lines.
infer-time-step = “{ $text }” is taken for the time of one iteration, in { $unit }.
infer-time-total = “{ $text }” is taken for the time of all iterations since the line before, in { $unit }.
infer-time-clock = “{ $text }” is taken for a clock that runs on from line to line, in { $unit }.
infer-time-rate = “{ $text }” is taken for iterations a second.
infer-time-work = “{ $text }” is taken for the work a second, and “{ $amount }” for the work of an iteration.
infer-because-stamps = It fits the time stamps.
infer-because-clock = It fits the running clock in the same line.
infer-because-rate = It fits the rate in the same line.
infer-because-left = It fits the time left that the line prints.
infer-because-spacing = Lines that cover more or fewer iterations than the others settle it.
infer-because-meter = Its mean follows in brackets, as of a meter that is read at every iteration.
infer-because-amounts = With a shorter unit, the other counts in the line would go up faster than any machine.
infer-because-unit = Its unit is printed; nothing else in the log confirms it.
infer-because-name = It is named like one; nothing in the log confirms that it counts seconds.
infer-because-size = It has no unit, and for a number of this size seconds are the likeliest.
infer-total = “{ $text }” is taken for the number of iterations.
infer-batches = “{ $text }” is taken for the iterations of an epoch.
infer-evaluation = Lines like “{ $text }” are taken for evaluations.
infer-checkpoint = Lines like “{ $text }” are taken for saves.
infer-step-counted = Lines like “{ $text }” have no number: they are counted, each as one iteration.
infer-step-bar = The bar “{ $text }” is taken for the training’s: its lines are the iterations.
infer-time-bar = The times are those of the clock on the bar, in whole seconds; the rate on it is smoothed and not used.
infer-bars-are-epochs = The bar starts { $count } times; each is taken for an epoch.
infer-step-batch = “{ $text }” is taken for the batch of an epoch; it starts again { $count } times, each is taken for an epoch.
infer-doubt-interval = “{ $text }” may be the time of one iteration or of all { $count } since the line before. Nothing in the log tells which, so no times were read.
infer-doubt-unit = “{ $text }” has no unit and may be the time of one iteration or of several ({ $count } since the line before). Nothing in the log tells which, so no times were read.

## Comparing runs

compare-slower = The second run is { $share } slower: { $before } → { $after } per 1,000.
compare-faster = The second run is { $share } faster: { $before } → { $after } per 1,000.
compare-same = Both runs take the same time: { $before } per 1,000.
compare-most = Most of the difference is { $phase }: { $share } of it.
compare-real = A normal iteration differs by { $low } to { $high } at { $confidence }: more than noise.
compare-noise = A normal iteration differs by { $low } to { $high } at { $confidence }: that may be noise.
compare-too-few = Too few normal iterations to tell a difference in them from noise.
compare-unit-steps = per 1,000 iterations
compare-unit-tokens = per million tokens
compare-settings-same = The same settings, as far as the logs tell.
compare-settings = Settings that differ: { $settings }
compare-no-times = { $path }: no iteration with a time to compare.
compare-no-tokens = Not every log tells its tokens: compared by iterations.
error-compare-needs-two = compare takes two logs or more
    .hint = for example: stepscope compare old.log new.log

## The page

page-strip = Every iteration
page-strip-hint = Drag to zoom in, double-click to see all. Once the chart is chosen: + and − or the wheel zoom, arrow keys move, N and P go from one slow iteration to the next, Home shows all.
page-whatif = What if

## The web app

web-all-runs = all runs
web-compare = Compare
web-no-runs = No training log below this folder.
web-paste = Another log
web-paste-hint = Paste lines of a log here, or drop a file on this page. It is read in memory and kept nowhere.
web-explain = Explain
serve-hint = Ctrl-C stops it. The address carries the token that lets a browser in.
error-serve-needs-token = listening beyond this machine needs a token of your own
    .hint = for example: openssl rand -hex 16 > token.txt, then --host 0.0.0.0 --token-file token.txt
error-bad-token = not a token
    .hint = one word of letters and digits, for example: openssl rand -hex 16 > token.txt
error-bad-allow-host = not a host name or an address
    .hint = for example: --allow-host logs.example.com or --allow-host localhost:9000
error-bad-port = not a port
    .hint = for example: --port 8000
error-cannot-listen = cannot listen there: { $reason }
    .hint = take another port, or none for a free one
alarm-unexplained = Between iterations { $before } and { $step }, { $duration } passed that nothing in the log explains.
clocks-differ = By its time stamps the log took { $stamps }, by its printed times { $printed }: { $rest } are in no printed figure.
## Formats that a user teaches

formats-words = A line is shown to it when it contains one of: { $words }.
formats-try-gave-up = gave up at line { $line }, column { $column }:
formats-try-others = { $count ->
    [one] One more format claims no line.
   *[other] { $count } more formats claim no line.
  }
formats-try-account = { $name }: { $share } of the evidence, { $steps } iterations, { $seconds }, { $unread } lines left over
formats-try-behind = { $name }: { $share } of the evidence, { $steps } lines of iterations; not tried further
formats-try-read-as = Read as { $name }: { $steps } iterations.
suggest-what = A format file for Stepscope, made from the structure of { $path }.
suggest-where = Put it into { $folder }, or name it: stepscope { $path } --format-file FILE
suggest-groups = Named groups are values: step or epoch and batch, total, loss; a time is dur_s, dur_ms, elapsed_s, elapsed_clock, it_per_s, …
suggest-total = clock.covers is step, window (a mean), cumulative or stamp; figure_is_total = true when the time is that of all iterations since the line before.
suggest-none = Nothing in this file counts iterations: the file below is a form to fill in.
error-suggest-needs-file = --suggest goes with try and a file
    .hint = stepscope formats try run.log --suggest > mine.toml
error-no-such-format-file = the format file cannot be read: { $reason }
    .hint = stepscope formats try run.log --suggest > mine.toml     writes one
error-format-file-too-large = too large for a format file
    .hint = is this the log? Then leave --format-file out
error-format-file-not-text = the format file is not UTF-8 text
    .hint = save it as UTF-8
error-format-file-syntax = the format file is not TOML: { $reason }
    .hint = a pattern goes into single quotes: pattern = '…'
error-format-key-missing = { $field } is missing
    .hint = stepscope formats try run.log --suggest     writes a file with everything that is needed
error-format-key-unknown = there is no key { $field }
    .hint = there are: { $known }
error-format-key-type = { $field } has a value of the wrong kind
    .hint = it looks like this: { $wanted }
error-format-bad-value = { $field } cannot be { $value }
    .hint = one of: { $known }
error-format-bad-pattern = the pattern is no regular expression: { $reason }
    .hint = a sign that stands for itself needs a backslash: \[ \( \. \|
error-format-slow-pattern = some lines can be read by the pattern in so many ways that it could take forever
    .hint = give one of the repeats an end, such as { $example } instead of + or *, or keep them apart: \S+ \S+ rather than .+ .+
error-format-unknown-group = there is no value named { $group }
    .hint = there are: { $known }
error-format-sample-missed = the pattern gives up at column { $column } of its sample: { $text }
    .hint = change the pattern, or the sample
error-format-no-step = no line is of kind step
    .hint = one [[lines]] needs kind = 'step' and a pattern with (?P<step>\d+)
error-broken-plugin = the format { $name } of another package cannot be loaded: { $reason }
    .hint = repair or remove that package

## Seen from inside

inside-line = Seen from inside the process: { $items }.
inside-evaluation = { $count } × evaluation { $duration }
inside-checkpoint = { $count } × saving { $duration }
inside-data = { $count } × waiting for data { $duration } (longest { $longest })
inside-gc = { $count } × garbage collection { $duration } (longest { $longest })
inside-compile = { $count } × compile { $duration }
inside-optimizer = { $count } × optimizer step { $duration }
inside-retry = { $count } × memory allocation tried again
inside-step = { $count } × iteration { $duration } (longest { $longest })
inside-fetch = { $count } × loading a batch { $duration } (longest { $longest })
inside-logging = { $count } × logging { $duration }
inside-other = { $count } × { $kind } { $duration } (longest { $longest })
## Forecast

assume-like = { $count ->
    [one] The rest follows a previous run of the same program, { $path }, at this run’s pace.
   *[other] The rest follows { $count } previous runs of the same program, such as { $path }, at this run’s pace.
}
assume-passes = The present slowdown is new: it is taken to pass after about as long as it has lasted.
finish-ask = Ask again after iteration { $step }, in about { $duration }.
finish-ask-step = Ask again after iteration { $step }.
deadline-chance = Done by { $time }: { $share } likely.
deadline-sure = Done by { $time }: almost certainly.
deadline-hardly = Done by { $time }: hardly possible.
error-bad-deadline = not a moment: { $text }
    .hint = write --deadline 08:00, --deadline 2025-11-15T08:00, or Unix seconds
error-like-format = a log of another trainer: { $its }, not { $own }
    .hint = --like wants a complete log of the same program
error-like-short = that run ends at iteration { $last }, before the { $total } of this one
    .hint = --like wants a complete log of the same program

advice-a106-costs = The same sequences in { $batches } batches of { $size }. It takes an edit of the evaluation.
advice-a106-evidence = An evaluation runs { $batches } batches of { $size }, and the card has memory to spare for larger ones.
advice-a110-costs = Disk space for the cache.
advice-a110-evidence = The run was started { $count } times; warm-up took { $duration } in all.
advice-a115-costs = The loss is printed once in { $count } iterations.
advice-a115-evidence = Every iteration of { $duration } waits until its loss has been fetched and printed.
advice-a116-costs = A newer PyTorch; results differ in rounding only.
advice-a116-evidence = The trainer says at its start that attention is not fused.

## Page, app and other tools

error-binary-to-terminal = a { $name } file is not for a terminal
    .hint = write it to a file: -o report.{ $name }
## Advice: precision, assumptions, saves and disk

precision-same = The standard error of the validation loss stays { $error }.
precision-same-seen = The standard error of the validation loss stays { $error }; from one evaluation to the next the loss falls by about { $gain }, which stays visible.
precision-same-unseen = The standard error of the validation loss stays { $error }; from one evaluation to the next the loss falls by about { $gain }, too little for one evaluation to show.
advise-rounding = Does not change what is learned, but for rounding.
advise-draws = Does not change what is learned, but for other random draws.
advise-assumed = Assumed, from published cases: { $cases }
change-frees = { $change }: frees { $size } GB of disk
change-together = All of them at once save about { $duration }: { $after } instead of { $before }.
change-eval-interval = evaluate every { $proposed } iterations instead of every { $now }
change-checkpoint-interval = save every { $proposed } iterations instead of every { $now }
change-log-interval = print every { $proposed } iterations instead of every { $now }
change-eval-iters = { $proposed } batches per evaluation instead of { $now }
change-none-few = Nothing worth changing: evaluation and saving cost { $share } of the time, but they are so few already that fewer would not do.
change-none-seen = Nothing worth changing: the log shows no evaluation, and nothing else in it costs enough.
change-no-steps = No advice: no iteration time could be read.
advice-a101-costs-seen = Evaluations come { $factor } times less often.
advice-a102-costs-flat = The standard error of the validation loss grows from { $before } to { $after }. The loss no longer falls from one evaluation to the next: more batches would show no gain either.
advice-a104-change = save only when the validation loss improves
advice-a105-change = the same evaluation batches each time, and { $proposed } instead of { $now }
advice-a105-precision = The error of a difference between two evaluations goes from { $before } to { $after } or less.
advice-a106-costs-plain = The same sequences in batches of { $size }. If it runs out of memory, go back.
advice-a106-evidence-plain = Evaluations run in batches of { $size }, and the card has memory to spare for larger ones.
advice-a106-change = evaluation batches of { $proposed } instead of { $now }
advice-a106-assumed = batches 2 to 10 times as large took 0.84 to 1.12 of the time on a processor; a card that waits between kernels gains up to a third.
advice-a107-change = evaluate on all { $count } ranks instead of one
advice-a107-assumed = on four cards an evaluating iteration went from 20.5 to 8.7 s (nanoGPT’s issue 673).
advice-a108-costs-shorter = More saves; in exchange a crash loses no more than { $duration } of work.
advice-a108-evidence-accepted = A save stalls training for { $duration }. With a crash every { $between }, Daly’s rule puts the best interval at { $best }; you accept to lose { $accepted }.
advice-a109-change = save asynchronously
advice-a109-assumed = 27.3 s became 0.54 s for an 8B model on eight H100 (NeMo Automodel’s issue 635); on a processor 16% of the stall stayed.
advice-a110-change = keep the compile cache between starts
advice-a110-assumed = with a warm cache nanoGPT’s first iteration took 2.3 s instead of 26 s on a processor; loading and first touch stay.
advice-a111-change = collect garbage by hand, every few thousand iterations
advice-a112-change = { $count } loader workers, kept alive, with prefetch
advice-a112-change-prefetch = read the next shard ahead, in a thread
advice-a112-assumed = a wait of 0.217 s a step became 0.003 s with more workers; where the disk or the network is slow, nothing changes.
advice-a113-assumed = nothing on a card that is busy already, up to a tenth on one that waits between kernels; stepscope plan works it out for a stated model.
advice-a114-assumed = a V100 multiplies matrices at 9.9 TFLOPS in bfloat16 and at 100 and more in float16 (public tables).
advice-a115-assumed = nanoGPT’s line takes 0.3 ms on a processor, nothing where the loop waits for the card anyway, and some milliseconds with a metrics client.
advice-a116-change = fused attention
advice-a116-assumed = GPT-2 on an A100 went from 130 to 96 ms an iteration; short contexts gain less, long ones more.
advice-a117-change = fused AdamW
advice-a117-costs = None in memory; the sums are rounded in another order. It takes PyTorch 2.0 on CUDA, 2.4 on a processor.
advice-a117-evidence = The trainer shows at its start that its optimizer is not fused.
advice-a117-assumed = 3% for GPT-2 on an A100 (93 to 90 ms), 0 to 8% for small models on a processor.
advice-a118-change = keep the last { $count } checkpoints
advice-a118-costs = Only the last { $count } can be gone back to; copy aside what must stay.
advice-a118-evidence = { $count } checkpoints of about { $each } GB each, and this trainer keeps them all: { $total } GB at the end.
safety-now = Between two saves (every { $interval } iterations) up to { $stake } of work is at stake.
safety-within = That is within the { $accepted } you accept to lose.
safety-beyond = You accept to lose { $accepted }: save at least every { $needed } iterations.
safety-best = With a stall of { $stall } a save and the restarts seen, Daly’s rule loses least with a save every { $best } iterations.
disk-one = This trainer overwrites it each time.
disk-all = This trainer keeps them all: { $count } by the end, { $total } GB.
error-bad-may-lose = --may-lose takes a duration
    .hint = for example: --may-lose 10min, 90s or 1h30m
error-change-twice = { $setting } is changed twice
    .hint = give one value for it
error-unknown-change = no setting of that name
    .hint = did you mean { $known }?

disk-each = A checkpoint takes about { $each } GB on disk.
disk-some = This trainer keeps the last { $count }: { $total } GB.

error-bad-change-switch = { $setting } is True or False
    .hint = for example: --change { $setting }=False

whatif-past = The run is at iteration { $step } already, past { $total }: it would be done.

## The card

card-size-unknown = Is that normal for { $gpu }? { $duration } is what it usually takes with a model of { $low } to { $high } M parameters. Nothing says how large this one is; state it for a verdict: --set parameters=124M.
page-zoom-in = Zoom in
page-zoom-out = Zoom out
page-zoom-left = Move left
page-zoom-right = Move right
page-zoom-all = Show all
page-normal = normal iteration
page-outside = { $phase } between two iterations
page-level = level of normal iterations
page-tip = Iteration { $step }: { $took }
page-validation = validation loss
page-fan = Iterations over time: so far, foretold from here, and foretold earlier
page-fan-past = so far
page-fan-ahead = foretold from here
page-fan-earlier = foretold earlier
section-backtest = What would have been said earlier
backtest-column-at = after
backtest-column-said = foretold
backtest-column-range = range
backtest-column-took = happened
backtest-column-off = off by
backtest-at = { $share }, iteration { $step }
backtest-summary = { $count ->
    [one] The forecast of the time to iteration { $step }, made anew from what the log said at that moment; what happened lies in its range { $held } time of one.
   *[other] Forecasts of the time to iteration { $step }, made anew from what the log said at each moment. What happened lies in the range of { $held } of { $count }.
}
page-throughput = throughput
page-tokens-rate = tokens a second, evaluations and saves included
page-steps-rate = iterations a second, evaluations and saves included
page-gpu = The card
page-gpu-load = utilisation
page-gpu-memory = memory
page-gpu-power = power
page-gpu-temperature = temperature
cards-line = { $gpu }, { $count } samples: { $items }.
cards-load = { $share } busy on average
cards-memory = at most { $used } of { $total } GiB
cards-power = { $mean } W on average, at most { $most } W
cards-temperature = up to { $degrees } °C
page-whatif-left = { $duration } left ({ $span })
page-whatif-done = done at { $time }
page-whatif-less = { $duration } less than now
page-whatif-more = { $duration } more than now
page-whatif-evaluations = evaluations to come: { $number }
page-whatif-error = validation loss ± { $error }
page-more-slow = { $count ->
    [one] One more slow iteration
   *[other] { $count } more slow iterations
}
## What the card says while it runs

gpu-power-of = { $power } of { $limit } W
gpu-clock = { $clock } MHz
gpu-clock-of = { $clock } of { $most } MHz
gpu-held = held back by { $reasons }
gpu-others = { $count ->
    [one] also on it: { $names }
   *[other] { $count } others on it: { $names }
}
throttle-power_cap = its power limit
throttle-thermal = heat
throttle-hw_slowdown = its own protection
throttle-power_brake = the power supply
throttle-sync_boost = the slowest of its group
live-gpu = card
alarm-near-oom = { $used } of { $total } GiB of the card are used: a little more ends the run. A smaller batch with more accumulation needs less.
alarm-slowdown-thermal = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } now. The card lowers its clocks because it is too hot: look at its fans, dust and neighbours.
alarm-slowdown-power = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } now. The card is at its power limit: see nvidia-smi -q -d POWER.
alarm-slowdown-neighbour = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } now. Another process is on the card: nvidia-smi shows which.
alarm-slowdown-memory = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } now. The card's memory is full, and what does not fit may be moved to the host: a smaller batch helps.
alarm-finished = The run is finished: iteration { $step }.
notify-failed = { $count ->
    [one] One message could not be sent; check the address of --notify.
   *[other] { $count } messages could not be sent; check the address of --notify.
}
live-log = log

## The plan, card by card

plan-title-asked = As it is set
plan-title-proposed = Recommended settings
plan-now = now
plan-row-evaluations = evaluations
plan-row-saved = saved
plan-keeps = The same tokens per iteration: what is learned does not change, but for rounding and random draws. Fewer evaluation batches make the validation loss less precise. --write FOLDER writes a config file for each card.
plan-keeps-not = The same tokens per iteration, but float16 where the card has no bfloat16: that changes what is learned slightly. --write FOLDER writes a config file for each card.
plan-note-from = Calibrated with the log: { $duration } an iteration on { $gpu }.

plan-row-sequences = sequences per evaluation
plan-memory-other = other, as measured
plan-model-derived = { $low } to { $high } M parameters, worked out; counted with { $parameters }: { $layers } layers × { $hidden }, context { $context }, vocabulary { $vocabulary }

## Advice: compiling, types, shards

change-scope-rest-one = Saved on the rest of this run.
change-scope-run-one = Saved on a run like this one.
disk-each-span = A checkpoint takes about { $each } GB on disk ({ $low } to { $high }).
advice-a112-costs-prefetch = Host memory for one more shard.
advice-a112-assumed-prefetch = modded-nanogpt reads the next shard in a thread since its record 33; before that, each boundary cost 160 to 200 ms.
advice-a119-costs = The first iteration takes about { $duration } longer. Try it for a hundred iterations: a small model may gain nothing.
advice-a119-evidence = The settings say that the model is not compiled.
advice-a119-assumed = GPT-2 on an A100 went from 250 to 135 ms an iteration (nanoGPT’s README); a small model on an RTX 3080 from 44 to 48.
advice-a120-change = shapes that stay the same: drop the partial batch, or pad
advice-a120-costs = The sequences of the partial batch are not trained on, or padding is computed for nothing.
advice-a120-evidence = { $count } iterations of { $duration } in all look like recompilations; that is { $share } of the time.
advice-a121-costs = Mixed precision: the weights stay in float32, products are rounded to 16 bits; the losses differ slightly.
advice-a121-evidence = { $gpu } multiplies 16-bit numbers many times faster than 32-bit ones, and this run uses float32.
advice-a121-assumed = GPT-2 on an A100 took 1,000 ms an iteration in float32, 333 with TF32, 300 with bfloat16.
inside-skipped = Not hooked, because this version does not take it: { $names }.
split-trace = Evaluation and checkpoint were timed from inside the process.
compare-title = Runs side by side
compare-section-each = One of each
compare-section-why = What explains the difference: { $first } → { $other }
compare-section-settings = Settings that differ
compare-row-typical = normal iteration
compare-row-evaluation-each = one evaluation
compare-row-checkpoint-each = one checkpoint
compare-row-warmup = warm-up in all
compare-row-stall = unexplained in all
compare-row-wall = the whole log
web-runs = The runs below this folder
web-choose = Compare
web-failed = No answer from the server: is it still running?

change-eval-epochs = evaluate every { $proposed } epochs (now: { $now })

error-plan-from-impossible = { $gpu } cannot be that fast: the log’s iterations would be { $share } of its peak with this model
    .hint = check --params, --context, --from-gpu, and batch_size and gradient_accumulation_steps

advice-a108-costs-unseen = A crash loses up to { $duration } of work. No crash was seen yet; one a week is assumed.

warning-unknown-card = warning: no card is called { $name }, so nothing is said about its peak; for example { $known }: stepscope doc cards lists all
warning-no-effect = warning: { $flag } has no effect on a live view
error-too-large-inside = more than { $size } come out of this file
    .hint = unpack it and take the part you want: zcat file.gz | head -c 100M > part.log

## How sure the reading is

section-reading = Is this log read rightly?
reading-doubt = This reading is in doubt ({ $confidence } sure): check it before you rely on a figure below.
reading-item = { $text } [{ $code }]
reading-settle = To settle it: stepscope formats try { $path } shows how each format reads this log; --format-file FILE reads it with another one, --set key=value states what it does not say.
reading-agrees = Reading: { $text }
reading-eta-doubt = in doubt: this log may not be read rightly ({ $confidence } sure). { $text }
audit-clocks-none = Only one clock: nothing else in the log shows whether its times are read rightly.
audit-clocks-agree = { $name ->
    [stamps] checked against the timestamps, which agree ({ $used } and { $other }).
   *[other] checked against the log’s own total “{ $name }”, which agrees ({ $used } and { $other }).
  }
audit-clocks-differ = { $name ->
    [stamps] The printed times add up to { $used }, the timestamps of the same lines to { $other }.
   *[other] The times read add up to { $used }, but the log’s own total “{ $name }” is { $other }.
  }
audit-unread-counts-none = No unread lines count up.
audit-unread-counts = { $count ->
    [one] A line that Stepscope does not read counts up as iterations do: “{ $text }” (line { $line }).
   *[other] { $count } lines that Stepscope does not read count up as iterations do: “{ $text }” (from line { $line }).
  }
audit-unread-times-none = No unread lines hold times again and again.
audit-unread-times = { $count ->
    [one] A line that Stepscope does not read may hold a time or a loss: “{ $text }” (line { $line }).
   *[other] { $count } lines that Stepscope does not read may hold a time or a loss: “{ $text }” (from line { $line }).
  }
audit-evaluations-booked = Evaluations are in the account.
audit-evaluations-unread = { $count ->
    [one] A line looks like an evaluation that is in no account: “{ $text }” (line { $line }).
   *[other] { $count } lines look like evaluations that are in no account: “{ $text }” (from line { $line }).
  }
audit-evaluations-unpriced = { $count ->
    [one] An evaluation was seen, but nothing shows what it cost.
   *[other] { $count } evaluations were seen, but nothing shows what they cost.
  }
audit-evaluations-none = No line looks like an evaluation.
audit-end-short = The log says that the run is over, but the last iteration read is { $step } of { $total }.
audit-end-unread = Line { $line } may say that the run is over: “{ $text }”.
audit-end-known = The log says how the run ended, and its last iteration fits.
audit-end-none = No unread line speaks of an end.
audit-step-none = Iterations were read, but no normal time of one follows from them.
audit-step-plausible = { $duration } is a plausible iteration.
audit-step-odd = An iteration of { $duration }, or times as uneven as these, are odd for a training.
audit-total-none = There is no total to compare.
audit-total-negative = The total of { $duration } contradicts its parts.
audit-total-explained = { $share } of the time has a name.
audit-total-unexplained = { $share } of the time ({ $duration }) is explained by nothing in the log.
audit-counter-short = Too few iterations to see whether they count evenly.
audit-counter-regular = The iterations count evenly.
audit-clock-none = The log has no timestamps that could go back.
audit-clock-runs-on = The timestamps never go back.
audit-clock-set = { $count ->
    [one] The clock was set back once while the log was written (line { $line }, by { $by }); what passed there is assumed.
   *[other] The clock was set back { $count } times while the log was written (most at line { $line }, by { $by }); what passed there is assumed.
}
audit-counter-again = { $count ->
    [one] The count starts again from its beginning once: the total is that of both launches, and the last one alone may be meant.
   *[other] The count starts again from its beginning { $count } times: the total is that of all launches, and the last one alone may be meant.
}
audit-counter-jumps = { $count ->
    [one] The iterations do not count evenly, or start over (once).
   *[other] The iterations do not count evenly, or start over ({ $count } times).
  }
audit-lines-none = There are no lines to count.
audit-lines-many = { $share } of the lines are read.
audit-lines-few = Only { $share } of the lines are read.
audit-format-known = The format is known: { $format }.
audit-format-inferred = The format is not known; what the lines mean was worked out from their structure ({ $confidence } sure).
audit-formats-none = No other format was tried.
audit-formats-one = No other format than { $format } fits nearly as well.
audit-formats-close = Two formats fit about as well: { $format } explains { $share } of the log, { $other } { $rest }.
audit-trained-none = No iterations were read.
audit-trained = Losses, evaluations or saves go with the iterations.
audit-trained-unknown = Nothing shows that what counts here is a training: no loss, no evaluation, no save.
reason-no-steps-unread = no iteration with a time was read. Lines like “{ $text }” (line { $line }) may say it; Stepscope does not read them.
reason-no-steps-over = no iteration with a time was read, and the log says how the run ended: no more will come.
reason-no-times-unread = iterations were read, but not how long they took. Lines like “{ $text }” (line { $line }) may say it; Stepscope does not read them.
reason-no-total-unread = how many iterations the run has was not read. Lines like “{ $text }” (line { $line }) may say it; Stepscope does not read them. Pass --max-steps N, or --config with the run’s settings.
change-none-seen-unread = Nothing worth changing in what was read: no evaluation is in the account. Lines like “{ $text }” (line { $line }) may say it; Stepscope does not read them.
alarm-ended-early-unread = The run ended after iteration { $step }; how many were planned was not read. Lines like “{ $text }” (line { $line }) may say it; Stepscope does not read them.

## What cost most time

finding-evaluation = { $count ->
    [one] One evaluation took { $seconds }, { $share } of the time.
   *[other] { $count } evaluations took { $seconds }, { $share } of the time.
  }
finding-checkpoint = { $count ->
    [one] One checkpoint took { $seconds }, { $share } of the time.
   *[other] { $count } checkpoints took { $seconds }, { $share } of the time.
  }
finding-warmup = Warm-up (compiling, first use of the GPU) took { $seconds }, { $share } of the time.
finding-data = Waiting for data took { $seconds }, { $share } of the time.
finding-gc = Garbage collection took { $seconds }, { $share } of the time.
finding-logging = Logging took { $seconds }, { $share } of the time.
finding-communication = Waiting for other processes took { $seconds }, { $share } of the time.
finding-stall = Unexplained pauses took { $seconds }, { $share } of the time.
finding-gap = Nothing ran for { $seconds }, { $share } of the time: restarts or a suspended machine.
finding-slower = Iterations { $first } to { $last } took { $level } instead of { $normal }: that cost { $seconds }, { $share } of the time.
finding-repeated = { $count ->
    [one] One iteration was done twice after a restart: { $seconds } of training, { $share } of the time.
   *[other] { $count } iterations were done twice after restarts: { $seconds } of training, { $share } of the time.
  }
finding-after-best = The validation loss was lowest at iteration { $step } ({ $loss }). The { $seconds } after it, { $share } of the time, made the model worse.

## The answer in three lines

summary-running = Running: { $where }
summary-finished = Finished: { $where }
summary-stopped = Stopped without a word: { $where }
summary-unknown = Perhaps still running: { $where }
summary-crashed = Crashed after { $wall }: { $where }
summary-crashed-early = Crashed before the first iteration
summary-crashed-untimed = Crashed: { $where }
summary-out_of_memory = Out of memory after { $wall }: { $where }
summary-out_of_memory-early = Out of memory before the first iteration
summary-out_of_memory-untimed = Out of memory: { $where }
summary-interrupted = Interrupted after { $wall }: { $where }
summary-interrupted-early = Interrupted before the first iteration
summary-interrupted-untimed = Interrupted: { $where }
summary-killed = Killed after { $wall }: { $where }
summary-killed-early = Killed before the first iteration
summary-killed-untimed = Killed: { $where }
summary-cause = Line { $line }: { $text }
summary-memory = { $asked } more were needed, { $free } of { $total } were free (line { $line })
summary-smaller = Halve the batch size and double the gradient accumulation: same training
summary-smaller-batch = Try batch size { $batch_size } × accumulation { $accumulation }: the same tokens per iteration
summary-lost = { $count ->
    [0] Nothing is lost: the last checkpoint is of the last iteration, { $step }
    [one] Lost: one iteration ({ $seconds }) since the last checkpoint, at { $step }
   *[other] Lost: { $count } iterations ({ $seconds }) since the last checkpoint, at { $step }
  }
summary-for-times = To get times, start it with: stepscope run -- python train.py
summary-nothing-lost = No training time is lost: no iteration was done
summary-left = { $left } left{ $range }
summary-left-done = { $left } left{ $range }, done at { $time }
summary-left-if = { $left } left{ $range } if it goes on
summary-resumed = Ran { $wall }; { $left } left{ $range } if resumed
summary-took = Took { $wall }
summary-took-each = Took { $wall }, { $level } per iteration
summary-no-times = The log prints no times: neither duration nor finish time can be given
summary-no-steps = No timed iteration yet: neither duration nor finish time can be given
summary-so-far-no-total = { $wall } so far; to know the finish time, pass --max-steps N
summary-so-far-no-end = { $wall } so far; no finish time yet
summary-each-no-total = { $wall } so far, { $level } per iteration; finish time: pass --max-steps N
summary-each-no-end = { $wall } so far, { $level } per iteration; no finish time yet
summary-unlogged = Biggest cost: { $seconds } ({ $share }) that the log does not account for
summary-healthy = Nothing to fix: { $share } of the time is training
summary-no-cost = No avoidable cost of 1% or more was found
size-mib = { $size } MiB
size-gib = { $size } GiB
cost-evaluation = { $count ->
    [one] Biggest cost: one evaluation, { $seconds } ({ $share } of the time)
   *[other] Biggest cost: { $count } evaluations, { $seconds } ({ $share } of the time)
  }
cost-checkpoint = { $count ->
    [one] Biggest cost: one checkpoint, { $seconds } ({ $share } of the time)
   *[other] Biggest cost: { $count } checkpoints, { $seconds } ({ $share } of the time)
  }
cost-warmup = Biggest cost: warm-up (compiling, first use of the GPU), { $seconds } ({ $share })
cost-data = Biggest cost: waiting for data, { $seconds } ({ $share } of the time)
cost-gc = Biggest cost: garbage collection, { $seconds } ({ $share } of the time)
cost-logging = Biggest cost: logging, { $seconds } ({ $share } of the time)
cost-communication = Biggest cost: waiting for other processes, { $seconds } ({ $share } of the time)
cost-stall = Biggest cost: unexplained pauses, { $seconds } ({ $share } of the time)
cost-gap = Biggest cost: { $seconds } ({ $share }) in which nothing ran (restarts, suspended machine)
cost-slower = Biggest cost: slow iterations { $first }–{ $last }, { $seconds } ({ $share } of the time)
cost-repeated = { $count ->
    [one] Biggest cost: one iteration done twice after a restart, { $seconds } ({ $share })
   *[other] Biggest cost: { $count } iterations done twice after restarts, { $seconds } ({ $share })
  }
cost-after-best = Biggest cost: { $seconds } ({ $share }) after the best validation loss, at { $step }

## One screen

slow-group-times = { $where } ({ $count }×)
slow-group-some = some
slow-group-every = every { $every }
slow-group-window = { $first }–{ $last }
change-short = { $change }: saves { $duration }
part-about = { $phase } ≈{ $duration }
screen-more = More: --full
screen-more-about = More: --full. ≈: this log has no exact figure.
screen-more-lines = { $count ->
    [one] … and one more
   *[other] … and { $count } more
  }
screen-inferred = Unknown format, read by its structure ({ $confidence } sure)
## Fleets

fleet-listing = { $found } logs found so far
fleet-progress = { $done } of { $total } · { $rate } a second · { $left } left
fleet-scanned = { $found } candidates found: { $known } known already, { $done } read now, { $failed } of them not understood
fleet-unreadable-folder = warning: the folder { $path } cannot be listed
error-bad-workers = --workers is a whole number from 1 to 4095
    .hint = for example: --workers 8
error-fleet-needs-place = nothing to scan
    .hint = name folders or logs: stepscope fleet scan /logs/slurm --store fleet/
error-fleet-store-busy = another scan is writing this store
    .hint = wait for it, or use another --store
error-fleet-too-slow = reading took more than { $minutes } minutes
    .hint = look at it alone: stepscope { $place }

## The list of runs and what is beside it
app-new = New
app-close = Close
app-copy = Copy
app-copied = Copied
app-clear = Clear
app-apply = Apply
app-dismiss = Dismiss
app-all = All
app-filter = Search and filter
app-filter-state = State
app-search = Search runs
app-any-trainer = All trainers
app-any-folder = All folders
app-folder = Folder
app-no-folder = (this folder)
app-group = Group by folder
app-sort = Sort
app-column-state = State
app-column-run = Run
app-column-trainer = Trainer
app-column-progress = Progress
app-column-step = Per iteration
app-column-left = Left or ended
app-column-overhead = Overhead
app-column-loss = Best val. loss
app-column-time = Speed and stops
app-column-updated = Updated
app-state-running = Running
app-state-stalled = Stalled?
app-state-finished = Finished
app-state-crashed = Crashed
app-state-out-of-memory = Out of memory
app-state-interrupted = Interrupted
app-state-killed = Killed
app-state-stopped = Stopped
app-state-unknown = Silent
app-state-unread = Not read
app-looking = Looking for runs …
app-reading = Reading: { $read } of { $found } files
app-count = { $shown } of { $total } runs
app-others = Files without a training log: { $count }
app-unreadable = Folders that cannot be read: { $count }
app-no-match = No run matches. Clear the search or choose another state.
app-empty-start = Start a training with its times recorded, and it appears here within seconds:
app-empty-paste = Or open a log that is elsewhere: drop it on this page, or paste its lines with “New”.
app-choose-file = Or choose a file:
app-facts = What the log does not say
app-facts-ask = How many iterations will this run have? The log does not say
app-fact-total = Total iterations
app-fact-parameters = Parameters
app-fact-gpu = GPU
app-chosen = { $count } chosen
app-choose-more = Choose one more to compare.
app-most = Up to eight runs can be compared.
app-files = { $count } files
app-ran = ran { $duration }
app-left-at = done at { $time }
app-overdue = overdue
app-no-total = total not known
app-progress = { $step } of { $total }
app-best-at = at { $step }
app-now-live = Live
app-now-off = No answer
app-offline = The server does not answer: is stepscope serve still running? This page shows what it knew last and tries again.
app-alarms = Alarms
app-notify-on = Notify me
app-notify-off = Notifications on
app-notify-denied = The browser blocks notifications for this page; allow them in its site settings.
app-notice-state = { $name }: { $state }
app-title-running = ({ $count }) Stepscope
app-overlay = The curves in one picture
app-overlay-by = Horizontal axis
app-overlay-step = by iteration
app-overlay-tokens = by tokens
app-overlay-time = by time
app-overlay-loss = Training loss
app-overlay-validation = Validation loss
app-overlay-took = Time of a normal iteration
app-unread = could not be read ({ $problem }); open it for the reason
app-unread-large = too large or too slow to read for the list; open it to read it
app-instead-reason-no-total = the log does not say how many iterations the run has. Fill in “Total iterations” above.
app-instead-reason-implausible-total = the stated total of { $total } iterations is implausible: at the present pace they would take another { $left }. Correct “Total iterations” above.
app-instead-reason-no-total-unread = how many iterations the run has was not read. Lines like “{ $text }” (line { $line }) may say it; Stepscope does not read them. Fill in “Total iterations” above.
app-instead-summary-so-far-no-total = { $wall } so far; for the finish time, fill in “Total iterations”
app-instead-summary-each-no-total = { $wall } so far, { $level } per iteration; for the finish time, fill in “Total iterations”
app-instead-error-no-such-file = this run is not below the folder (any more)
    .hint = go back to the list: it shows what there is now
app-instead-error-compare-needs-two = a comparison takes two runs with times or more
    .hint = go back and tick two rows of the list or more
error-bad-fact = “{ $text }” is not a whole number of at least 1
    .hint = go back and write it like 20000 or 124M
