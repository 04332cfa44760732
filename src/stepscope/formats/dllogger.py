"""NVIDIA DLLogger's text lines, as its MLPerf graph trainings write them: every iteration with its own time."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_DLL = r"DLL (?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) - "

FORMAT = Format(
    title="NVIDIA DLLogger",
    url="https://github.com/NVIDIA/dllogger",
    lines=(
        Line(
            "step",
            rf"{_DLL}Iteration (?P<step>\d+) \|.{{0,400}}?\biteration_time : (?P<dur_ms>[\d.]+) ms\b"
            r"(?:.{0,400}?\btrain_loss : (?P<loss>[-+\d.e]+|nan|inf))?",
        ),
        Line("evaluation", rf"{_DLL}Current_epoch_num [\d.]+ \|.{{0,400}}?\beval_epoch_time : (?P<took_ms>[\d.]+) ms"),
        Line("fact", rf"{_DLL}(?:Init|PARAMETER) \|"),
        Line("chatter", r"DLL \S+ \S+ - (?!Iteration|Current_epoch_num|Init|PARAMETER)"),
        Line("chatter", r"(?:\d+: )?:{0,3}(?:MLLOG|MLL|SYSJSON|DLPAL|GITCOMMITID)\b"),
        Line("chatter", r"(?:\d+: )?\++ |RANK \d+: LOCAL_RANK|num_gpus=\d|running benchmark"),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="iteration_time is that of the iteration on the same line, and every iteration is printed; evaluation "
        "has its own figure and is outside. There is neither a total nor an ETA.",
    ),
    layout=Layout(events_follow_step=True),
    samples=(
        Sample(
            "DLL 2025-10-08 11:04:12.387259 - Iteration 910 | train_acc : 0.6721 % | iteration_time : 90.70 ms | "
            "train_loss : 0.9646  | last_iter_used_cuda_graph : True",
            "step",
            {"step": 910, "dur_ms": 90.7, "loss": 0.9646},
        ),
        Sample(
            "DLL 2025-10-08 11:04:14.028079 - Current_epoch_num 0.1 | eval_epoch_time : 1665.08 ms | total_steps : 48",
            "evaluation",
            {"took_ms": 1665.08},
        ),
        Sample("DLL 2025-10-08 11:00:44.232314 - Init | message : Start loading model", "fact"),
        Sample("DLL 2025-10-08 11:04:12.387259 - Iteration 910 | train_loss : 0.9646", None),
        Sample("DLL 2025-10-08 11:09:12.387259 -  | throughput : 1200.1 samples/s", "chatter"),
        Sample(":::MLLOG {}", "chatter"),
        Sample("+ exec numactl --cpunodebind=2 python3 train.py", "chatter"),
        Sample("Iteration 910 | iteration_time : 90.70 ms", None),
    ),
)
