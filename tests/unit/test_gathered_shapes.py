"""Shapes of lines that were first met in logs gathered from public repositories; the logs here are invented."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.analysis.explain import explain
from stepscope.formats._shared.tables import writer
from stepscope.lines.closing import closing_words
from stepscope.lines.match import behind_bar
from stepscope.lines.runtimes import parse_runtime
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read


def run_of(lines):
    reader = LogReader(paths=["a.log"])
    reader.begin_file()
    reader.feed(("\n".join(lines) + "\n").encode())
    reader.end_file()
    return reader.run()


def wave(number):
    """Something that moves a little."""
    return (number * 7 % 11) / 1000


def test_a_message_behind_an_empty_bar_keeps_its_timestamp():
    bar = "Validation: |          | 0/? [00:00<?, ?it/s]"
    lines = [
        f"{bar}[2024-03-0{1 + n // 20} {n % 20:02}:00:{n % 7:02}] INFO   Epoch {n}: loss {2 - n * 0.01:.3f}  v_loss 2.1"
        for n in range(60)
    ]
    run = run_of(lines)
    assert len(run) == 60
    assert explain(run).ledger.step.typical_s == pytest.approx(3600, rel=0.05)


def test_a_bar_that_ends_its_line_has_nothing_behind_it():
    assert behind_bar("Training: |          | 0/? [00:00<?, ?it/s]") is None


def test_rows_of_every_fourth_print_are_no_sample_of_the_images_between():
    head = "================ Training Loss (Mon Mar 11 09:27:59 2019) ================"
    times = [0.05 + (0.04 if n % 4 == 0 else 0) + (3.0 if n % 40 == 0 else 0) + wave(n) / 10 for n in range(1, 241)]
    lines = [f"(epoch: 1, iters: {100 * n}, time: {t:.3f}, data: 0.002) G: 1.2 D: 0.6" for n, t in enumerate(times, 1)]
    ledger = explain(run_of([head, *lines])).ledger
    drawn = sum(t - 0.05 for t in times)
    assert ledger.wall_s == pytest.approx(24_000 * 0.05 + drawn, rel=0.05)


def test_the_time_on_the_line_before_an_evaluation_is_the_evaluations():
    lines = []
    for step in range(0, 2000, 10):
        lines += [f"Timer: {0.5 + wave(step):.4f}", f"epoch:{step // 400} || iter:{step} || Loss:4.1"]
        if step % 400 == 390:
            lines += ["start eval..........", "Timer: 60.0", f"test epoch:{step // 400} || Loss:4.3"]
    ledger = explain(run_of(lines)).ledger
    spent = {phase.phase: phase.seconds for phase in ledger.phases}
    assert spent["evaluation"] == pytest.approx(300, rel=0.01)
    assert ledger.step.typical_s == pytest.approx(0.5, rel=0.05)


def test_names_in_another_script_say_what_a_number_is():
    lines = [
        f"轮次 {n}/50，训练损失：{3 - n * 0.03:.4f}，验证损失：{3.1 - n * 0.02:.4f}，用时：{41 + wave(n) * 50:.1f}秒"
        for n in range(1, 51)
    ]
    run = run_of([*lines, "训练完成，总耗时：2080.0秒"])
    report = explain(run)
    assert report.ledger.step.typical_s == pytest.approx(41.2, rel=0.02)
    assert report.state.value == "finished"
    assert [runtime.seconds for runtime in run.runtimes] == [2080.0]


def test_of_the_times_of_a_record_the_longest_is_the_whole():
    lines = []
    for n in range(1, 41):
        lines += [
            f"Step: {n} | Loss: {1 - n / 100:.4f} | KL: 0.01",
            f"[timing] sample processed in {50 + wave(n):.2f}s",
        ]
        lines += ["Sampling:  40.1s", f"Reward + Adv:  {5 + wave(n):.2f}s", "Backward:  4.9s"]
    assert explain(run_of(lines)).ledger.step.typical_s == pytest.approx(50, rel=0.01)


def test_epochs_of_a_log_little_longer_than_what_is_held_back(tmp_path):
    """The preview of such a file must not count lines twice: the epochs would look like launches."""
    note = "x" * 60
    lines = [
        f"INFO:__main__:Epoch {epoch} | Step {step:4}/3001 | Loss: {1 - wave(step):.4f} | {note} | "
        f"Time: {0.5 + wave(step):.3f}s"
        for epoch in range(2)
        for step in range(0, 3001, 5)
    ]
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    assert 131_072 < path.stat().st_size < 196_608
    run = read(str(path))
    assert int(run.steps.step[-1]) >= 6_000
    assert run.num_trainings == 1


def test_steps_since_the_last_tick_of_a_coarse_clock_are_done_too():
    lines = [
        f" Scenario toy Algo mappo Exp check updates {n}/1000 episodes, "
        f"total num timesteps {300 * (n + 1)}/300000, FPS {39 if n > 400 else 40}."
        for n in range(0, 1000, 5)
    ]
    assert explain(run_of(lines)).ledger.wall_s == pytest.approx(298_800 / 39, rel=0.03)


@pytest.mark.parametrize("first", [0, 1, 10])
def test_a_table_that_begins_above_zero_ends_at_its_total(first):
    rows = "".join(f"{step},500,{step * 2.0},{5 - step * 0.01}\n" for step in range(first, 300, 10))
    lines = list(writer("csv_elapsed")(f"step,total_steps,elapsed,loss\n{rows}".encode()))
    assert f" of {501 if first else 500} " in lines[1]


def test_the_time_of_an_evaluation_is_that_between_its_first_and_its_last_line():
    steps = [
        f"INFO:tensorflow:loss = {1 - wave(n):.4f}, step = {n * 100} ({10 + wave(n):.3f} sec)" for n in range(1, 41)
    ]
    before = ["INFO:tensorflow:Calling model_fn.", "INFO:tensorflow:loss = 1.2, step = 1"]
    after = [
        "INFO:tensorflow:Starting evaluation at 2021-06-07-23:59:30",
        "INFO:tensorflow:Restoring parameters from out/model.ckpt-4000",
        "INFO:tensorflow:Finished evaluation at 2021-06-08-00:01:02",
        "INFO:tensorflow:Saving dict for global step 4000: accuracy = 0.8, global_step = 4000, loss = 0.5",
    ]
    spent = {phase.phase: phase.seconds for phase in explain(run_of([*before, *steps, *after])).ledger.phases}
    assert spent["evaluation"] == pytest.approx(92, abs=0.1)


_YOLO = "1/9 5.24G 1.402 3.105 1.577 51 640: {share}% "


@pytest.mark.parametrize(
    "bar",
    [
        "{share}%|██▎  | {n}/99 [00:{n:02}<01:00,  1.00it/s]",
        _YOLO + "━━──── {n}/99 1.0it/s {n}.0s<1:00",
        _YOLO + "|██▎  | {n}/99 [00:{n:02}<01:00,  1.00it/s]",
    ],
)
def test_what_is_glued_to_a_bar_that_a_format_knows_is_heard(bar):
    lines = [bar.format(n=n, share=n) for n in range(1, 50)]
    lines[-1] += "Traceback (most recent call last):"
    run = run_of([*lines, '  File "train.py", line 3, in <module>', "    fit()", "ValueError: bad shape"])
    assert len(run) >= 48
    assert explain(run).state.value == "crashed"


def test_a_process_that_left_things_behind_is_over():
    lines = [(_YOLO + "━━──── {n}/99 1.0it/s {n}.0s<1:00").format(n=n, share=n) for n in range(1, 50)]
    lines[-1] += "WARNING CUDA OutOfMemoryError in the assigner, using CPU"
    said = "UserWarning: resource_tracker: There appear to be 8 leaked semaphore objects to clean up at shutdown"
    report = explain(run_of([*lines, f"/opt/python3.9/multiprocessing/resource_tracker.py:216: {said}"]))
    assert report.state.value == "stopped"
    assert report.state.evidence.key == "state-words"
    assert [alarm.code for alarm in report.alarms] == ["ended_early", "near_oom"]


@pytest.mark.parametrize("after", [[], ["WARNING: use fp16 if you ran out of memory"]])
def test_advice_on_memory_is_no_alarm(after):
    lines = [(_YOLO + "━━──── {n}/99 1.0it/s {n}.0s<1:00").format(n=n, share=n) for n in range(1, 50)]
    assert [alarm.code for alarm in explain(run_of([*lines, *after])).alarms] == []


def test_bars_between_which_a_likelihood_is_printed_are_the_trainings():
    lines = []
    for epoch in range(6):
        lines += [f"Epoch {epoch}:", "E Step", "M Step"]
        lines += [f"{10 * n}%|##  | {n}/10 [00:{8 * n // 2:02}<00:10,  4.00s/it]" for n in range(1, 11)]
        lines.append(f"Finished Epoch {epoch}, Log-likelihood: {-67260417.5 + epoch}")
    assert explain(run_of(lines)).ledger.wall_s == pytest.approx(240, rel=0.05)


@pytest.mark.parametrize(("grows", "seconds"), [(0, 20 * 31.5), (500, None)])
def test_a_bare_time_on_an_evaluations_line_is_its_own_unless_it_only_grows(grows, seconds):
    lines = []
    for epoch in range(1, 21):
        lines += [
            f"Epoch[{epoch:03}/020], Step[{n:04}/0200], Loss: {2 - epoch / 50:.2f}, step time: {0.5 + wave(n):.3f}s"
            for n in range(0, 200, 20)
        ]
        took = 31.5 + (1 if epoch % 2 else -1) * 0.5 + grows * epoch
        lines.append(
            f"----- Epoch[{epoch:03}/020], Validation Loss: {2.1 - epoch / 60:.4f}, Acc@1: 0.70, time: {took:.2f}"
        )
    spent = {phase.phase: phase.seconds for phase in explain(run_of(lines)).ledger.phases}
    assert spent.get("evaluation") == (pytest.approx(seconds, rel=0.03) if seconds else 0)


def test_start_up_and_the_end_count_where_timestamps_inside_the_trainers_own_lines_are_the_clock():
    def said(second, text, by="logging.py:107:log_dist"):
        return f"[2025-08-15 08:{second // 60:02}:{second % 60:02},000] [INFO] [{by}] {text}"

    head = [said(0, "Setting ds_accelerator to cuda", by="real_accelerator.py:260:get_accelerator")]
    steps = [said(50 + 5 * n, f"[Rank 0] step={n}, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]") for n in range(1, 31)]
    tail = [said(210, "Main process received SIGINT, exiting", by="launch.py:328:sigkill_handler")]
    assert explain(run_of([*head, *steps, *tail])).ledger.wall_s == pytest.approx(210, abs=0.1)


@pytest.mark.parametrize(("month", "day"), [(1, 1), (3, 9), (3, 11), (11, 12), (3, 30)])
def test_a_date_that_begins_with_the_day_stays_one_at_every_midnight(month, day):
    start = dt.datetime(2024, month, day, 20)
    lines = [
        f"{start + n * dt.timedelta(minutes=10):%d/%m/%Y %H:%M:%S} INFO step {n + 1}/1000 loss {2 - n / 500:.3f}"
        for n in range(400)
    ]
    run = run_of(lines)
    assert len(run) == 400
    assert explain(run).ledger.wall_s == pytest.approx(399 * 600)


def test_a_bar_without_a_total_is_timed_by_its_last_state():
    lines = []
    for epoch in range(1, 9):
        lines += [f"Epoch [{epoch}]", ""]
        lines += [
            f"Training: {n * 10:3}%|{'#' * n:10}| {n * 30}/300 [00:{n * 2:02}<00:{20 - n * 2:02}, 15.0it/s, loss=0.4]"
            for n in range(11)
        ]
        lines += [f"Validating: {n * 20}it [00:0{n}, 20.1it/s]" for n in range(8)]
        lines += ["Train Loss: 0.41", f"Val Loss:   0.5{epoch} | Dice: 0.81", ""]
    spent = {phase.phase: phase for phase in explain(run_of(lines)).ledger.phases}
    assert spent["evaluation"].seconds == pytest.approx(8 * 7, rel=0.05)
    assert spent["evaluation"].num == 8


def test_a_keras_bar_behind_the_one_it_was_drawn_over_counts():
    lines = ["Epoch 1/30"]
    for epoch in range(1, 31):
        bar = f"400/400 [==============================] - 40s 99ms/step - loss: {1 / epoch:.4f} - val_loss: 0.9"
        over = "399/400 [============================>.] - ETA: 0s - loss: 0.5 - ac" + " " * 90
        lines += [over + bar if epoch < 20 else bar, f"Epoch {epoch + 1}/30" if epoch < 30 else ""]
    report = explain(run_of(lines))
    assert report.run.format.name == "keras"
    assert report.ledger.wall_s == pytest.approx(1200, rel=0.01)
    assert len(report.run) == 30


@pytest.mark.parametrize(
    ("end", "seconds"),
    [
        ("Total Training Time: 90.50 min", 5430.0),
        ("train end. time 5430.25 (s)", 5430.25),
        ("Total gradient descent training time: 1 hours 30 mins 30 secs", 5430.0),
    ],
)
def test_a_total_alone_times_the_epochs(end, seconds):
    lines = [f"Train => Epoch: {n} \t Acc: {50 + n / 2:.2f}% \t Loss: {1 - n / 100:.3f}" for n in range(60)]
    report = explain(run_of([*lines, end]))
    assert report.ledger.wall_s == pytest.approx(seconds, abs=1)
    assert report.ledger.step.typical_s == pytest.approx(seconds / 60, rel=0.02)
    assert report.state.value == "finished"


def test_a_total_of_the_training_ends_it_before_what_a_header_planned():
    head = ["Maximum total number of training steps: 20000"]
    lines = [f"Outer Step: {n:5}      Loss: {1 / (n + 1):.6f}" for n in range(0, 1000, 10)]
    end = "Total training time: 5 hours 30 mins 10 secs"
    assert explain(run_of([*head, *lines, end])).state.value == "finished"


@pytest.mark.parametrize(
    "end", ["=========== All finished ===========", "Exiting...", "Number of trials: 1/1 (1 TERMINATED)"]
)
def test_a_run_that_says_so_is_finished(end):
    lines = [f"Epoch {n} - avg_train_loss: {1 / n:.4f}  avg_val_loss: 0.9  time: {30 + n % 2}s" for n in range(1, 11)]
    assert explain(run_of([*lines, end])).state.value == "finished"


@pytest.mark.parametrize("is_before", [False, True])
def test_a_line_beside_its_result_says_how_long_an_evaluation_took(is_before):
    lines = []
    for step in range(100, 6100, 100):
        speed = 3.7 if step % 400 == 100 and step > 100 else 4.0
        lines.append(
            f"global step {step}/6050, epoch: {step // 2000}, loss: {500 / step:.5f}, speed: {speed:.4f} step/s"
        )
        if step % 400 == 0:
            pair = [f"eval loss: {600 / step:.5f}, acc: 0.91, ", "eval done total : 1.85 s"]
            lines += reversed(pair) if is_before else pair
    spent = {phase.phase: phase for phase in explain(run_of(lines)).ledger.phases}
    assert spent["evaluation"].num == 15
    assert spent["evaluation"].seconds == pytest.approx(15 * 1.85, rel=0.02)


def test_a_starred_result_is_an_evaluation_whatever_its_figure():
    lines = []
    for epoch in range(6):
        lines += [f"Epoch: [{epoch}][{n}/300]\tTime 0.080 (0.081)\tLoss 1.2 (1.3)" for n in range(0, 300, 30)]
        lines += ["begin test", f" * MAE {9 - epoch}.184 ", " * best MAE 4.1 "]
    run = run_of(lines)
    assert run.format.name == "imagenet"
    assert run.events.kind == ("evaluation",) * 6


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Time taken for training: 3.5 hours", 12_600.0),
        ("Training ended in 3.5 hours", 12_600.0),
        ("Total Train Time: 3:30:00", 12_600.0),
        ("Execution time: 12600.0 seconds", 12_600.0),
        ("Total time (s): 12600", 12_600.0),
        ("Execution time of step 3: 4 seconds, loss 0.3", None),
    ],
)
def test_a_total_has_many_names(text, seconds):
    found = parse_runtime(text)
    assert (None if found is None else found[1]) == seconds


@pytest.mark.parametrize(
    "text", ["train finished", "End training...", "Max iterations reached", "finish!!", "Early stop at epoch 34"]
)
def test_an_end_has_many_names(text):
    assert closing_words(text) is not None


def test_a_bracketed_heading_tells_how_many_epochs_there_are():
    lines = []
    for epoch in range(1, 7):
        lines += [f"Epoch: [{epoch} | 40]"]
        lines += [f"({n}/60) LR: 0.001 | Batch: 1.8{n % 7}s | Total: 1min | Loss: 0.{99 - n}" for n in range(1, 61, 10)]
    assert run_of(lines).settings.count("max_steps") == 40 * 60


def test_the_last_epoch_may_be_numbered_as_many_as_are_stated():
    lines = [
        f"2024-05-06 {epoch:02}:{n // 2:02}:00 epoch {epoch}/5 iter {n}/120 loss {1 / (n + 1):.4f}"
        for epoch in range(6)
        for n in range(0, 120, 10)
    ]
    assert run_of(lines).settings.count("max_steps") == 6 * 120 - 1


def test_games_won_and_lost_at_an_even_rhythm_are_evaluations():
    lines, now = [], dt.datetime(2024, 3, 1, 8)
    for n in range(1, 301):
        now += dt.timedelta(seconds=12 + n % 3)
        lines += [f"{now:%Y-%m-%d %H:%M:%S}, batch i:{n}, episode_len:{20 + n % 9}", f"kl:0.01,loss:{5 - n / 100:.4f}"]
        if n % 50 == 0:
            now += dt.timedelta(seconds=400)
            lines.append(f"num_playouts:1000, win: {n // 50}, lose: {10 - n // 50}, tie:0")
    spent = {phase.phase: phase for phase in explain(run_of(lines)).ledger.phases}
    assert spent["evaluation"].seconds == pytest.approx(5 * 400, rel=0.1)


def test_an_end_is_one_also_where_the_next_sentence_names_the_validation():
    assert closing_words("Training finished. Best checkpoint: 57. Best validation bleu: 0.21") == "done"
    assert closing_words("Training of epoch 3 finished, validation follows") != "done"


def test_a_training_bar_may_have_no_total_either():
    lines = []
    for epoch in range(1, 7):
        lines += [
            f"Epoch {epoch}: {n}it [00:{n // 10:02}, 10.0it/s, loss={9 / (n + 10):.4f}]" for n in range(0, 501, 25)
        ]
        lines += [f"Validating: {n}it [00:0{n // 10}, 10.0it/s]" for n in range(0, 80, 10)]
        lines += [f"epoch {epoch} val acc 0.8{epoch}"]
    ledger = explain(run_of(lines)).ledger
    spent = {phase.phase: phase.seconds for phase in ledger.phases}
    assert ledger.step.typical_s == pytest.approx(0.1, rel=0.05)
    assert spent["evaluation"] == pytest.approx(6 * 7, rel=0.05)
