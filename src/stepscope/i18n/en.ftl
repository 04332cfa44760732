### The master. Every other language has these messages with these { $holes }.
### Setting names, log lines, units and codes stay as they are in every language.

## Numbers

# From here on, thousands are set apart.
number-least-grouped = 1000
unit-day = d
statements-separator = …; …
labelled = { $label }: { $text }
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
basis-in-steps = { $count }×, part of training
basis-unseen = not printed, at most { $most }
origin-flag = stated
origin-config = config
origin-log = log
origin-detected = detected
origin-default = trainer default
part = { $phase } { $duration }
part-span = { $phase } { $duration } ({ $span })

## The run

run-progress = iteration { $step } of { $total } ({ $share })
run-progress-open = iteration { $step }
run-none = no iteration with a time
run-unread = no iteration was recognised
run-normal = A normal iteration takes { $duration } (90% take { $span }).
run-present = Currently an iteration takes { $duration }.
run-normal-one = A normal iteration takes { $duration }.
run-median = The median iteration takes { $duration }.
run-tokens = { $tokens } tokens/s.
run-before = The training before it took { $duration } per iteration: this one is { $share } { $pace ->
    [slower] slower
   *[faster] faster
  }.
run-before-times = The training before it took { $duration } per iteration: this one is { $factor } times { $pace ->
    [slower] slower
   *[faster] faster
  }.
run-before-same = The training before it took about as long, { $duration } per iteration.
run-regimes = The speed changed: { $levels }.
run-level = { $duration } from iteration { $step }
run-evaluations-inside = That includes the evaluations: a line covers the iterations before it and its evaluation, and does not time them apart.
run-sampled-by-total = The log prints one iteration in { $count }, and those take longer; the rest follow from the total it prints.
run-sampled = The log prints one iteration in { $count }; the rest are estimated from the printed ones.
run-settings = Settings: { $settings }.
setting-from = { $settings } ({ $origin })
run-gpu = { $gpu }: { $details }.
gpu-load = { $share } busy
gpu-memory = { $used } of { $total } GiB
gpu-power = { $power } W
gpu-temperature = { $degrees } °C
## How the speed changes

trend-one = A single line shows no trend.
trend-one-time = A single printed time shows no trend.
trend-steady = Steady within { $share }: no slowdown in these lines.
trend-steady-but = Steady within { $share }, except for iterations { $first } to { $last }, which were slower.
trend-between = Iterations { $first } to { $last } took { $level }, most others { $normal }.
trend-scatter = No trend: the times vary between { $low } and { $high }.
trend-two-speeds = Two speeds: { $count } of { $total } printed iterations take { $own }, the others { $others }: { $factor } times { $pace ->
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
} since iteration { $step }: { $before } before, { $after } after.
trend-since-times = { $factor } times { $pace ->
    [faster] faster
   *[slower] slower
} since iteration { $step }: { $before } before, { $after } after.
data-bottleneck = Waiting for data takes { $share } of the time ({ $wait } of { $step } per iteration): data loading is the bottleneck, and the GPU waits for it.
data-share = Waiting for data takes { $share } of the time ({ $wait } of { $step } per iteration).
data-bottleneck-step = Waiting for data takes { $share } of each iteration ({ $wait } of { $step }): data loading is the bottleneck, and the GPU waits for it.
data-share-step = Waiting for data takes { $share } of each iteration ({ $wait } of { $step }).
data-first = Only the first line waits for data: up to iteration { $step }, each iteration waited { $duration }; later ones waited { $usual }. Data loading does not slow down the rest.
data-minor = Waiting for data takes { $share } of the time: data loading is not the bottleneck.
part-of-step = Most of an iteration is “{ $name }”: { $duration } of { $whole } ({ $share }).
data-by-means = Waiting for data takes { $share } of the time by the means that the log prints ({ $wait } of { $step } per iteration): the printed iterations happen to show little of it.
data-in-means = Waiting for data takes { $share } of the time by the means that the log prints ({ $wait } of { $step } per iteration).
data-at-once = Waiting for data takes { $share } of the time, nearly all of it at { $count ->
    [one] iteration { $step }
   *[other] { $count } slow iterations, the longest at { $step }
} ({ $duration }).
past-total = The count is past 100% of its total: training continues from a loaded model, and the printed time left means nothing.
rate-needs-size = The log prints rates only; seconds per iteration need the batch size.
rate-one = { $level } { $unit } per second on one line: it shows no trend.
rate-one-time = { $level } { $unit } per second, printed once: it shows no trend.
rate-steady = Steady within { $share }: { $level } { $unit } per second.
rate-scatter = No trend: the speed varies between { $low } and { $high } { $unit } per second.
rate-two-speeds = Two speeds: { $count } of { $total } printed iterations run at { $other_low } to { $other_high } { $unit } per second, the others at { $low } to { $high }: { $factor } times { $pace ->
    [faster] faster
   *[slower] slower
}.
rate-along = The speed { $pace ->
    [faster] rises
   *[slower] falls
} from { $before } to { $after } { $unit } per second within these lines ({ $share }).
rate-along-times = The speed { $pace ->
    [faster] rises
   *[slower] falls
} from { $before } to { $after } { $unit } per second within these lines ({ $factor } times).
rate-since = About { $share } { $pace ->
    [faster] faster
   *[slower] slower
} since iteration { $step }: { $before } { $unit } per second before, { $after } after.
rate-since-times = { $factor } times { $pace ->
    [faster] faster
   *[slower] slower
} since iteration { $step }: { $before } { $unit } per second before, { $after } after.

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
    [one] … and one more: { $causes }
   *[other] … and { $count } more: { $causes }
  }
slow-more-cause = { $count } × { $cause } (+{ $duration })
cause-evaluation = evaluation
cause-checkpoint = checkpoint
cause-warmup = warm-up
cause-data = data
cause-gc = garbage collection
cause-unexplained = unexplained
slow-unexplained = { $count ->
    [one] One slow iteration is unexplained ({ $duration } longer than normal).
   *[other] { $count } slow iterations are unexplained ({ $duration } longer than normal in total).
  }
slow-first-no-save = No checkpoint is saved at iteration 0. The time beyond the evaluation is warm-up: compilation and first use of the GPU.
split-stamps = Timestamps on the lines separate evaluation from checkpoint.
split-contrast = Evaluation and checkpoint are separated by comparing evaluations with and without a checkpoint.
split-first-step = Evaluation and checkpoint are separated by the first evaluation, which saves nothing.
split-model = This log cannot separate evaluation from checkpoint, because every checkpoint follows an evaluation. The split is estimated from the number of forward passes and typical checkpoint times; the ranges show its uncertainty.
split-guess = This log cannot separate evaluation from checkpoint, because every checkpoint follows an evaluation and the number of batches per evaluation is unknown (pass --set eval_iters=N). The split is estimated from typical checkpoint times; the ranges show its uncertainty.
split-guess-plain = This log cannot separate evaluation from checkpoint, because every checkpoint follows an evaluation. The split is estimated from typical checkpoint times; the ranges show its uncertainty.
split-not-yet = It is too early to tell what a checkpoint costs: that needs about { $needed } evaluations with and without one, and the log has { $count }.
split-settle = For exact figures, add timestamps to the log: { $command }
stamps-unusable = The timestamps contradict the printed times (block-buffered pipe?) and are ignored. Run python with -u.
arrivals-unused = The recorded arrival times contradict the times on the lines; the printed times are used.
evidence-marker = follows “{ $line }”
evidence-markers = follows “{ $line }” and “{ $save }”
evidence-first = the first iteration of the process: compilation and first use of the GPU
evidence-unprinted = this trainer always evaluates at this iteration; its line is not in the log
evidence-inside = timed inside the process: { $parts }
evidence-none = no line gives a reason; { $duration } longer than its neighbours

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
finish-ended = The run has ended. If it were resumed now from its last iteration, it would need this long.
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
left-priced = { $what } ({ $duration })
left-unpriced = { $what } (cost unknown)
left-line = Still to come: { $items }.
finish-next-evaluation = Next evaluation at iteration { $step }.
rough-own = About { $duration } left according to the trainer; these lines alone allow no better estimate.
rough-own-first = About { $duration } left according to the trainer, based on the first and only iteration. It includes start-up; later ones are usually faster.
rate-and-time = { $rate } { $unit } per second and { $duration } per iteration make { $count } { $unit } per iteration.
skipped-few = { $count ->
    [one] One optimizer step was skipped
   *[other] { $count } optimizer steps were skipped
} so far.
finish-last-event = The last event in the log is “{ $phase }” (line { $line }); no iteration is printed after it.
rough-bar = About { $duration } left on this progress bar, which may cover only one of several epochs.
rough-few = About { $duration } left at this speed{ $range }: a rough estimate from very few lines.
rough-two = Between { $low } and { $high } left: the progress bar’s mean speed and its latest rate differ by a factor of { $factor }.
rough-first = About { $duration } left if every iteration took as long as this first one{ $range }. It includes start-up, so the estimate is rough.
finish-none = No finish time: { $reason }
finish-none-rough = No better estimate yet: { $reason }
finish-rate = At the current { $duration } per iteration, the next 1,000 will take { $thousand }.
finish-rate-evaluations = At the current { $duration } per iteration, the next 1,000 will take { $thousand }, including { $count ->
        [one] one evaluation
       *[other] { $count } evaluations
    }.
reason-no-steps = no timed iteration yet. Try again after a few more lines.
reason-times-doubt = “{ $text }” may be the time of one iteration or of { $count }; nothing in the log shows which.
reason-no-times = the log lists iterations but no times.
reason-no-total = the log does not give the total number of iterations. Pass --max-steps N, or --config with the run’s settings.
reason-loop-of-fits = the log shows { $count } calls of fit, one after another, each of a single epoch; how many are still to come is not printed.
reason-implausible-total = the stated total of { $total } iterations is implausible: at the current speed they would take another { $left }. Pass --max-steps N.
reason-too-few = { $count ->
    [one] only one normal iteration has been printed; a rate needs three. Try again after a few more lines.
   *[other] only { $count } normal iterations have been printed; a rate needs three. Try again after a few more lines.
  }
assume-level = Assumes the current speed of { $duration } per iteration.
assume-no-evaluations = Evaluations are not included: their interval is unknown. Pass --set eval_interval=N.
assume-evaluations-unannounced = Future evaluations are estimated: their interval is unknown, and none has happened since the first iteration. Pass --set eval_interval=N.
assume-evaluation-unpriced = Evaluations are not included: none has been timed yet, and the number of batches per evaluation is unknown. Pass --set eval_iters=N.
assume-evaluation-prior = No evaluation has been timed yet: its cost is computed from the number of forward passes.
assume-save-prior = No checkpoint has been timed yet: a typical cost is assumed.
assume-evaluation-outside = This log’s clock stops during evaluations, and nothing else shows what they cost. The time left is counted on that clock, without them; only the end of its range leaves room for them.
assume-saves = Assumes a checkpoint after { $share } of the evaluations, as recently.
assume-default-interval = Assumes the trainer’s default evaluation interval, { $count } iterations; the log has not confirmed it yet. Pass --set eval_interval=N.
assume-further-trainings = { $count ->
    [one] One more training comes after this one, of { $steps } iterations as well; its time is included.
   *[other] { $count } more trainings come after this one, of { $steps } iterations each; their time is included.
}
assume-default-total = Assumes the trainer’s default number of iterations, { $count }; nothing states the total.

## What to change

change-none = Nothing worth changing: evaluation and checkpoints take { $share } of the time.
change-none-data = Feed the iterations faster: waiting for data takes { $share } of the time.
change-unknown = No advice: this log does not show what evaluations cost.
change-scope-rest = Savings over the rest of this run. They overlap, so do not add them up.
change-scope-run = Savings over a run like this one. They overlap, so do not add them up.
change-line = { $change }: saves { $duration } ({ $span })
advice-a101-costs = You see the validation loss { $factor ->
    [2] half as often
   *[other] { $factor } times less often
  }. Checkpoints are saved only after evaluations, so a crash can cost up to { $steps } iterations ({ $duration }).
advice-a101-evidence = { $count } evaluations of { $duration } each take { $share } of the time. A larger interval means fewer of them.
advice-a102-costs = The standard error of the validation loss grows from { $before } to { $after }.
advice-a102-costs-unknown = The standard error of the validation loss grows by a factor of { $factor }; this log has too few losses to say from what value.
advice-a102-evidence = Each evaluation runs { $count } batches on { $splits ->
    [one] one split
   *[other] each of { $splits } splits
  }. Cost grows with the number of batches, precision only with its square root.
advice-a103-costs = You lose the train loss printed at evaluations; the iteration lines show it anyway. Requires editing estimate_loss in train.py.
advice-a103-evidence = Half of every evaluation measures the training split.
advice-a104-costs = After a crash, the run resumes from the best checkpoint, not the latest.
advice-a104-evidence = Checkpoints take { $share } of the time; of the last evaluations, { $improving } improved on the best before them.

## Alarms

alarm-nan = { $count ->
    [one] The loss is NaN or infinite from iteration { $step } on (once in the log). Everything after this is wasted.
   *[other] The loss is NaN or infinite from iteration { $step } on ({ $count } times in the log). Everything after this is wasted.
  }
alarm-oom = Out of memory: { $text }
alarm-crash = Traceback or fatal signal: { $text }
alarm-interrupted = The run was interrupted: { $text }
alarm-ended-early = The run ended early, after iteration { $step } of { $total }.
alarm-ended-early-unknown = The run ended after iteration { $step }; the log does not say how many were planned.
alarm-ended-before-steps = The run ended before its first iteration was done.
alarm-restarted = { $count ->
    [0] The run was started again after iteration { $before }, at { $step }.
    [one] The run was started again after iteration { $before }, at { $step }: one iteration ({ $lost }) was done twice.
   *[other] The run was started again after iteration { $before }, at { $step }: { $count } iterations ({ $lost }) were done twice.
  }
alarm-slowdown = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } since then.
alarm-contradiction = { $setting } is stated as { $stated }, but the log shows { $seen }; using the value from the log.
alarm-contradiction-mfu = { $setting } is stated as { $stated }, but the printed MFU and step times fit { $seen }: check the config, or whether this copy of the trainer computes its MFU from another GPU’s peak.
state-total = iteration { $step } of { $total } is the last one
state-words = the log says: { $text }
state-last-printed = iteration { $step } is the last one of { $total } that the log prints, and what follows the last iteration is done
state-after-stop = the log ends right after an evaluation or a checkpoint, which are rare in it; nothing indicates that more was to come
state-silent = the log ends without a message, and nothing shows when it was written
state-last-written = last line: { $at }; lines usually come { $usual } apart
reason-over-state-total = the run is complete: iteration { $step } of { $total }.
reason-over-state-words = the run is over. The log says: { $text }
reason-over-state-last-printed = the run is complete: iteration { $step } is the last one of { $total } that the log prints.
state-exit = the command returned exit code { $code }
state-signal = the command was ended by { $name } (exit code { $code })
reason-over-state-exit = the run is over: the command returned exit code { $code }.
reason-over-state-signal = the run is over: the command was ended by { $name } (exit code { $code }).
alarm-crash-code = Traceback or fatal signal: { $text } (exit code { $code })
alarm-exit-code = The command failed with exit code { $code }; its output gives no reason.
alarm-signal = The command was ended by { $name } (exit code { $code }).
alarm-killed = The command was killed by { $name } (exit code { $code }), often because memory ran out; dmesg would show that.
alarm-walltime = The job ends at { $time }; the run is done by then with { $share } probability (iteration { $step } of { $total } is the last one that can be saved in time).
alarm-save-now = Save now: the job ends at { $time }, and iteration { $step } is the last one that can be saved in time.
alarm-nan-passed = { $count ->
    [one] One loss is not a number, at iteration { $step }; from iteration { $later } on the losses are finite again.
   *[other] { $count } losses are not numbers, the first at iteration { $step }; from iteration { $later } on they are finite again.
}
alarm-nan-unread = { $count } lines print a loss that is not a number, the first is line { $line }.
alarm-skipped-steps = { $count } of { $total } optimizer steps ({ $share }) were skipped: their gradients were not finite, so no weight changed.
alarm-skipped-since = Every optimizer step since iteration { $step } was skipped, up to iteration { $last }: no weight changes any more.
alarm-memory-pressure = { $count } lines report that GPU memory is so full that PyTorch frees its cache, which slows iterations down: { $text }
alarm-memory-ran-out = GPU memory ran out, and the program went on: { $text }
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
note-title-eta = Estimated training time: about { $duration }
note-title-eta-none = Estimated training time: not known yet
note-intro = { $count ->
    [one] One slow iteration was found in { $lines } log lines.
   *[other] { $count } slow iterations were found in { $lines } log lines.
  }
note-intro-none = No slow iteration was found in { $lines } log lines.
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

## Commands

eta-line = { $left } · { $finish }
formats-title = { $name } — { $title }
formats-clock = Its time covers: { $covers }; this includes: { $includes }.
formats-lines = Lines it recognises:
formats-try-none = No known format matches this file.
formats-try-claimed = { $name }: { $count } of { $lines } lines matched, { $steps } of them iterations
demo-intro = The reference case: nanoGPT on an RTX 4070 at 02:30. To reproduce: { $command }
written = written: { $path }
doc-in-english = These pages are in English only.
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
error-folder-without-log = this folder holds no training log, only { $count ->
    [one] { $names }
   *[other] { $count } other files: { $names }
  }
    .hint = pass the log itself, or record a run: stepscope run -- python train.py
error-folder-empty = this folder holds no file to read
    .hint = pass the log itself, or record a run: stepscope run -- python train.py
error-empty = the file is empty
    .hint = is the trainer’s output buffered? Run python with -u, and try again once it has printed something
error-binary = not a text file
    .hint = pass what the trainer printed, for example: python -u train.py | tee train.log
error-broken-archive = the compressed file cannot be unpacked: { $reason }
    .hint = unpack it by hand to see what is left: zcat { $place } | stepscope -
error-broken-database = the database cannot be read: { $reason }
    .hint = copy it with sqlite3 { $place } .recover, or export the metrics as CSV
error-no-metrics-table = the database has no table named metrics: it is not MLflow’s
    .hint = pass the log of the training, or export its metrics as CSV or JSON lines
error-not-a-training-log = no known format matches this file, and it is not structured like a training log
    .hint = stepscope formats try { $path } --suggest     shows how far each format gets and how to teach a new one
error-nvidia-smi-table = this is the output of nvidia-smi, not a training log
    .hint = stepscope train.log --nvidia-smi { $path }     explains a log with it
error-no-format-fits = no known format matches this file; lines like this one may be iterations, but which number is the iteration or the time is unclear
    .hint = stepscope formats try { $path } --suggest     shows how far each format gets and how to teach a new one
error-no-such-config = no such config file
    .hint = --config takes the file the run was started with, for example config/train_gpt2.py
error-config-is-folder = the config is a folder
    .hint = pass the file itself
error-config-too-large = too large for a config file
    .hint = is this the log? stepscope { $place }
error-config-not-text = the config is not a text file
    .hint = --config takes nanoGPT’s config.py, JSON or TOML
error-config-syntax = the config cannot be parsed: { $reason }
    .hint = fix it, or state what matters instead: --set max_iters=20000 --set eval_interval=500
error-config-too-deep = the config is nested more than { $limit } levels deep
    .hint = state what matters instead: --set max_iters=20000 --set eval_interval=500
error-config-too-many-values = the config holds more than { $limit } values once its aliases are expanded
    .hint = state what matters instead: --set max_iters=20000 --set eval_interval=500
error-not-nvidia-smi = not an nvidia-smi table
    .hint = nvidia-smi > nvidia-smi.txt
error-nvidia-smi-too-large = this pipe delivered more than { $size }
    .hint = save a single reading: nvidia-smi > smi.txt
error-bad-setting = --set takes key=value
    .hint = for example: --set eval_interval=500
error-unknown-setting = unknown setting
    .hint = { $nearest ->
        [none] choose from: { $known }
       *[other] did you mean { $nearest }?
      }
error-bad-count = { $setting } must be a whole number of at least 1
    .hint = for example: --set { $setting }=500
error-bad-max-steps = --max-steps takes a whole number of at least 1
    .hint = for example: --max-steps 20000
error-bad-moment = not a valid time: { $text }
    .hint = for example: --now 02:30, --now "2026-11-15 02:30", --now 1794768092
error-bad-confidence = --confidence must be between 0.5 and 0.99
    .hint = for example: --confidence 0.9
error-bad-language = unknown language: { $text }
    .hint = { $nearest ->
        [none] choose from: { $known }
       *[other] did you mean { $nearest }?
      }
error-bad-choice = { $flag } cannot be { $text }
    .hint = { $nearest ->
        [none] choose from: { $known }
       *[other] did you mean { $nearest }?
      }
error-no-such-command = unknown command
    .hint = { $nearest ->
        [none] choose from: { $known }
       *[other] did you mean { $nearest }?
      }
error-unknown-flag = unknown option: { $flag }
    .hint = { $nearest ->
        [none] { $command } --help     lists the options
       *[other] did you mean { $nearest }?
      }
error-unknown-command = neither a command nor a file
    .hint = did you mean: stepscope { $nearest }
error-too-many-arguments = too many arguments for { $command }
    .hint = { $command } --help     shows the usage
error-wrong-usage = { $reason }
    .hint = { $command } --help     shows the usage
error-missing-argument = an argument is missing: { $missing }
    .hint = { $command } --help     shows the usage
error-missing-value = { $flag } needs a value
    .hint = { $command } --help     shows the usage
error-languages-need-folder = several languages need several files
    .hint = pass a folder for them: -o notes/
error-no-such-format = unknown format
    .hint = { $nearest ->
        [none] stepscope formats     lists them
       *[other] did you mean { $nearest }?
      }
error-no-such-code = unknown code
    .hint = choose from: { $known }
error-cannot-write = cannot write: { $reason }
    .hint = choose another place with -o
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
plan-row-tokens = tokens per second
plan-row-utilisation = MFU of this GPU
plan-row-evaluation = one evaluation
plan-row-checkpoint = one checkpoint
plan-row-total = whole run
plan-row-finish = done at
plan-row-energy = energy
plan-row-cost = cost
plan-fits = { $used } of { $total }
plan-fits-barely = { $used } of { $total }, tight
plan-fits-not = { $used } of { $total }, too much
plan-fits-nothing = { $gpu }: not even one sequence fits in its memory. Use a smaller model or context.
plan-calibrating = measuring this machine …
plan-note-calibrated = Measured here ({ $gpu }): { $tflops } TFLOPS, { $bandwidth } GB/s memory, { $disk } MB/s disk.
plan-note-defaults = Not stated, using the trainer’s defaults: { $names }.
plan-note-derived = The model size is not stated. { $duration } for { $tokens } tokens on { $gpu } fits { $low } to { $high } parameters; the table uses a value in between. For exact figures, state it: --params, or n_layer and n_embd in the config.
plan-note-derived-memory = The model size is not stated. { $duration } for { $tokens } tokens on { $gpu } and the memory in use fit { $low } to { $high } parameters; the table uses a value in between. For exact figures, state it: --params, or n_layer and n_embd in the config.
error-unknown-card = unknown GPU
    .hint = for example: { $known }
error-plan-needs-card = which GPU?
    .hint = name it: --gpu 4070, or several: --gpu 4070,4080,4090; or measure this machine: --calibrate
error-plan-needs-model = which model?
    .hint = --config config/train_gpt2.py, or --params 124M, or --layers 12 --hidden 768
error-plan-shape-missing = the config lacks what determines the model size: { $names }
    .hint = add them with --set, or state the size: --params 7B
error-plan-bad-shape = no model has this shape
    .hint = for example: --layers 12 --hidden 768 --context 1024 --vocab 50304
error-bad-parameters = not a valid number of parameters
    .hint = for example: --params 124M
error-bad-devices = --devices takes a whole number of at least 1
    .hint = for example: --devices 8
error-bad-price = not a valid price
    .hint = for example: --price 0.40/h or --price 0.30/kWh
error-plan-from-needs-card = which GPU wrote this log?
    .hint = --from-gpu 4070, or a saved table: --nvidia-smi nvidia-smi.txt
error-plan-needs-context = how long is a sequence in tokens? The log does not say
    .hint = for example: --context 1024
error-plan-log-untimed = this log has no timed normal iteration to calibrate with
    .hint = plan without it, or try again when it has a few more lines
error-plan-not-derived = no model of a usual shape takes this long on that GPU: are the GPU and the batch size right?
    .hint = state the model: --params 124M
## Several trainings, several writers
alarm-trainings = The log holds { $count } trainings, one after the other. This report covers the last one, from line { $line } on; the time of the others is in the ledger.
alarm-writers = { $count ->
    [one] Two processes write to this log. One iteration of the other process is left out.
   *[other] Two processes write to this log. { $count } iterations of the other process are left out.
  }
alarm-straggler = Rank { $rank } is slower than the others by { $share }: { $own } per iteration instead of { $others }. All ranks wait for it.
alarm-straggler-host = Rank { $rank } on { $host } is slower than the others by { $share }: { $own } per iteration instead of { $others }. All ranks wait for it.

## More advice, and what a change would do

advice-a102-costs-seen = The standard error of the validation loss grows from { $before } to { $after }; the loss still drops by { $gain } between evaluations, so the trend stays clear.
advice-a102-costs-unseen = The standard error of the validation loss grows from { $before } to { $after }; the loss drops by only { $gain } between evaluations, so a single evaluation no longer shows it.
advice-a105-costs = The curve is smoother, but it is offset by a constant of about { $offset }; run one large evaluation at the end. Requires editing the evaluation: the same seed for its batches each time.
advice-a105-costs-unknown = The curve is smoother, but it has a constant offset; run one large evaluation at the end. Requires editing the evaluation: the same seed for its batches each time.
advice-a105-evidence = Each evaluation draws { $count } new batches. With the same batches each time, differences are 4 to 7.6 times less noisy at the same cost, so { $fewer } of them are enough to show the trend.
advice-a107-costs = A code change only: each rank evaluates its share of the same batches, and the losses are averaged.
advice-a107-evidence = One of { $count } ranks evaluates while the others wait.
advice-a108-costs = A crash can cost up to { $duration } of work.
advice-a108-evidence = A checkpoint stalls training for { $duration }; with a crash every { $between }, Daly’s rule gives { $best } as the best interval.
advice-a109-costs = Host memory for one copy of the state, and slightly slower iterations while it is written.
advice-a109-evidence = Checkpoints stall training for { $share } of the time.
advice-a111-costs = Memory held by reference cycles is freed only when you run the collector, every few thousand iterations.
advice-a111-evidence = Garbage collection takes { $share } of the time.
advice-a112-costs = Host memory and CPU time for the workers.
advice-a112-evidence = Waiting for data takes { $share } of the time.
advice-a113-costs = The same tokens per iteration: batch_size { $batch } × gradient_accumulation_steps { $accumulation }. Results differ only by rounding. If you run out of memory, revert.
advice-a113-evidence = Only { $share } of the GPU memory is in use.
advice-a114-costs = float16 needs loss scaling, which nanoGPT, Hugging Face and Lightning do themselves; the losses differ slightly.
advice-a114-evidence = { $gpu } has no bfloat16 in hardware: it is emulated at about a tenth of the speed.
advise-paste = type: { $paste }
advise-keeps = Does not change what the model learns.
advise-changes = Changes what the model learns.
section-whatif = What this would change
whatif-change = { $setting }: { $now } → { $then }
whatif-saves = Saves { $duration } ({ $span }).
whatif-costs = Costs { $duration } more ({ $span }).
whatif-same = Does not change the time.
whatif-left = { $duration } left instead of { $before } ({ $span } at { $confidence })
whatif-run = A run like this one takes { $duration } instead of { $before }.
whatif-precision = The standard error of the validation loss changes from { $before } to { $after }.
whatif-unknown = This log cannot tell what { $names } would do to the time.
error-bad-change = --change takes key=value
    .hint = for example: --change eval_interval=1000
error-bad-change-value = { $setting } is a whole number of at least 1
    .hint = for example: --change { $setting }=500

## The GPU

card-mfu = { $gpu }: { $share } of its { $peak } TFLOPS (MFU against this GPU’s own peak).
card-normal = That is normal for this GPU: a model of this size should take { $span }.
card-slow = That is slow for this GPU: a model of this size should take { $span }.
card-fast = That is faster than expected: a model of this size should take { $span }.
alarm-hang = A rank stopped responding and the others gave up: { $text }
alarm-hang-after = A rank stopped responding, and after { $duration } the others gave up: { $text }
alarm-false-done = Line { $line } says that training is done, but the last iteration is { $step } of { $total }.
alarm-false-done-empty = { $count ->
    [one] Line { $line } says that training is done, but that launch crashed before its first iteration.
   *[other] Line { $line } and { $count } lines like it in all say that training is done, but those launches crashed before their first iteration.
  }

## The trainer

train-loading = Starting PyTorch and preparing the data …
train-progress = iteration { $iteration } of { $last }, { $left } left
train-doing-evaluation = iteration { $iteration } of { $last }: evaluating …
train-doing-checkpoint = iteration { $iteration } of { $last }: copying the checkpoint to memory …
train-doing-compile = compiling …
train-doing-sampling = { $last } iterations done: writing a sample …
train-doing-waiting = waiting until the last checkpoint is on disk …
train-opening-what = A small GPT learns Python from the standard library, in a few minutes.
train-opening-when = { $iterations } iterations on { $device }; every { $interval } an evaluation and a checkpoint in { $folder }.
train-opening-end = At the end: what it writes by then and where the time went. Ctrl-C saves it.
train-sample-before = What it writes before it has learned anything:
train-sample = What it writes after { $iteration } iterations:
train-ledger = Where the { $wall } went ({ $iterations } iterations):
train-phase-data = fetching data
train-phase-forward = forward
train-phase-backward = backward
train-phase-optimizer = optimizer
train-phase-device = waiting for the device
train-phase-evaluation_train = evaluation, training split
train-phase-evaluation_val = evaluation, validation split
train-phase-checkpoint_staging = checkpoint: copying to memory
train-phase-checkpoint_waiting = checkpoint: waiting for the writer
train-phase-logging = logging
train-phase-gc = garbage collection
train-phase-compile = compiling
train-phase-startup = start-up
train-phase-sampling = sampling
train-phase-other = other
train-saves = { $count ->
    [one] One checkpoint of { $size } MB, written in { $written } in the background; training stalled for { $stalled }.
   *[other] { $count } checkpoints of { $size } MB each, written in { $written } in the background; training stalled for { $stalled }.
  }
train-saved-wait = Waiting for the disk would have cost { $saved } more.
train-interference = Iterations during a write took { $ratio } times as long as the others.
train-more = Checkpoint and logs are in { $folder }. What next:
train-stopped = { $signal }: stopped before iteration { $iteration } and saved. To resume: { $command }
train-no-wandb = wandb_log is on, but wandb is not installed (pip install wandb). Training continues; its figures are in steps.jsonl in the folder of the run.
train-no-tensorboard = tensorboard is on, but TensorBoard is not installed (pip install tensorboard). Training continues; its figures are in steps.jsonl in the folder of the run.
train-no-tracker = { $name } could not be started ({ $reason }). Training continues without it.
train-kept = The logs and the best checkpoint of the earlier run in this folder are now in { $folder }.
train-unknown-setting = { $setting } in { $path } is not a setting of this trainer and has no effect.
train-bf16-crashes = bfloat16 crashes on this CPU (tested in a child process): training in float32.
train-bf16-faster = bfloat16 takes { $ratio } of the time of float32 on this CPU (tested in a child process): training in it; --dtype=float32 for full precision.
train-bf16-slower = bfloat16 takes { $ratio } times as long as float32 on this CPU (tested in a child process): training in float32.
train-cuda-only = { $dtype } works on CUDA only: training in float32 on { $device }.
train-staging = Checkpoints keep a copy of { $size } GB in host memory, so that training does not wait for the disk (--staging=False waits and keeps no copy).
train-staging-tight = Checkpoints keep a copy of { $size } GB in host memory, and only { $left } GB are free. With --staging=False there is no copy, and training waits for the disk.
train-broken-checkpoint = The checkpoint is incomplete, trying the previous one: { $path } ({ $reason }).
train-from-checkpoint = { $setting } is { $value } in the checkpoint, which takes precedence over { $asked }.
train-other-batches = The batches differ from the checkpoint’s (sizes, evaluation or number of processes): the data order starts over.
train-save-failed = ALARM: the checkpoint of iteration { $iteration } was not written: { $reason }. Training continues; the previous checkpoint is intact.
data-ready = { $folder }: { $train } tokens to train on, { $val } to validate
data-use = To use it: { $command }
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
selftest-checkpoint = { $differing } tensors differ from the moment of the checkpoint; longest stall { $stall } s
selftest-resume = { $differing } of { $steps } losses and { $tensors } tensors differ from the uninterrupted run
selftest-sample = { $tokens } tokens, the same twice
selftest-muon = singular values of an update from { $least } to { $most } in { $dtype }
selftest-processes = two processes over { $backend }: losses differ from one process by { $worst }
selftest-shard = two processes with slices over { $backend }: losses differ from one process by { $worst }
export-done = { $path }: { $size } MB, before iteration { $iteration }
error-train-no-slices = no sharded checkpoint here
    .hint = train --shard=True writes one as a folder of that name; ckpt.pt needs no export
error-train-no-torch = training needs PyTorch
    .hint = { $install }
error-train-setting-type = { $setting } needs a value of type { $wanted }
    .hint = for example: --{ $setting }=… with a { $wanted }, as in nanoGPT
error-train-choice = invalid value for { $setting }
    .hint = choose from: { $known }
error-train-range = { $setting } is out of range
    .hint = the minimum is { $least }; dropout, beta1 and beta2 must be below 1
error-train-heads = n_embd must be a multiple of n_head
    .hint = for example: --n_embd=384 --n_head=6
error-train-odd-head = rotary positions need heads of even width (n_embd / n_head)
    .hint = for example: --n_embd=384 --n_head=6, or --recipe=nanogpt
error-train-gpt2-recipe = GPT-2’s weights fit GPT-2’s network only
    .hint = --recipe=nanogpt
error-train-unknown-character = { $character } does not occur in the corpus
    .hint = start with characters that the network has seen
error-train-not-saved = training is over, but its last checkpoint (iteration { $iteration }) was not written: { $reason }
    .hint = { $saved ->
        [0] there is no checkpoint: make room, then train again
       *[other] the newest complete checkpoint is that of iteration { $saved }: make room, then continue from it with --init_from=resume
      }
error-train-bad-meta = meta.pkl is not one of nanoGPT’s: { $reason }
    .hint = create it again: stepscope data prepare FILE
error-train-no-data = no dataset of that name
    .hint = create it with stepscope data prepare FILE --out data/{ $name }, or pass a folder with train.bin and val.bin: --dataset=DIR
error-train-short-data = { $tokens } tokens are too few for sequences of { $block_size }, or the file does not hold 16-bit tokens
    .hint = use more text, or a smaller --block_size
error-train-unreadable = cannot be read: { $reason }
    .hint = check the name and its permissions
error-train-vocabulary = token { $token } does not fit a vocabulary of { $vocab_size }
    .hint = the data do not belong to this checkpoint or meta.pkl: pass the right --dataset, or start with --init_from=scratch
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
    .hint = pass its folder with --out_dir, or start with --init_from=scratch
error-train-no-whole-checkpoint = no complete checkpoint: { $reason }
    .hint = start with --init_from=scratch, or copy a complete one there
error-train-bad-checkpoint = the checkpoint does not fit: { $reason }
    .hint = it must come from this trainer or from nanoGPT’s train.py
error-train-block-size = the loaded network reads { $block_size } tokens at most
    .hint = --block_size={ $block_size } or less
error-train-accumulation = { $processes } processes cannot share this number of micro-batches evenly
    .hint = make gradient_accumulation_steps a multiple of { $processes }
error-train-memory = out of memory
    .hint = --batch_size={ $batch_size } --gradient_accumulation_steps={ $accumulation } trains on the same tokens with less memory; or a smaller block_size, n_layer or n_embd
error-train-rank-lost = another process of the run is gone: { $reason }
    .hint = check its output, then restart all of them with --init_from=resume
error-selftest-alone = --selftest takes no settings but --device
    .hint = stepscope train --selftest --device=cuda
error-train-compile = torch.compile failed: { $reason }
    .hint = --compile=False trains without it
error-train-nan = the loss is { $value } at iteration { $iteration }: stopped
    .hint = try a lower learning_rate or a longer warmup_iters; ckpt.pt, if there is one, is from before and good: --init_from=resume
error-sample-no-meta = the characters of this network are in meta.pkl of its data folder, which is not here
    .hint = run it where the training ran: in the folder that has data/{ $name }
error-train-locked = another trainer is using this folder (process { $process })
    .hint = give each run a folder of its own: --out_dir=DIR
error-train-misspelt = there is no setting { $setting }
    .hint = did you mean { $meant }?
error-train-out-dir = cannot write there: { $reason }
    .hint = choose another folder
error-train-device = no such device
    .hint = --device=cpu, cuda, cuda:1 or mps
error-train-no-device = PyTorch finds no { $name } device here
    .hint = --device=cpu --compile=False
error-train-config-expression = the value of { $setting } is known only after running the file, and config files are read, not run
    .hint = write the value itself, or remove the line and pass it as an option: --{ $setting }=…
error-data-too-many-characters = { $count } different characters are too many for 16-bit tokens
    .hint = --tokens gpt2
error-data-empty = there is no text in it
    .hint = name a file with text; a .jsonl file holds one document per line under "text"
error-data-not-text = not a text in UTF-8
    .hint = convert it first, for example with iconv
error-data-bad-record = not a JSON record with a "text"
    .hint = one document per line, under the key text
error-data-no-download = the download failed: { $reason }
    .hint = get the file another way and pass it: stepscope data prepare shakespeare input.txt
error-data-openwebtext = OpenWebText is 54 GB and is not downloaded here
    .hint = export it as .jsonl with a "text" per line and pass the files: stepscope data prepare openwebtext part-*.jsonl

## Live

live-now = now
live-left = end
live-steps = iterations
live-time = time
live-loss = loss
live-waiting = waiting for the first lines ({ $duration })
live-warmup = starting up (compiling, { $duration }); forecast follows
live-training = training, last line { $duration } ago
live-evaluation = evaluating for { $duration }
live-checkpoint = saving for { $duration }
live-stalled = no output for { $duration }: stalled?
live-closing = all iterations are done; the process is still running
live-finished = finished
live-ended = ended
live-usual = (usually { $duration })
alarm-stall = No output for { $duration } (usually { $usual }, limit { $limit }). Look at the process: stepscope attach PID
run-kept = Saved to { $folder }. Full report: stepscope { $folder }
run-kept-partly = Saved to { $folder }, except { $count ->
    [one] one byte
   *[other] { $count } bytes
  } of output that the disk did not take. Full report: stepscope { $folder }
alarm-disk = The log can no longer be written to { $folder }: { $reason }. The command continues, and its output is shown here to the end.
alarm-recording-gone = { $folder } was removed: the recording is lost. The command continues, and its output is shown here to the end.
error-run-not-started = the command could not be started
    .hint = the log next to it gives the reason
error-run-no-code = the command has ended, but its exit code is unknown: the processes that watched it were killed
    .hint = the log ends with its last output: stepscope { $place }
error-run-what = no command to run
    .hint = for example: stepscope run -- python train.py
error-needs-posix = this works on Linux and macOS only
    .hint = stepscope watch train.log     follows a log on any system
error-needs-extra = this needs the extra { $extra }
    .hint = { $install }
error-bad-address = not a valid address for notifications
    .hint = for example: --notify mailto://user:pass@example.org
error-bad-interval = --interval takes seconds, from 0.05 to 3600
    .hint = for example: --interval 2
error-watch-one-log = one log at a time
    .hint = watch the newest part of the run
live-place = in { $place }
attach-log = its log: { $path }
attach-no-stack = The stack cannot be seen ({ $reason }). Run as the same user, or allow it: sudo sysctl kernel.yama.ptrace_scope=0
error-no-such-process = no such process
    .hint = pgrep -af python     lists the running ones
error-process-not-ours = this process belongs to another user
    .hint = run as that user: sudo -u USER stepscope attach { $place }
error-process-without-log = this process prints to a terminal or a pipe, not to a file
    .hint = pass its log: stepscope attach { $pid } --log train.log; or start it with: stepscope run -- CMD
error-bad-speed = --speed takes a number above 0
    .hint = for example: --speed 50
error-replay-file = only a file can be replayed
    .hint = save it first: cat > train.log
## Causes

cause-accumulation = accumulation
cause-announced = announced work
cause-async-checkpoint = asynchronous checkpoint
cause-attention = slow kernels
cause-denormals = denormal numbers
cause-heat = heat
cause-interruption = interruption
cause-leak = growing cost
cause-length = longer batch
cause-logging = logging
cause-memory = memory full
cause-neighbour = another program
cause-optimizer = periodic optimizer work
cause-power = power limit
cause-profiler = profiler
cause-recompile = recompilation
cause-schedule = schedule
cause-straggler = slow rank
cause-c01-evidence = it includes an evaluation of { $duration }
cause-c01-rest = the evaluation’s line reports { $duration }; every evaluation here takes { $rest } more
cause-c01-beside = it is next to an evaluation’s line, like most evaluations here: { $duration } longer
cause-c01-period = it recurs at the evaluation interval, every { $every } iterations ({ $count } times), though no line says so
cause-c02-evidence = it includes a checkpoint of { $duration }
cause-c02-period = it recurs at the checkpoint interval, every { $every } iterations ({ $count } times), though no line says so
cause-c03-evidence = it comes right after a checkpoint, and { $share } of the { $count } checkpoints are followed by slow iterations
cause-c04-evidence = among the first iterations of the process: { $duration } of compilation and first use of the GPU
cause-c05-evidence = the first evaluation took { $own }, the { $count } later ones { $others }
cause-c05-level = the change begins right after the first evaluation, before iteration { $step }
cause-c06-partial = the last iteration of an epoch of { $count }: a partial batch has a different shape
cause-c06-fading = one of { $count } slow iterations that become rarer, { $share } of them in the first quarter: new shapes appear less and less often
cause-c06-level = the change begins with a single very slow iteration, { $step } ({ $duration } longer)
cause-c08-printed = a line reports a garbage collection of { $duration }
cause-c08-evidence = { $count } iterations are slow by about the same { $duration } (± { $share }) at no fixed interval, which is typical of Python’s garbage collector
cause-c09-twins = slow iterations recur every { $first } and every { $second } iterations, two interleaved rhythms: the ranks reach the end of a data shard one step apart
cause-c09-tokens = every { $every } iterations: a shard of { $shard } tokens at { $tokens } per iteration
cause-c09-evidence = every { $every } iterations, not a whole number, { $count } times: typical of data shards that end
cause-c09-whole = every { $every } iterations: possibly the end of a data shard
cause-c10-evidence = exactly every { $every } iterations, always about { $duration } longer: scheduled work of the optimizer
cause-c11-workers = the distance between slow iterations equals the number of loader workers, { $count }
cause-c11-evidence = every { $every } iterations, by varying amounts (± { $share }): typical of as many loader workers that cannot keep up
cause-c12-evidence = the first iteration of an epoch of { $steps }; { $share } of the { $count } epochs begin slowly
cause-c12-period = at the edge of every epoch of { $steps } iterations ({ $count } times): loader workers restart
cause-c13-evidence = iterations became { $share } faster early in the run ({ $done } of it) and stayed so, typical of data that is cached after the first read
cause-c14-evidence = a file was fetched during it and took { $own } to respond; the { $count } others take { $usual }
cause-c16-more = { $count } allocation retries in its window, { $usual } in a typical one
cause-c16-usual = { $count } allocation retries in its window, but { $usual } in the others too: they slow down every window, not just this one
cause-c17-full = { $change } slower, suddenly and permanently, with { $share } of the GPU memory in use: pages may move to the host
cause-c17-evidence = { $change } slower, suddenly and permanently: on Windows or WSL, full GPU memory causes this
cause-c18-evidence = { $change } slower, rising and then settling: typical of a GPU that reaches its operating temperature
cause-c18-follows = { $change } slower, and evaluations by the same factor: all computation slowed down
cause-c19-pinned = the GPU draws { $share } of its power limit
cause-c19-evidence = { $change } slower and steady: consistent with a power or clock limit
cause-c20-window = { $change } slower with sharp edges, and later back at the earlier level: another job probably shared the machine for a while
cause-c20-back = { $share } faster, back at an earlier level: another program on the machine has probably ended
cause-c20-evidence = { $change } slower, suddenly: another program may have started on the GPU or the host
cause-c20-burst = one of { $count } slow iterations of varying length within { $steps } lines: the machine may be shared
cause-c21-evidence = the slowest rank took { $slowest }, the fastest { $fastest }: the others waited for it
cause-c22-evidence = a single pause of { $duration } among iterations of { $level }: suspended, blocked or hung
cause-c24-evidence = every { $every } iterations, a multiple of the log interval of { $interval }, in a run with short iterations
cause-c25-memory = { $count } micro-steps of { $batch } sequences per iteration, with { $share } of the GPU memory in use: a larger batch and fewer micro-steps would fit
cause-c25-small = { $count } micro-steps of { $batch } sequences per iteration for a model of { $parameters } parameters on one GPU: is that meant for eight?
cause-c26-attention = the header warns of slow attention: every iteration runs without a fused kernel
cause-c26-dtype = the run computes in 32-bit floats: the GPU’s tensor cores are idle
cause-c27-evidence = it had { $factor } times the usual work, and time follows work in this run (correlation { $tied })
cause-c27-level = the work per iteration changed by a factor of { $factor } at the same time
cause-c28-evidence = the first iteration after a resume at { $step }: loading, compiling and skipping took { $duration }
cause-c29-evidence = a steady rise of { $change } over the run that does not level off, typical of something that grows with every iteration
cause-c30-evidence = a rise on the CPU: numbers near zero may have become denormal
cause-c32-evidence = a line before it reports a profiler trace
cause-c33-evidence = the first iteration after an evaluation; { $share } of the { $count } evaluations have one like it
cause-c33-period = the iteration after an evaluation is slow { $count } times, although this log’s clock excludes evaluations
cause-c34-evidence = a change of { $change } over the run with hardly any noise (± { $noise }): more likely planned than grown
cause-c35-evidence = the log reports that it waited { $duration } for its data
cause-c35-figure = it waited { $own } per iteration for its data, usually { $usual }
cause-c35-level = the wait for data changed at the same time, from { $before } to { $after } per iteration: { $share } of the change
cause-c36-evidence = it follows a line that precedes { $count } iterations, { $hits } of them slow
cause-c36-evaluation = evaluations after such a line take { $own }, the others { $others } ({ $count } of them)
level-slower = Iterations are { $share } slower since number { $step } ({ $duration }).
level-faster = Iterations are { $share } faster since number { $step } ({ $duration }).
level-candidate = Best explanation: { $cause } ({ $code }, { $confidence } sure): { $evidence }.
level-others = Also possible: { $others }.
level-none = Nothing in the log explains it.
candidate-short = { $cause } ({ $code }, { $confidence })
slow-rhythm = Every { $every } iterations, one takes { $duration } longer ({ $count } times so far): { $cause } ({ $code }).
slow-rhythm-maybe = Every { $every } iterations, one takes { $duration } longer ({ $count } times so far); nothing settles why. Best guess: { $candidate }.
slow-rhythm-unknown = Every { $every } iterations, one takes { $duration } longer ({ $count } times so far); nothing explains it.
finding-line = The whole run: { $evidence } ({ $code }).
settle-stamps = Timestamps on the lines would distinguish a pause of the machine from a slow iteration: { $command }
settle-data = Printing how long each iteration waits for its batch would show whether the data was late.
settle-gpu = nvidia-smi while it happens (passed here with --nvidia-smi FILE) would show heat, power, memory and other programs.
settle-gc = Calling gc.disable() after the first iteration would show whether it is garbage collection: the slow iterations would disappear.
settle-ranks = The same log from every rank would show which one the others waited for.
settle-events = { $count } slow iterations take equally long, but their interval cannot be determined yet: that needs about { $enough } of them.
why-title = Iteration { $step }
why-took = It took { $duration }; a normal iteration nearby takes { $level }.
why-window = Its line covers { $count } iterations: { $duration } in total, { $mean } each; a normal one nearby takes { $level }.
why-normal = That is normal: 90% take { $span }.
why-raised = That is longer than its neighbours, but not enough to count as slow.
why-made-of = Made of: { $parts }.
why-cause = Cause: { $cause } ({ $code }, { $confidence } sure): { $evidence }.
why-unexplained = Unexplained: nothing in this log is strong enough evidence for the extra { $duration }.
why-lines = Evidence in the log:
why-considered = Also considered:
why-candidate = { $code } { $cause }, { $confidence }: { $evidence }
why-turned-down = Ruled out:
why-not-marker = no line before it reports an evaluation, a checkpoint, a garbage collection or a wait
why-not-first = it is not among the first iterations of its process
why-not-period = it does not recur at a fixed interval
why-not-epoch = it is not at the edge of an epoch
why-not-data = the printed wait for data is normal there
why-not-work = it had no more work than others
why-not-save = there is no checkpoint shortly before it
why-not-pause = it is too short for a suspended machine
why-periodic = It recurs every { $every } iterations, { $count } times in this log.
why-neighbours = Around it: { $items }.
why-neighbour = { $step }: { $duration }
why-settle = To find out:
why-unprinted = Iteration { $step } has no line of its own. The nearest ones:
why-unprinted-normal = Iterations that are not printed are taken to be normal: { $level } each.
why-inside = Iteration { $step } is one of those covered by the line of iteration { $line_step }.
why-no-time = The line of iteration { $step } has no time.
why-page = Details: stepscope doc { $code }
error-no-such-step = the log has no iteration { $step }
    .hint = it goes from { $first } to { $last }
error-bad-step = an iteration number must be a whole number
    .hint = for example: stepscope why train.log 500
alarm-files-order = { $by ->
    [stamps] The files were read in the order of their timestamps: { $paths }
   *[other] The files were read in the order of their iterations: { $paths }
  }
alarm-files-repeated = { $count ->
    [one] This file has the same lines as another one and was left out: { $paths }
   *[other] These files have the same lines as others and were left out: { $paths }
  }
## Logs of no known format

section-inferred = How this log was read
inferred-intro = No known format matches this log, so it was read by its structure ({ $confidence } sure):
inferred-item = { $text } ({ $confidence } sure)
inferred-teach = To correct it: stepscope formats try { $path } --suggest > my.toml, edit my.toml, and pass --format-file my.toml
infer-step = “{ $text }” is read as the iteration: a whole number that grows from line to line.
infer-step-epoch = “{ $epoch }” is read as the epoch and “{ $batch }” as the iteration within it: it restarts with every epoch.
infer-step-is-epoch = “{ $text }” is read as the iteration: it counts the epochs.
infer-step-word = “{ $text }” is read as the iteration.
infer-time-mean = “{ $text }” is read as an average since the first iteration, in { $unit }: it falls from line to line while its sum grows, so single iterations are computed from it.
infer-time-none = No number in these lines was recognised as a time.
infer-time-stamps = The times are the differences between the timestamps of the lines.
infer-time-of-all = Nothing but { $total } for the whole is printed: every iteration is given the mean of it, with all that came between.
infer-time-step = “{ $text }” is read as the time of one iteration, in { $unit }.
infer-time-total = “{ $text }” is read as the time of all iterations since the previous line, in { $unit }.
infer-time-clock = “{ $text }” is read as a clock that runs on from line to line, in { $unit }.
infer-time-rate = “{ $text }” is read as iterations per second.
infer-time-work = “{ $text }” is read as the work per second, and “{ $amount }” as the work per iteration.
infer-because-stamps = It matches the timestamps.
infer-because-clock = It matches the running clock on the same line.
infer-because-rate = It matches the rate on the same line.
infer-because-left = It matches the time left that the line prints.
infer-because-total = It adds up to the total time that the log states at its end.
infer-because-growth = It grows by the same for each iteration, as a clock does.
infer-because-spacing = Lines that cover more or fewer iterations than the others confirm it.
infer-because-meter = Its mean follows in brackets, as with a meter that is updated at every iteration.
infer-because-amounts = With a shorter unit, the other counts on the line would grow faster than any machine allows.
infer-because-unit = Its unit is printed; nothing else in the log confirms it.
infer-because-name = Its name says so; nothing in the log confirms that it counts seconds.
infer-because-size = It has no unit; for a number of this size, seconds are most likely.
infer-total = “{ $text }” is read as the number of iterations.
infer-batches = “{ $text }” is read as the iterations per epoch.
infer-evaluation = Lines like “{ $text }” are read as evaluations.
infer-checkpoint = Lines like “{ $text }” are read as checkpoints.
infer-step-counted = Lines like “{ $text }” carry no number: each counts as one iteration.
infer-step-bar = The bar “{ $text }” is read as the training’s: its lines are the iterations.
infer-time-bar = The times are those of the clock on the bar, in whole seconds; the rate on it is smoothed and not used.
infer-bars-are-epochs = The bar starts { $count } times; each is read as an epoch.
infer-step-batch = “{ $text }” is read as the batch within an epoch; it restarts { $count } times, and each is read as an epoch.
infer-doubt-interval = “{ $text }” may be the time of one iteration, or of all { $count } since the previous line ({ $each } each). Nothing in the log shows which, so no times were read.
infer-doubt-unit = “{ $text }” has no unit and may be the time of one iteration or of several ({ $count } since the previous line). Nothing in the log shows which, so no times were read.

## Comparing runs

compare-slower = The second run takes { $share } longer: { $before } → { $after } { $unit }.
compare-faster = The second run takes { $share } less time: { $before } → { $after } { $unit }.
compare-same = Both runs take the same time: { $before } { $unit }.
compare-span = { $low } to { $high }
compare-most = { $share } of the difference is { $phase }.
compare-most-offset = Most of the difference is { $phase }; other phases offset part of it.
compare-real = A normal iteration differs by { $low } to { $high } at { $confidence }: more than noise.
compare-noise = A normal iteration differs by { $low } to { $high } at { $confidence }: that may be noise.
compare-even-real = A normal iteration differs by { $change }: more than noise.
compare-even-noise = A normal iteration differs by { $change }: that may be noise.
compare-too-few = Too few normal iterations to distinguish a difference from noise.
compare-unit-steps = per 1,000 iterations
compare-unit-tokens = per million tokens
compare-settings-same = The settings are the same, as far as the logs show.
compare-settings = Settings that differ: { $settings }
compare-no-times = { $path }: no timed iteration to compare.
compare-no-tokens = Not every log gives its tokens: compared by iterations.
error-compare-needs-two = compare takes two logs or more
    .hint = for example: stepscope compare old.log new.log

## The page

page-strip-hint = Drag to zoom in, double-click to see all; a click pins the values, with the link to the line of the log. Once the timeline is chosen: + and − or the wheel zoom, arrow keys move, N and P go from one stop to the next, Home shows all.
page-whatif = What if

## The web app

web-all-runs = all runs
web-compare = Compare
web-no-runs = No training log below this folder.
web-paste = Another log
web-paste-hint = Paste lines of a log here, or drop a file on this page. It stays in memory and is not saved.
web-explain = Explain
serve-hint = Press Ctrl-C to stop. The link contains your access token.
error-serve-needs-token = access from other machines needs a token of your own
    .hint = for example: openssl rand -hex 16 > token.txt, then --host 0.0.0.0 --token-file token.txt
error-bad-token = not a valid token
    .hint = one word of letters and digits, for example: openssl rand -hex 16 > token.txt
error-bad-allow-host = not a valid host name or address
    .hint = for example: --allow-host logs.example.com or --allow-host localhost:9000
error-bad-port = not a valid port
    .hint = for example: --port 8000
error-cannot-listen = cannot listen there: { $reason }
    .hint = choose another port, or none for a free one
alarm-unexplained = Between iterations { $before } and { $step }, { $duration } passed without an explanation in the log.
clocks-differ = The timestamps cover { $stamps }, the printed times { $printed }: { $rest } are missing from the printed times.
## Formats that a user teaches

formats-words = A line is checked if it contains one of: { $words }.
formats-try-gave-up = gave up at line { $line }, column { $column }:
formats-try-others = { $count ->
    [one] One more format matches no line.
   *[other] { $count } more formats match no line.
  }
formats-try-account = { $name }: { $share } of the evidence, { $steps } iterations, { $seconds }, { $unread } lines left over
formats-try-behind = { $steps ->
    [one] { $name }: { $share } of the evidence, one line of an iteration; not tried further
   *[other] { $name }: { $share } of the evidence, { $steps } lines of iterations; not tried further
  }
formats-try-read-as = Read as { $name }: { $steps } iterations.
suggest-what = A format file for Stepscope, made from the structure of { $path }.
suggest-where = Save it in { $folder }, or pass it: stepscope { $path } --format-file FILE
suggest-groups = Named groups are values: step or epoch and batch, total, loss; a time is dur_s, dur_ms, elapsed_s, elapsed_clock, it_per_s, …
suggest-total = clock.covers is step, window (a mean), cumulative or stamp; figure_is_total = true when the time is that of all iterations since the previous line.
suggest-none = Nothing in this file counts iterations: the file below is a template to fill in.
error-suggest-needs-file = --suggest needs try and a file
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
error-format-key-unknown = unknown key { $field }
    .hint = choose from: { $known }
error-format-key-type = { $field } has a value of the wrong type
    .hint = expected: { $wanted }
error-format-bad-value = { $field } cannot be { $value }
    .hint = one of: { $known }
error-format-bad-pattern = the pattern is not a valid regular expression: { $reason }
    .hint = a literal special character needs a backslash: \[ \( \. \|
error-format-slow-pattern = the pattern can match some lines in too many ways and may never finish
    .hint = limit one of the repetitions, for example { $example } instead of + or *, or separate them: \S+ \S+ rather than .+ .+
error-format-unknown-group = unknown value { $group }
    .hint = choose from: { $known }
error-format-sample-missed = the pattern fails at column { $column } of its sample: { $text }
    .hint = change the pattern, or the sample
error-format-no-step = no line is of kind step
    .hint = one [[lines]] needs kind = 'step' and a pattern with (?P<step>\d+)
error-broken-plugin = the format { $name } of another package cannot be loaded: { $reason }
    .hint = repair or remove that package

## Seen from inside

inside-line = Measured inside the process: { $items }.
inside-evaluation = { $count } × evaluation { $duration }
inside-checkpoint = { $count } × saving a checkpoint { $duration }
inside-data = { $count } × waiting for data { $duration } (longest { $longest })
inside-gc = { $count } × garbage collection { $duration } (longest { $longest })
inside-compile = { $count } × compilation { $duration }
inside-optimizer = { $count } × optimizer step { $duration }
inside-retry = { $count } × memory allocation retried
inside-step = { $count } × iteration { $duration } (longest { $longest })
inside-fetch = { $count } × loading a batch { $duration } (longest { $longest })
inside-logging = { $count } × logging { $duration }
inside-other = { $count } × { $kind } { $duration } (longest { $longest })
## Forecast

assume-like = { $count ->
    [one] The rest follows a previous run of the same program, { $path }, at this run’s pace.
   *[other] The rest follows { $count } previous runs of the same program, such as { $path }, at this run’s pace.
}
assume-passes = The current slowdown is recent: it is assumed to last about as long again.
finish-ask = Check again after iteration { $step }, in about { $duration }.
finish-ask-step = Check again after iteration { $step }.
deadline-chance = Done by { $time }: { $share } likely.
deadline-sure = Done by { $time }: almost certainly.
deadline-hardly = Done by { $time }: hardly possible.
error-bad-deadline = not a valid time: { $text }
    .hint = for example: --deadline 08:00, --deadline 2025-11-15T08:00, or Unix seconds
error-like-format = the log is from another trainer: { $its }, not { $own }
    .hint = --like needs a complete log of the same program
error-like-short = that run ends at iteration { $last }, before the { $total } of this one
    .hint = --like needs a complete log of the same program

advice-a106-costs = The same sequences in { $batches } batches of { $size }. Requires editing the evaluation.
advice-a106-evidence = An evaluation runs { $batches } batches of { $size }, and the GPU has memory to spare for larger ones.
advice-a110-costs = Disk space for the cache.
advice-a110-evidence = The run was started { $count } times; warm-up took { $duration } in total.
advice-a115-costs = The loss is printed only every { $count } iterations.
advice-a115-evidence = Every iteration of { $duration } waits until its loss has been fetched and printed.
advice-a116-costs = A newer PyTorch; results differ only by rounding.
advice-a116-evidence = The trainer reports at start-up that attention is not fused.

## Page, app and other tools

error-binary-to-terminal = a { $name } file cannot be shown in a terminal
    .hint = write it to a file: -o report.{ $name }
## Advice: precision, assumptions, checkpoints and disk

precision-same = The standard error of the validation loss stays { $error }.
precision-same-seen = The standard error of the validation loss stays { $error }; between evaluations the loss drops by about { $gain }, so the trend stays clear.
precision-same-unseen = The standard error of the validation loss stays { $error }; between evaluations the loss drops by about { $gain }, too little for a single evaluation to show.
advise-rounding = Same training, apart from rounding.
advise-draws = Same training, apart from different random batches.
advise-assumed = Assumed, from published cases: { $cases }
change-frees = { $change }: frees { $size } GB of disk
change-together = All of them together save about { $duration }: { $after } instead of { $before }.
change-eval-interval = evaluate every { $proposed } iterations instead of every { $now }
change-checkpoint-interval = save every { $proposed } iterations instead of every { $now }
change-log-interval = print every { $proposed } iterations instead of every { $now }
change-eval-iters = { $proposed } batches per evaluation instead of { $now }
change-none-few = Nothing worth changing: evaluation and checkpoints take { $share } of the time, but there are already too few to drop any.
change-none-seen = Nothing worth changing: the log shows no evaluations and no other avoidable cost.
change-no-steps = No advice: no iteration times could be read.
advice-a101-costs-seen = Evaluations happen { $factor ->
    [2] half as often
   *[other] { $factor } times less often
  }.
advice-a102-costs-flat = The standard error of the validation loss grows from { $before } to { $after }. The loss no longer drops between evaluations: more batches would not show progress either.
advice-a104-change = save only when the validation loss improves
advice-a105-change = the same evaluation batches each time, { $proposed } instead of { $now }
advice-a105-precision = The error of a difference between two evaluations changes from { $before } to { $after } or less.
advice-a106-costs-plain = The same sequences in batches of { $size }. If you run out of memory, revert.
advice-a106-evidence-plain = Evaluations run in batches of { $size }, and the GPU has memory to spare for larger ones.
advice-a106-change = evaluation batches of { $proposed } instead of { $now }
advice-a106-assumed = batches 2 to 10 times as large took 0.84 to 1.12 times as long on a CPU; a GPU that waits between kernels gains up to a third.
advice-a107-change = evaluate on all { $count } ranks instead of one
advice-a107-assumed = on four GPUs, an evaluating iteration went from 20.5 to 8.7 s (nanoGPT’s issue 673).
advice-a108-costs-shorter = More checkpoints; in exchange, a crash costs at most { $duration } of work.
advice-a108-evidence-accepted = A checkpoint stalls training for { $duration }. With a crash every { $between }, Daly’s rule gives { $best } as the best interval; you accept losing { $accepted }.
advice-a109-change = save checkpoints asynchronously
advice-a109-assumed = 27.3 s became 0.54 s for an 8B model on eight H100 (NeMo Automodel’s issue 635); on a CPU, 16% of the stall remained.
advice-a110-change = keep the compile cache between starts
advice-a110-assumed = with a warm cache, nanoGPT’s first iteration took 2.3 s instead of 26 s on a CPU; loading and first use remain.
advice-a111-change = run the garbage collector by hand, every few thousand iterations
advice-a112-change = { $count } persistent loader workers with prefetch
advice-a112-change-prefetch = read the next shard ahead, in a thread
advice-a112-assumed = a wait of 0.217 s per iteration became 0.003 s with more workers; if the disk or the network is slow, nothing changes.
advice-a113-assumed = nothing on a GPU that is already busy, up to a tenth on one that waits between kernels; stepscope plan computes it for a given model.
advice-a114-assumed = a V100 multiplies matrices at 9.9 TFLOPS in bfloat16 and at 100 and more in float16 (public tables).
advice-a115-assumed = nanoGPT’s line takes 0.3 ms on a CPU, nothing if the loop waits for the GPU anyway, and some milliseconds with a metrics client.
advice-a116-change = fused attention
advice-a116-assumed = GPT-2 on an A100 went from 130 to 96 ms per iteration; short contexts gain less, long ones more.
advice-a117-change = fused AdamW
advice-a117-costs = No extra memory; sums are rounded in a different order. Requires PyTorch 2.0 on CUDA, 2.4 on a CPU.
advice-a117-evidence = The trainer reports at start-up that its optimizer is not fused.
advice-a117-assumed = 3% for GPT-2 on an A100 (93 to 90 ms), 0 to 8% for small models on a CPU.
advice-a118-change = keep the last { $count } checkpoints
advice-a118-costs = You can go back only to the last { $count }; copy elsewhere what you want to keep.
advice-a118-evidence = { $count } checkpoints of about { $each } GB each, and this trainer keeps them all: { $total } GB at the end.
advice-a122-change = stop at the best validation loss (iteration { $step })
advice-a122-change-now = stop now: the validation loss was best at iteration { $step }
advice-a122-costs = You use the checkpoint of the best iteration, not the last one; save one whenever the validation loss improves.
advice-a122-evidence = The validation loss was lowest at iteration { $step } ({ $loss }); the { $count } evaluations after it are worse.
safety-now = Between two checkpoints (every { $interval } iterations), up to { $stake } of work is at risk.
safety-within = That is within the { $accepted } that you accept losing.
safety-beyond = You accept losing { $accepted }: save a checkpoint at least every { $needed } iterations.
safety-best = With a stall of { $stall } per checkpoint and the restarts so far, Daly’s rule loses least with a checkpoint every { $best } iterations.
disk-one = This trainer overwrites it each time.
disk-all = This trainer keeps them all: { $count } by the end, { $total } GB.
error-bad-may-lose = --may-lose takes a duration
    .hint = for example: --may-lose 10min, 90s or 1h30m
error-change-twice = { $setting } is changed twice
    .hint = pass one value for it
error-unknown-change = unknown setting
    .hint = did you mean { $known }?

disk-each = A checkpoint takes about { $each } GB on disk.
disk-some = This trainer keeps the last { $count }: { $total } GB.

error-bad-change-switch = { $setting } is True or False
    .hint = for example: --change { $setting }=False

whatif-past = The run is already at iteration { $step }, past { $total }: it would be finished.

## The GPU

card-size-unknown = Is { $duration } normal on the { $gpu }? For a model of { $low } to { $high } M parameters, yes. The log does not give the model size; add it for a verdict: --set parameters=124M.
page-zoom-in = Zoom in
page-zoom-out = Zoom out
page-zoom-left = Move left
page-zoom-right = Move right
page-zoom-all = Show all
page-normal = normal iteration
page-level = level of normal iterations
page-tip = Iteration { $step }: { $took }
page-validation = validation loss
page-fan = Iterations over time: so far, forecast, and earlier forecasts
page-fan-past = so far
page-fan-ahead = forecast
page-fan-earlier = earlier forecasts
section-backtest = Earlier forecasts, checked
backtest-column-at = after
backtest-column-said = forecast
backtest-column-range = range
backtest-column-took = actual
backtest-column-off = off by
backtest-at = { $share }, iteration { $step }
backtest-summary = { $count ->
    [one] The forecast of the time to iteration { $step }, recomputed from the log as it was then. Actual times within the range: { $held } of 1.
   *[other] Forecasts of the time to iteration { $step }, recomputed from the log as it was then. Actual times within the range: { $held } of { $count }.
}
page-tokens-rate = tokens per second, evaluations and checkpoints included
page-steps-rate = iterations per second, evaluations and checkpoints included
page-gpu = GPU
page-gpu-load = utilisation
page-gpu-memory = memory
page-gpu-power = power
page-gpu-temperature = temperature
cards-line = { $gpu }, { $count } samples: { $items }.
cards-load = { $share } busy on average
cards-memory = at most { $used } of { $total } GiB
cards-power = { $mean } W on average, at most { $most } W
cards-temperature = up to { $degrees } °C
page-whatif-left = { $duration } left{ $range }
page-whatif-done = done at { $time }
page-whatif-less = { $duration } less than now
page-whatif-more = { $duration } more than now
page-whatif-evaluations = evaluations left: { $number }
page-whatif-error = validation loss ± { $error }
## What the card says while it runs
## What the GPU reports while it runs

gpu-power-of = { $power } of { $limit } W
gpu-clock = { $clock } MHz
gpu-clock-of = { $clock } of { $most } MHz
gpu-held = slowed down by { $reasons }
gpu-others = { $count ->
    [one] another process on it: { $names }
   *[other] { $count } other processes on it: { $names }
}
throttle-power_cap = its power limit
throttle-thermal = heat
throttle-hw_slowdown = hardware protection
throttle-power_brake = the power supply
throttle-sync_boost = the slowest GPU of its group
live-gpu = GPU
alarm-near-oom = { $used } of { $total } GiB of GPU memory are in use: the run is close to running out of memory. A smaller batch with more accumulation needs less.
alarm-slowdown-thermal = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } since then. The GPU lowers its clocks because it is too hot: check its fans, dust and airflow.
alarm-slowdown-power = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } since then. The GPU is at its power limit: see nvidia-smi -q -d POWER.
alarm-slowdown-neighbour = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } since then. Another process is on the GPU: nvidia-smi shows which.
alarm-slowdown-memory = Iterations are { $share } slower since iteration { $step }: { $before } before, { $after } since then. The GPU memory is full, and what does not fit may move to the host: a smaller batch helps.
alarm-finished = The run is finished: iteration { $step }.
notify-failed = { $count ->
    [one] One message could not be sent; check the address of --notify.
   *[other] { $count } messages could not be sent; check the address of --notify.
}
live-log = log
live-next = next
live-advice = advice
live-next-evaluation = evaluation at iteration { $step }, in { $duration }
live-chart-steps = time per iteration
live-chart-loss = loss { $loss }
live-chart-losses = loss { $loss } · ● validation { $val }
live-gpu-load = GPU load
live-gpu-memory = GPU memory

## The plan, GPU by GPU

plan-title-asked = As it is set
plan-title-proposed = Recommended settings
plan-now = now
plan-row-evaluations = evaluations
plan-row-saved = saved
plan-keeps = The same tokens per iteration: the same training, apart from rounding and random batches. Fewer evaluation batches make the validation loss less precise. --write FOLDER writes a config file for each GPU.
plan-keeps-not = The same tokens per iteration, but float16 where the GPU has no bfloat16, which changes the training slightly. --write FOLDER writes a config file for each GPU.
plan-note-from = Calibrated with the log: { $duration } per iteration on { $gpu }.

plan-row-sequences = sequences per evaluation
plan-memory-other = other, as measured
plan-model-derived = { $low } to { $high } M parameters, estimated; counted with { $parameters }: { $layers } layers × { $hidden }, context { $context }, vocabulary { $vocabulary }

## Advice: compiling, types, shards

change-scope-rest-one = Savings over the rest of this run.
change-scope-run-one = Savings over a run like this one.
disk-each-span = A checkpoint takes about { $each } GB on disk ({ $low } to { $high }).
advice-a112-costs-prefetch = Host memory for one more shard.
advice-a112-assumed-prefetch = modded-nanogpt reads the next shard in a thread since its record 33; before that, each boundary took 160 to 200 ms.
advice-a119-costs = The first iteration takes about { $duration } longer. Try it for a hundred iterations: a small model may gain nothing.
advice-a119-evidence = According to the settings, the model is not compiled.
advice-a119-assumed = GPT-2 on an A100 went from 250 to 135 ms per iteration (nanoGPT’s README); a small model on an RTX 3080 from 44 to 48.
advice-a120-change = constant shapes: drop the partial batch, or pad it
advice-a120-costs = The sequences of the partial batch are not trained on, or padding costs compute.
advice-a120-evidence = { $count } iterations of { $duration } in total look like recompilations, { $share } of the time.
advice-a121-costs = Mixed precision: the weights stay in float32, products are rounded to 16 bits; the losses differ slightly.
advice-a121-evidence = { $gpu } multiplies 16-bit numbers many times faster than 32-bit ones, and this run uses float32.
advice-a121-assumed = GPT-2 on an A100 took 1,000 ms per iteration in float32, 333 with TF32, 300 with bfloat16.
inside-skipped = Not instrumented, because this version does not support it: { $names }.
split-trace = Evaluation and checkpoint were timed inside the process.
compare-title = Runs side by side
compare-section-each = Cost of one
compare-section-why = What explains the difference: { $first } → { $other }
compare-section-settings = Settings that differ
compare-row-typical = normal iteration
compare-row-evaluation-each = one evaluation
compare-row-checkpoint-each = one checkpoint
compare-row-warmup = warm-up in total
compare-row-stall = unexplained in total
compare-row-wall = the whole log
web-runs = The runs below this folder
web-choose = Compare
web-failed = No answer from the server: is it still running?

change-eval-epochs = evaluate every { $proposed } epochs (now: { $now })

error-plan-from-impossible = { $gpu } cannot be that fast: with this model, the log’s iterations would reach { $share } of its peak
    .hint = check --params, --context, --from-gpu, and batch_size and gradient_accumulation_steps

advice-a108-costs-unseen = A crash can cost up to { $duration } of work. There has been none yet; one per week is assumed.

warning-unknown-card = warning: unknown GPU { $name }, so nothing can be said about its peak; known ones are for example { $known }: stepscope doc cards lists all
warning-no-effect = warning: { $flag } has no effect on a live view
error-too-large-inside = this file unpacks to more than { $size }
    .hint = unpack it and keep the part you need: zcat file.gz | head -c 100M > part.log

## How sure the reading is

section-reading = Was this log read correctly?
reading-doubt = This reading is in doubt ({ $confidence } sure): check it before you rely on a figure below.
reading-doubt-below = The largest cost below may be a misread time.
reading-item = { $text } [{ $code }]
reading-settle = To find out: stepscope formats try { $path } shows how each format reads this log; --format-file FILE reads it with another one, --set key=value states what it does not say.
reading-agrees = Reading: { $text }
reading-eta-doubt = in doubt: this log may have been misread. { $text }
audit-clocks-none = Only one clock: nothing else in the log confirms its times.
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
audit-unread-times-none = No unread lines repeatedly contain times.
audit-unread-times = { $count ->
    [one] A line that Stepscope does not read may contain a time or a loss: “{ $text }” (line { $line }).
   *[other] { $count } lines that Stepscope does not read may contain a time or a loss: “{ $text }” (from line { $line }).
  }
audit-evaluations-booked = The evaluations are accounted for.
audit-evaluations-unread = { $count ->
    [one] A line looks like an evaluation that is not accounted for: “{ $text }” (line { $line }).
   *[other] { $count } lines look like evaluations that are not accounted for: “{ $text }” (from line { $line }).
  }
audit-evaluations-unpriced = { $count ->
    [one] An evaluation was seen, but nothing shows what it cost.
   *[other] { $count } evaluations were seen, but nothing shows what they cost.
  }
audit-evaluations-none = No line looks like an evaluation.
audit-end-short = According to the log the run is over, but the last iteration read is { $step } of { $total }.
audit-end-unread = Line { $line } may mean that the run is over: “{ $text }”.
audit-end-known = The log shows how the run ended, and its last iteration fits.
audit-end-none = No unread line mentions an end.
audit-step-none = Iterations were read, but they give no normal time per iteration.
audit-step-plausible = { $duration } per iteration is plausible.
audit-step-odd = Iterations of { $duration }, or times this uneven, are unusual for a training.
audit-step-mean = The printed iterations take { $duration }, but the log’s own mean of all iterations is { $mean }.
audit-step-clock = The printed times grow by { $each } with every iteration, starting from zero: they may come from a clock that is never reset. An iteration then takes { $each }, not { $duration }.
audit-total-none = There is no total to compare.
audit-total-negative = The total of { $duration } contradicts its parts.
audit-total-explained = { $share } of the time is accounted for.
audit-total-unexplained = Nothing in the log explains { $share } of the time ({ $duration }).
audit-total-gap = For { $share } of the time ({ $duration }) nothing ran, unless timestamps were misread.
audit-counter-short = Too few iterations to see whether they count evenly.
audit-counter-regular = The iterations count evenly.
audit-clock-none = The log has no timestamps that could go back.
audit-clock-runs-on = The timestamps never go back.
audit-clock-negative = The progress bar’s clock is negative at line { $line }: the machine’s clock was set back while the log was written. Iterations from there on are not counted.
audit-clock-set = { $count ->
    [one] The clock was set back once while the log was written (line { $line }, by { $by }); the time that passed there is assumed.
   *[other] The clock was set back { $count } times while the log was written (most at line { $line }, by { $by }); the time that passed there is assumed.
}
audit-counter-again = { $count ->
    [one] The count restarts from its beginning once: the total covers both launches, although only the last one may be meant.
   *[other] The count restarts from its beginning { $count } times: the total covers all launches, although only the last one may be meant.
}
audit-counter-epochs = The count runs to the same end in { $count } trainings: each may be an epoch of one.
audit-counter-jumps = { $count ->
    [0] The iterations do not count evenly.
    [one] The iterations do not count evenly, or start over (once).
   *[other] The iterations do not count evenly, or start over ({ $count } times).
  }
audit-lines-none = There are no lines to count.
audit-lines-many = { $share } of the lines are read.
audit-lines-few = Only { $share } of the lines are read.
audit-format-known = The format is known: { $format }.
audit-format-inferred = The format is unknown; the meaning of the lines was inferred from their structure ({ $confidence } sure).
audit-formats-none = No other format was tried.
audit-formats-one = No format other than { $format } fits nearly as well.
audit-formats-close = Two formats fit about as well: { $format } explains { $share } of the log, { $other } { $rest }.
audit-trained-none = No iterations were read.
audit-trained = Losses, evaluations or checkpoints accompany the iterations.
audit-trained-named = The iterations print results of a training, such as “{ $text }”.
audit-trained-unknown = Nothing shows that this is a training: no loss, no evaluation, no checkpoint.
reason-no-steps-unread = no timed iteration was read. Lines like “{ $text }” (line { $line }) may contain it; Stepscope does not read them.
reason-no-steps-over = no timed iteration was read, and the log shows that the run has ended: no more will come.
reason-no-times-unread = iterations were read, but not their times. Lines like “{ $text }” (line { $line }) may contain them; Stepscope does not read them.
reason-no-total-unread = the total number of iterations was not read. Lines like “{ $text }” (line { $line }) may contain it; Stepscope does not read them. Pass --max-steps N, or --config with the run’s settings.
change-none-seen-unread = Nothing worth changing in what was read: no evaluation is accounted for. Lines like “{ $text }” (line { $line }) may contain one; Stepscope does not read them.
alarm-ended-early-unread = The run ended after iteration { $step }; the planned number was not read. Lines like “{ $text }” (line { $line }) may contain it; Stepscope does not read them.

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
finding-unlogged = The log does not account for { $seconds }, { $share } of the time.
finding-slower = Iterations { $first } to { $last } took { $level } instead of { $normal }: that cost { $seconds }, { $share } of the time.
finding-repeated = { $count ->
    [one] One iteration was done twice after a restart: { $seconds } of training, { $share } of the time.
   *[other] { $count } iterations were done twice after restarts: { $seconds } of training, { $share } of the time.
  }
finding-after-best = The validation loss was lowest at iteration { $step } ({ $loss }). The { $seconds } after it, { $share } of the time, made the model worse.

## The answer in three lines

summary-running = Running: { $where }
summary-finished = Finished: { $where }
summary-stopped = Stopped without a message: { $where }
summary-unknown = Perhaps still running: { $where }
summary-crashed = Crashed after { $wall }: { $where }
summary-crashed-early = Crashed before the first iteration
summary-crashed-unread = Crashed; no iteration was recognised
summary-crashed-untimed = Crashed: { $where }
summary-out_of_memory = Out of memory after { $wall }: { $where }
summary-out_of_memory-early = Out of memory before the first iteration
summary-out_of_memory-unread = Out of memory; no iteration was recognised
summary-out_of_memory-untimed = Out of memory: { $where }
summary-interrupted = Interrupted after { $wall }: { $where }
summary-interrupted-early = Interrupted before the first iteration
summary-interrupted-unread = Interrupted; no iteration was recognised
summary-interrupted-untimed = Interrupted: { $where }
summary-killed = Killed after { $wall }: { $where }
summary-killed-early = Killed before the first iteration
summary-killed-unread = Killed; no iteration was recognised
summary-killed-untimed = Killed: { $where }
summary-cause = Line { $line }: { $text }
summary-memory = Tried to allocate { $asked } with { $free } of { $total } free (line { $line })
summary-smaller = Halve the batch size and double the gradient accumulation: same training
summary-smaller-batch = Try batch size { $batch_size } × accumulation { $accumulation }: the same tokens per iteration
summary-lost = { $count ->
    [0] Nothing is lost: the last checkpoint is of the last iteration, { $step }
    [one] Lost: one iteration ({ $seconds }) since the last checkpoint, at { $step }
   *[other] Lost: { $count } iterations ({ $seconds }) since the last checkpoint, at { $step }
  }
summary-lost-all = The log shows no checkpoint: without one, all { $wall } are lost
summary-for-times = To get times, start it with: stepscope run -- python train.py
summary-for-trace = To have its iterations measured from inside, start it with: stepscope run --trace -- python train.py
summary-teach = To see or teach what these lines mean: stepscope formats try LOG --suggest
summary-nothing-lost = No training time is lost: no iteration was done
summary-left = { $left } left{ $range }
summary-left-done = { $left } left{ $range }, done at { $time }
summary-left-if = { $left } left{ $range } if it goes on
summary-left-default = { $left } left{ $range } if it runs the trainer’s default of { $count } iterations
summary-left-done-default = { $left } left{ $range }, done at { $time }, if it runs the trainer’s default of { $count } iterations
summary-resumed = Ran { $wall }; { $left } left{ $range } if resumed
summary-took = Took { $wall }
summary-took-each = Took { $wall }, { $level } per iteration
summary-ran = Ran { $wall }
summary-ran-each = Ran { $wall }, { $level } per iteration
summary-doubt = { $each } or { $one } per iteration: “{ $text }” may time { $count } of them or one
summary-doubt-unit = “{ $text }” has no unit, and may time { $count } iterations or one
summary-no-times = The log prints no times: no duration and no finish time
summary-no-steps = No timed iteration yet: no duration and no finish time
summary-only-evaluations = { $count ->
    [one] One evaluation took { $seconds }; no iteration is timed
   *[other] { $count } evaluations took { $low } to { $high } each, { $seconds } in all; no iteration is timed
}
summary-so-far-no-total = { $wall } so far; to know the finish time, pass --max-steps N
summary-so-far-no-end = { $wall } so far; no finish time yet
summary-each-no-total = { $wall } so far, { $level } per iteration; finish time needs --max-steps N
summary-each-no-end = { $wall } so far, { $level } per iteration; no finish time yet
summary-unlogged = Biggest cost: { $seconds } ({ $share }) that the log does not account for
summary-healthy = Nothing to fix: { $share } of the time is training
summary-healthy-part = Nothing to fix in what the log times; not timed: { $stops }
summary-healthy-inside = Nothing to fix in what the log times; within training: { $stops }
summary-few = Too few lines to say what costs time
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
cost-slower = Biggest cost: slower iterations { $first }–{ $last }, { $seconds } ({ $share } of the time)
cost-repeated = { $count ->
    [one] Biggest cost: one iteration done twice after a restart, { $seconds } ({ $share })
   *[other] Biggest cost: { $count } iterations done twice after restarts, { $seconds } ({ $share })
  }
cost-after-best = Biggest cost: { $seconds } ({ $share }) after the best validation loss (iteration { $step })

## One screen

slow-group-times = { $where } ({ $count }×)
slow-group-some = { $count } iterations
section-slow-lines = Slow lines ({ $count } iterations each)
section-change-next = What to change next time
change-savings-rest = savings over the rest of this run
change-savings-run = savings on a run like this
finish-would = would have been done at { $time } ({ $low } – { $high })
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
screen-inferred = Unknown format, read by its structure ({ $confidence } sure): stepscope formats try { $path } --suggest
## Fleets

fleet-listing = { $found } logs found so far
fleet-progress = { $done } of { $total } · { $rate } per second · { $left } left
fleet-scanned = { $runs ->
    [one] One run read, { $failed } not understood; folders and logs unchanged: { $known } of { $found }.
   *[other] { $runs } runs read, { $failed } not understood; folders and logs unchanged: { $known } of { $found }.
  }
fleet-unreadable-folder = warning: the folder { $path } cannot be listed
error-bad-workers = --workers is a whole number from 1 to 4095
    .hint = for example: --workers 8
error-fleet-needs-place = nothing to scan
    .hint = name folders, logs or buckets: stepscope fleet scan /logs/slurm --store fleet/
error-fleet-store-busy = another scan is writing this store
    .hint = wait for it, or use another --store
error-fleet-too-slow = reading took more than { $minutes } minutes
    .hint = try it alone: stepscope { $place }
error-bucket-without-name = no bucket is named
    .hint = for example: s3://logs/runs
error-no-bucket = there is no such bucket
    .hint = check its name and, for another service than the provider's own, AWS_ENDPOINT_URL
error-no-such-object = nothing is there
    .hint = check the key: a prefix ends where a folder would
error-bucket-no-credentials = no credentials for this bucket
    .hint = set them as for the provider's own tools, or AWS_SKIP_SIGNATURE=true for a public bucket
error-bucket-refused = these credentials may not read this
    .hint = listing and reading must be allowed
error-bucket-unreachable = the bucket cannot be read: { $reason }
    .hint = check the endpoint, the region and the network
error-bucket-unsorted = this bucket lists its keys in no order
    .hint = S3 directory buckets do so: copy the logs into a general purpose one, or scan them from a disk
error-bad-engine = not an engine
    .hint = for example: --engine pool, --engine ray://head:10001, --engine dask://scheduler:8786
error-engine-unreachable = no connection to the cluster: { $reason }
    .hint = check its address, and that it runs
error-worker-without-us = a worker cannot import Stepscope: { $reason }
    .hint = install the same version on the workers, with the extra fleet
fleet-watching = { $count } followed · { $stalled } stalled · { $ended } ended · { $alarms } alarms
fleet-not-followed = warning: { $path } is not followed: { $reason }
error-fleet-without-sources = this store does not know where its logs are
    .hint = scan them first: stepscope fleet scan /logs/slurm --store { $place }

## The run page

state-name-running = Running
state-name-finished = Finished
state-name-crashed = Crashed
state-name-out_of_memory = Out of memory
state-name-interrupted = Interrupted
state-name-killed = Killed
state-name-stopped = Stopped
state-name-unknown = State unknown
page-last-line = last line
page-export = Export
page-export-summary = Copy the summary
page-export-json = Save the data (JSON)
page-export-link = Copy a link to this view
page-export-print = Print
page-export-more = More formats, from a terminal:
page-copy = Copy
page-copied = Copied
page-card-do = What to do
page-card-done = Done at
page-card-left = Time left
page-card-left-if = Time left, if it goes on
page-card-took = Took
page-card-progress = Progress
page-card-speed = Speed
page-card-overhead = Overhead
page-ended-at = ended at { $time }
page-elapsed = { $duration } so far
page-no-total = total unknown
page-iterations = { $count ->
    [one] iteration
   *[other] iterations
}
page-per-iteration = per iteration
page-speed-range = { $share } take { $span }
page-speed-tokens = { $tokens } tokens/s
page-overhead-none = all of it is training
section-findings = What cost time
page-why = Why, and what it costs
page-more-advice = Also worth changing
page-more-changes = { $count ->
    [one] One more way
   *[other] { $count } more ways
}
page-timeline = Timeline
page-lane-level = time per iteration
page-lane-stops = slow iterations and stops, in their parts
page-unprinted = not printed (1 in { $count } is)
page-training-loss = training loss
page-best = best: { $loss } at { $step }
page-tip-window = Iterations { $first }–{ $last } ({ $count }): { $took } each
page-strip-hint-touch = Tap for values; the buttons above zoom and move.
page-tabs = Details
page-tab-forecast = Forecast
page-tab-ranks = Ranks
page-tab-log = Log
page-column-count = count
page-column-each = each
page-column-extra = extra
page-column-cause = cause
page-column-rank = rank
page-column-host = host
page-column-format = format
page-slow-groups = By kind
page-slow-each = One by one
page-window = { $first }–{ $last } ({ $count } iterations)
page-fan-changed = what if
page-reset = Reset
page-copy-flags = Copy as flags
page-ranks-hint = Each row is a rank, each column a stretch of the run. The colour is its time per iteration against the median of all ranks there.
page-log-hint = Lines that the figures come from, as far as they can be quoted: slow iterations, evaluations, checkpoints, remarks, the end, lines that were not understood, and iterations in between. The number on the right leads to the timeline.
page-log-whole = All { $count } lines of the log; the number on the right leads to the iteration in the timeline.
page-log-find = Find
page-sure = Confidence in this reading
page-candidates = Formats that were tried
page-verdict-agrees = agrees
page-verdict-disagrees = disagrees
page-verdict-cannot-tell = cannot tell
page-card-lost = What is lost
page-card-so-far = So far
page-more-alarms = { $count } more
page-show = Show in the timeline
page-best-loss = best validation loss { $loss } at { $step }
page-window-mark = mean of the iterations that one line covers
page-tokens-per-s = tokens/s
page-steps-per-s = iterations/s
error-theme-without-picture = --theme is for pictures
    .hint = add --format png or --format svg
# The runs of a folder
runs-title = { $count } runs in { $path }, newest first
runs-column-run = run
runs-column-state = state
runs-column-done = done
runs-column-time = time
runs-column-lost = lost
runs-column-cost = mostly to
runs-state-running = running
runs-state-finished = finished
runs-state-stopped = stopped
runs-state-unknown = running?
runs-state-crashed = crashed
runs-state-out_of_memory = out of memory
runs-state-interrupted = interrupted
runs-state-killed = killed
runs-left = { $left } left
runs-cost-after-best = past its best
runs-cost-slower = slow stretch
runs-cost-repeated = work done twice
runs-too-large = too large for this list
runs-open = Open one: { $command }
runs-one-of = { $folder } holds { $count } runs; this is { $path }. All of them: stepscope { $folder }
runs-more = { $count ->
    [one] One more file, older, was not looked at. For all runs: stepscope serve { $path }
   *[other] { $count } more files, older, were not looked at. For all runs: stepscope serve { $path }
}
error-several-runs = this format is for one run, and the folder holds { $count } or more
    .hint = name one of them: stepscope { $path }

# compare --fail-on
gate-passed-same = Passed: no slower.
gate-passed-slower = Passed: { $change } slower, within the limit of { $limit }.
gate-passed-faster = Passed: { $change } faster.
gate-slower = Slower by { $change }{ $span }: more than the limit of { $limit }, and more than noise.
gate-cannot-judge = Cannot judge: { $reason }.
gate-noise = { $change } slower, but that may be noise
gate-unsure = { $path } may be misread
gate-too-few = { $path } has { $count } normal iterations with a time, and { $least } are needed
gate-no-time = the times in { $path } are too coarse to compare
error-bad-fail-on = --fail-on takes a percentage
    .hint = for example: --fail-on 5%
error-bad-baseline = this baseline is damaged ({ $reason })
    .hint = save it again: stepscope compare LOG --save-baseline FILE

# --price
with-amount = { $text } · { $money }
with-money = { $text } · { $money } at { $rate }
with-money-of = { $text } · { $money } at { $rate } × { $count } GPUs
eta-line-left = { $left }
error-price-needs-power = a price per kilowatt-hour needs the power that the GPU draws
    .hint = pass --nvidia-smi FILE, or a price per hour such as --price 2.10/h

# Live: the best model lies long behind
alarm-past-best = The validation loss was lowest at iteration { $step } ({ $loss }), and the { $count } evaluations since are worse; { $share } of the time was spent after it. Stopping now costs nothing: the checkpoint of that iteration is saved.
alarm-past-best-left = The validation loss was lowest at iteration { $step } ({ $loss }), and the { $count } evaluations since are worse; { $share } of the time was spent after it. Stopping now costs nothing and saves { $left }: the checkpoint of that iteration is saved.
alarm-past-best-unsaved = The validation loss was lowest at iteration { $step } ({ $loss }), and the { $count } evaluations since are worse; { $share } of the time was spent after it. More of the same will not help; the log shows no checkpoint of that iteration.
alarm-past-best-unsaved-left = The validation loss was lowest at iteration { $step } ({ $loss }), and the { $count } evaluations since are worse; { $share } of the time was spent after it. Going on for another { $left } will hardly help; the log shows no checkpoint of that iteration.

# The answer in three lines, where a mean is no normal iteration
summary-each-no-total-mean = { $wall } so far, { $level } each on average; finish time needs --max-steps N
summary-each-no-end-mean = { $wall } so far, { $level } per iteration on average; no finish time yet
state-last-written-only = last line: { $at }
error-fleet-bad-pattern = a path pattern names the facts user, project, commit, gpu, hosts, devices, job_id or price in braces, each once
    .hint = see docs/fleet.md, "Facts that logs rarely hold"
error-fleet-bad-facts = not a table of facts
    .hint = a CSV file whose first line names its columns: { $columns }
error-fleet-bad-sacct = not the output of sacct --parsable2
    .hint = for example: sacct --parsable2 --format JobID,User,Account,AllocTRES,NodeList,Start,Timelimit > jobs.txt
fleet-gpu-hours = { $hours } GPU-hours
fleet-run-hours = { $hours } hours
fleet-with-cost = { $hours } (cost { $cost })
fleet-with-money = { $hours } ({ $cost })
fleet-unit-gpu = GPU-hours
fleet-unit-run = hours
fleet-head = { $runs ->
    [one] Goodput { $share }{ $range } of { $amount } in one run.
   *[other] Goodput { $share }{ $range } of { $amount } in { $runs } runs.
  }
fleet-nothing-timed = { $count ->
    [one] One run, and its log holds no times.
   *[other] { $count } runs, and no log holds times.
  }
fleet-rests-on = { $unexplained } of the time shows in no line of a log. Each run counted once, goodput is { $runs }.
fleet-each-once = Each run counted once, goodput is { $runs }.
fleet-lost = Lost: { $amount }, most of it to { $cause }: { $most }.
fleet-first = Fix first: { $what }. That would have saved { $amount }.
fleet-then = Then: { $what }.
fleet-counted = { $count ->
    [one] Of { $of } runs, the one whose number of GPUs is known is counted.
   *[other] Of { $of } runs, the { $count } whose number of GPUs is known are counted.
  }
fleet-fix-regression = look at what changed with { $name }, since when an iteration takes longer
fleet-fix-host = take the host { $name } out of service until it is repaired
fleet-copies = { $count ->
    [one] One log is a copy of another one: their run counts once.
   *[other] { $count } logs are copies of others: each run counts once.
  }
fleet-paused = { $count ->
    [one] One run paused for more than an hour between two starts, for { $amount } in all: not counted, because other jobs may have had its GPUs then.
   *[other] { $count } runs paused for more than an hour between two starts, for { $amount } in all: not counted, because other jobs may have had their GPUs then.
  }
fleet-training = { $count ->
    [one] One run died or restarted: { $share } of its time was left after what was lost to that.
   *[other] { $count } runs died or restarted: { $share } of their time was left after what was lost to that.
  }
fleet-column-cause = cause
fleet-column-cost = cost
fleet-column-share = share
fleet-column-runs = runs
fleet-column-each = mean of runs
fleet-column-host = host
fleet-column-ratio = iteration
fleet-column-slow = slow
fleet-column-crashed = crashed
fleet-column-verdict = verdict
fleet-column-run = run
fleet-column-left = time left
fleet-column-chance = ends in time
fleet-column-alarms = alarms
fleet-column-goodput = goodput
fleet-column-lost = lost
fleet-column-worst = mostly to
fleet-cause-after_best = after the best validation loss
fleet-cause-slower = slower stretches
fleet-cause-lost_work = done twice after restarts
fleet-cause-died_after_checkpoint = crashed after a checkpoint
fleet-cause-died_before_checkpoint = crashed before the first checkpoint
fleet-cause-straggler = waiting for a slow rank
fleet-cause-stall = stalls, cause unknown
fleet-remedy-evaluation = evaluate less often, or on fewer batches
fleet-remedy-checkpoint = save checkpoints less often, or in the background
fleet-remedy-warmup = keep the compile cache from run to run
fleet-remedy-data = load batches with more workers
fleet-remedy-gc = run the garbage collector at fixed iterations only
fleet-remedy-logging = log less often
fleet-remedy-communication = check the network and the placement of the ranks
fleet-remedy-stall = record such a job with stepscope run --trace to see what it waits for
fleet-remedy-gap = restart jobs at once and automatically
fleet-remedy-after_best = stop when the validation loss has risen
fleet-remedy-slower = check heat, clocks and other jobs on these hosts
fleet-remedy-lost_work = save checkpoints more often
fleet-remedy-died_after_checkpoint = save checkpoints more often, and restart jobs that crash
fleet-remedy-died_before_checkpoint = try each job for a few iterations first, and save a checkpoint early
fleet-remedy-straggler = take the slow host out
fleet-back = Back to the fleet
fleet-cause-spread = { $count ->
    [one] in one run; each run counted once, { $share } of the time
   *[other] in { $count } runs; each run counted once, { $share } of the time
}
fleet-would-save = { $what }; would have saved { $amount }
fleet-beyond = Of this, { $amount } bought no precision worth having.
fleet-tradeoff = Fewer checkpoints lose more when a run dies, which has cost { $amount } so far.
fleet-most-in = most in { $run }: { $amount }
fleet-regression-commit = { $config }: since commit { $since } an iteration takes { $share } longer{ $range }: { $before } → { $after }, most of it in { $phase }. { $count ->
    [one] One run since,
   *[other] { $count } runs since,
  } { $amount } more than before.
fleet-regression-day = { $config }: since { $since } an iteration takes { $share } longer{ $range }: { $before } → { $after }, most of it in { $phase }. { $count ->
    [one] One run since,
   *[other] { $count } runs since,
  } { $amount } more than before.
fleet-since-range = { $since } (between { $low } and { $high })
fleet-lemon-slow = lemon: slow
fleet-lemon-crashing = lemon: crashes
fleet-no-lemon = { $count ->
    [one] One host, and it is no slower and crashes no more often than chance explains.
   *[other] { $count } hosts, none slower or crashing more often than chance explains.
  }
fleet-unknown = not known
fleet-by-host = host
fleet-by-user = user
fleet-by-project = project
fleet-by-trainer = trainer
fleet-by-gpu = GPU
fleet-by-commit = commit
fleet-section-causes = Where the time went, costliest first
fleet-section-advice = What to do about it
fleet-section-regressions = What got slower
fleet-section-hosts = Hosts
fleet-section-running = Running when last read ({ $count })
fleet-section-by = Breakdown
fleet-section-missing = What is not known
fleet-unread = { $count ->
    [one] One file was not read: { $reason }
   *[other] { $count } files were not read: { $reason }
  }
fleet-untimed = { $count ->
    [one] One run has no times in its log and is left out.
   *[other] { $count } runs have no times in their logs and are left out.
  }
fleet-without-devices = { $count ->
    [one] One run does not say on how many GPUs it ran: it counts in no GPU-hours.
   *[other] { $count } runs do not say on how many GPUs they ran: they count in no GPU-hours.
  }
fleet-without-price = { $count ->
    [one] One run has no price: it is in no cost.
   *[other] { $count } runs have no price: they are in no cost.
  }
fleet-without-hosts = { $count ->
    [one] One run does not say on which hosts it ran: it is held against no host.
   *[other] { $count } runs do not say on which hosts they ran: they are held against no host.
  }
fleet-without-commit = { $count ->
    [one] One run does not say its commit: changes of its configuration are dated by day.
   *[other] { $count } runs do not say their commits: changes of their configurations are dated by day.
  }
fleet-without-user = { $count ->
    [one] One run without a user.
   *[other] { $count } runs without a user.
  }
fleet-without-project = { $count ->
    [one] One run without a project.
   *[other] { $count } runs without a project.
  }
fleet-without-gpu = { $count ->
    [one] One run without a GPU model.
   *[other] { $count } runs without a GPU model.
  }
fleet-without-config_hash = { $count ->
    [one] One run states no settings: it is compared with no other.
   *[other] { $count } runs state no settings: they are compared with no other.
  }
error-fleet-no-store = there are no runs in this store
    .hint = read some first: stepscope fleet scan /logs/slurm --store { $place }
error-fleet-bad-price = a fleet is priced by the hour of one GPU
    .hint = for example: --price 2.10/h
fleet-filter = Show rows with
fleet-other-causes = other causes
fleet-section-runs = Runs that lost most
fleet-column-state = state
fleet-column-whose = user / project
fleet-state-running = running
fleet-state-finished = finished
fleet-state-crashed = crashed
fleet-state-out_of_memory = out of memory
fleet-state-interrupted = interrupted
fleet-state-killed = killed
fleet-state-stopped = stopped
fleet-state-unknown = unknown

## What the printed time means

clock-step = The printed time is that of one iteration.
clock-window = The printed time is the mean of the iterations since the previous line.
clock-window-sum = The printed time is that of all iterations since the previous line.
clock-cumulative = The log prints a clock that runs on from line to line.
clock-cumulative-mean = The printed time is the mean of all iterations since the first.
clock-stamp = The log prints no time per iteration; the times are the differences between the timestamps of its lines.
clock-arrival = The times are the recorded arrival of each line; the clock that the lines print is coarser.
clock-includes = It includes: { $phases }.
clock-more = More about this format: { $command }

## The note as a post

note-calm = { $count ->
    [one] That jump is normal.
   *[other] Those jumps are normal.
}
note-costly = The slow iterations are planned stops, but they take { $share } of the time.
note-unexplained = { $count ->
    [one] One of { $total } slow iterations is unexplained.
   *[other] { $count } of { $total } slow iterations are unexplained.
}
note-which = { $count ->
    [one] Iteration { $steps } is
   *[other] Iterations { $steps } are
} not slower training: { $trainer } stops there to { $stops ->
    [both] measure the loss and save a checkpoint
    [evaluation] measure the loss
   *[save] save a checkpoint
}, and its timer keeps running.
note-which-many = { $count } of them are not slower training: { $trainer } stops there to { $stops ->
    [both] measure the loss and save a checkpoint
    [evaluation] measure the loss
   *[save] save a checkpoint
}, and its timer keeps running.
note-which-all = None of them is slower training: { $trainer } stops there to { $stops ->
    [both] measure the loss and save a checkpoint
    [evaluation] measure the loss
   *[save] save a checkpoint
}, and its timer keeps running.
note-micro = An iteration is { $accumulation } micro-batches of { $batch } sequences, forward and backward.
note-took = Iteration { $step } took { $duration }: { $parts }.
note-alike = { $count ->
    [one] One more like them took { $span }.
   *[other] { $count } more like them took { $span }.
}
note-every = They come every { $every } iterations.
note-batches = An evaluation runs { $count } batches { $splits ->
    [one] without training on them.
   *[other] on each of { $splits } splits, without training on them.
}
note-section-first = Why iteration { $step } takes { $duration }
note-first = Its warm-up is paid once per start: compilation and first use of the GPU.
note-section-summary = Summary
note-sum-planned = The slow iterations are planned stops, not slow training: evaluations and checkpoints take { $share } of the time.
note-sum-normal = A normal iteration takes { $duration }.
note-at-most = { $phase } at most { $duration }
note-closing = The training should finish at about { $time } ({ $low } – { $high }).

# Keys of the live view
live-keys = q quit · ? help · p pause · + − span · c charts · a advice · l log
live-held = Paused: the run goes on, and alarms are still sent. p goes on.
live-key-quit = q   quit; the run goes on
live-key-pause = p   hold the picture, or let it go on (space does the same)
live-key-log = l   show or hide the last lines of the log
live-key-span = + − show more or fewer iterations
live-key-charts = c   show or hide the charts
live-key-advice = a   show or hide the advice
live-key-help = ?   close this help

# Both ends of the interval in one minute
finish-at-one = done at { $time }
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
app-instead-reason-no-total = the log does not give the total number of iterations. Fill in “Total iterations” above.
app-instead-reason-implausible-total = the stated total of { $total } iterations is implausible: at the current speed they would take another { $left }. Correct “Total iterations” above.
app-instead-reason-no-total-unread = the total number of iterations was not read. Lines like “{ $text }” (line { $line }) may contain it; Stepscope does not read them. Fill in “Total iterations” above.
app-instead-summary-so-far-no-total = { $wall } so far; for the finish time, fill in “Total iterations”
app-instead-summary-each-no-total = { $wall } so far, { $level } per iteration; for the finish time, fill in “Total iterations”
app-instead-error-no-such-file = this run is not below the folder (any more)
    .hint = go back to the list: it shows what there is now
app-instead-error-compare-needs-two = a comparison takes two runs with times or more
    .hint = go back and tick two rows of the list or more
app-left-out = Left out, because their logs have no times: { $names }
error-compare-most = up to eight runs can be compared at once
    .hint = go back and tick fewer
app-instead-page-no-total = total unknown: fill it in above
app-instead-summary-each-no-total-mean = { $wall } so far, { $level } per iteration on average; for the finish time, fill in “Total iterations”
error-bad-fact = “{ $text }” is not a whole number of at least 1
    .hint = go back and write it like 20000 or 124M
