"""What was wrong with the trainer of 0.1.0, and the tests that fail where it is wrong again.

A row is a defect, as a user met it, and its tests. `test_every_defect_has_its_tests` keeps the names right.

Each row was run on the sources of 0.1.0 (commit 7268c21): at least one of its tests fails there. Where a test uses
names that came later, the same was tried with the names of that time, or at the command line: two trainers in one
folder both ended well, an evaluation of 1.6 s was reported as 0.4 s, phases of a queued step were negative, no memory
was spoken of, an evaluation made float64 tensors and had four training batches at once. What DDP was asked for, the
generator that a rehearsal puts back and the processes that share Muon's work were read in the sources.
"""

from __future__ import annotations

import ast

import pytest

from tests.conftest import ROOT

COMPATIBLE, DEVICE, KILLS = (
    "trainer/test_nanogpt_compatible.py",
    "trainer/test_device.py",
    "faults/test_trainer_kills.py",
)
LOST, OWN, RECIPE = "trainer/test_nothing_lost.py", "trainer/test_own_records.py", "trainer/test_recipe.py"
CHECKPOINT, COMMANDS, TRAIN = "trainer/test_checkpoint.py", "trainer/test_commands.py", "trainer/test_train.py"
DISTRIBUTED = "trainer/test_distributed.py"

DEFECTS: dict[str, tuple[str, ...]] = {
    # -- work that was destroyed
    "a start that fails, or an evaluation alone, deletes the logs of the run in that folder": (
        f"{LOST}::test_a_start_that_fails_touches_no_file",
        f"{LOST}::test_a_start_that_fails_leaves_no_folder",
        f"{LOST}::test_an_evaluation_alone_touches_no_file",
        f"{LOST}::test_the_logs_and_the_best_checkpoint_of_an_earlier_run_are_kept",
    ),
    "two interruptions destroy the best checkpoint with always_save_checkpoint=False": (
        f"{LOST}::test_only_a_better_checkpoint_replaces_the_best",
        f"{COMPATIBLE}::test_where_only_the_best_is_kept_it_is_sampled",
    ),
    "two trainers in one folder destroy each other's checkpoints": (
        f"{LOST}::test_a_second_trainer_in_the_same_folder_is_refused",
        f"{LOST}::test_a_folder_stays_locked_while_the_writer_of_a_killed_trainer_lives",
        "faults/test_trainers_in_one_place.py::test_of_several_trainers_in_one_folder_one_trains",
    ),
    "the last iterations are not saved, or nothing where evaluations come never": (
        f"{LOST}::test_a_run_ends_with_a_checkpoint",
    ),
    "saving has no interval but that of the evaluations": (
        f"{LOST}::test_saving_has_an_interval_of_its_own",
        f"{LOST}::test_saving_by_the_clock",
    ),
    "the ledger of a resumed run has its last process only, and repeated steps are not marked": (
        f"{LOST}::test_the_ledger_goes_across_resumes_and_marks_repeated_steps",
    ),
    # -- what reports say of it
    "explain on the trainer's folder, log or ledger misses what the records beside it state": (
        f"{OWN}::test_every_phase_is_measured_and_equal_to_the_ledger",
        f"{OWN}::test_all_commands_use_the_records",
    ),
    # -- compatible with nanoGPT
    "a modern checkpoint does not resume without its recipe's flag, nor another with it": (
        f"{COMPATIBLE}::test_a_checkpoint_resumes_without_any_setting",
    ),
    "finetune_shakespeare.py is refused": (f"{COMPATIBLE}::test_a_config_with_the_settings_of_a_stock_one_runs",),
    "eval_only states a training loss of one batch": (
        f"{COMPATIBLE}::test_an_evaluation_alone_evaluates_what_it_says_and_needs_no_optimizer",
    ),
    "eval_only makes AdamW's state": (f"{DEVICE}::test_an_evaluation_alone_makes_no_optimizer",),
    "wandb_log=True does nothing; no learning rate, gradient norm or mfu in the records": (
        f"{COMPATIBLE}::test_wandb_gets_the_figures_offline",
        f"{COMPATIBLE}::test_tensorboard_gets_the_figures",
        f"{COMPATIBLE}::test_without_a_tracker_the_run_goes_on_and_says_so",
        f"{TRAIN}::test_every_step_is_recorded_with_its_phases",
    ),
    "sample writes another text than nanoGPT for a seed, and lacks flags and config files": (
        f"{COMPATIBLE}::test_the_text_of_a_seed_is_nanogpts",
        f"{COMPATIBLE}::test_gpt2_is_sampled_from_a_local_folder",
    ),
    "sample from another folder wants GPT-2's tables and hints at a flag that it has not": (
        f"{COMPATIBLE}::test_a_network_whose_characters_are_elsewhere_says_so",
    ),
    "there is no bench": (f"{COMPATIBLE}::test_bench_prints_nanogpts_losses_and_a_time",),
    "a misspelt setting in a config file passes in silence": (
        f"{COMPATIBLE}::test_a_misspelt_setting_in_a_config_is_an_error_with_a_suggestion",
        f"{COMPATIBLE}::test_other_names_in_a_config_are_said_or_used",
    ),
    "quotes in --dataset='x' become part of the name": (f"{COMPATIBLE}::test_quotes_around_a_value_are_nanogpts",),
    "losses differ from nanoGPT's in the last printed digit after some hundred iterations": (
        f"{TRAIN}::test_losses_are_nanogpts_own",
        f"{TRAIN}::test_where_nanogpts_losses_are_wanted_its_optimizer_is_used",
    ),
    # -- GPUs and Macs
    "float64 at the first evaluation on an Apple GPU": (
        f"{DEVICE}::test_no_double_precision_reaches_an_apple_gpu",
        f"{DEVICE}::test_random_numbers_of_an_apple_gpu_are_kept",
    ),
    "a checkpoint of an Apple GPU may be torn": (
        f"{DEVICE}::test_a_copy_without_a_stream_is_whole_when_it_returns",
        f"{CHECKPOINT}::test_a_save_is_a_snapshot_of_its_moment",
    ),
    "an evaluation needs twice the memory of a training step": (
        f"{DEVICE}::test_an_evaluation_needs_no_more_memory_than_a_training_step",
        f"{DEVICE}::test_larger_batches_are_evaluated_where_measured_peaks_allow_it",
    ),
    "with log_interval above 1, times of steps are those of queueing, and phases can be negative": (
        f"{DEVICE}::test_seconds_of_a_gpu_are_divided_as_the_gpu_divided_them",
        f"{DEVICE}::test_steps_between_two_printed_ones_have_the_devices_seconds",
        f"{DEVICE}::test_queued_steps_are_recorded_also_when_the_run_breaks_off",
        f"{DEVICE}::test_a_device_without_events_is_waited_for_in_every_step",
    ),
    "a second copy of the state in host memory, always, and nobody says so": (
        f"{DEVICE}::test_without_staging_the_checkpoint_is_the_same_and_no_memory_is_set_aside",
        f"{DEVICE}::test_what_checkpoints_take_of_the_hosts_memory_is_said_before",
    ),
    "--device=cuda:1 leaves another GPU the current one": (
        f"{DEVICE}::test_the_gpu_asked_for_is_made_the_current_one",
        f"{DEVICE}::test_a_gpu_that_is_not_there_is_said_to_be_missing",
    ),
    "memory that cannot be locked surfaces as an error of the next kernel": (
        f"{DEVICE}::test_memory_that_cannot_be_locked_leaves_no_error_for_the_next_kernel",
    ),
    "warming up draws random numbers of the device": (
        f"{DEVICE}::test_a_rehearsal_puts_back_the_random_numbers_of_a_gpu",
        f"{DEVICE}::test_a_rehearsal_leaves_the_run_as_it_was",
    ),
    "gradients are copied into buckets, and tables of positions sent in every forward pass": (
        f"{DEVICE}::test_gradients_travel_in_place_and_tables_do_not_travel",
    ),
    "Muon computes in float32 on CUDA, and all of it on every process": (
        f"{RECIPE}::test_on_a_gpu_the_products_are_in_half_precision",
        f"{RECIPE}::test_each_process_makes_its_share_of_the_matrices_and_hears_the_others",
    ),
    # -- the rest
    "weight decay of the modern recipe reaches 1 of the 17 tensors that the log counts": (
        f"{RECIPE}::test_weight_decay_reaches_every_tensor_that_the_log_counts",
    ),
    "--budget plans from three iterations, and misses": (f"{COMMANDS}::test_a_budget_of_seconds_is_no_setting",),
    "sample is offered after runs that saved nothing": (
        f"{COMMANDS}::test_after_an_evaluation_alone_nothing_is_offered_that_is_not_there",
        "faults/test_trainer_disks.py::test_saves_that_failed_are_said_at_the_end",
    ),
    "a run without arguments opens with 21 settings, and states an A100's mfu on a CPU": (
        f"{COMMANDS}::test_without_arguments_it_trains_samples_and_ends_with_the_ledger",
        f"{TRAIN}::test_lines_have_nanogpts_shape",
    ),
    "a corpus without line ends trains, and ends with an error": (
        "faults/test_trainer_disks.py::test_a_corpus_without_line_ends_trains_and_samples",
    ),
    "loading reads the file twice": (
        f"{CHECKPOINT}::test_loading_reads_the_file_once_and_where_it_lies",
        f"{CHECKPOINT}::test_a_damaged_file_is_noticed_and_the_one_before_it_used",
    ),
    "several processes print another training loss at step 0 than one": (
        f"{DISTRIBUTED}::test_two_processes_have_the_losses_of_one",
    ),
    "a save that finds the one before unfinished waits in silence": (
        f"{CHECKPOINT}::test_a_checkpoint_that_finds_the_last_one_unfinished_says_that_it_waits",
    ),
}


# What held in 0.1.0 already, and is to hold.
HELD: dict[str, tuple[str, ...]] = {
    "a killed run goes on to be the uninterrupted one": (
        f"{KILLS}::test_a_run_killed_at_random_moments_ends_as_if_nothing_had_happened",
        f"{KILLS}::test_a_run_of_two_processes_of_which_one_is_killed_goes_on_to_the_bit",
        f"{DISTRIBUTED}::test_when_one_process_dies_the_other_says_so_and_the_resumed_run_is_the_whole_one",
    ),
}


@pytest.mark.parametrize("row", DEFECTS | HELD)
def test_every_defect_has_its_tests(row):
    for test in (DEFECTS | HELD)[row]:
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test
