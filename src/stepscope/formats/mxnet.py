"""MXNet's Module.fit with its Speedometer: only a rate of samples, so the timestamps are the clock."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NODE = r"(?:Node\[\d+\] )?"

FORMAT = Format(
    title="MXNet Module",
    url="https://github.com/apache/mxnet",
    lines=(
        # Gluon's scripts end the line with the learning rate: those are another format's.
        Line(
            "step",
            rf"{_NODE}Epoch\[(?P<epoch>\d+)\] Batch \[(?:\d+-)?(?P<batch>\d+)\]\s+"
            r"Speed: (?P<samples_per_s>[\d.]+) samples/sec"
            r"(?!.*\blr=)(?:.*?(?:cross-entropy|loss)=(?P<loss>[-+\d.e]+|nan|inf))?",
        ),
        Line("evaluation", rf"{_NODE}Epoch\[\d+\] Validation-(?!\w+-count)[\w-]+=(?:[\d.]+|nan)"),
        Line("checkpoint", rf"{_NODE}Saved checkpoint to \"(?P<path>[^\"]+)\""),
        Line(
            "start",
            # Several workers share the examples, and nothing says how many they are.
            rf"{_NODE}start with arguments Namespace\((?=.{{0,4000}}?\bkv_store='(?:dist|horovod)|"
            r"(?>.{0,4000}?\bnum_examples=(?P<epoch_samples>\d+))?)"
            r"(?>.{0,2000}?\bbatch_size=(?P<samples_per_step>\d+))?.{0,4000}?\bnum_epochs=(?P<epochs>\d+)",
        ),
        Line("resume", rf"{_NODE}Loaded model (?P<path>\S+)"),
        Line("step", rf"{_NODE}Epoch\[(?P<epoch>\d+)\] Time cost=(?P<epoch_s>[\d.]+)\s*$"),
        Line("chatter", rf"{_NODE}Epoch\[\d+\] (?:Train-|Validation-\w+-count=)"),
        Line("chatter", rf"{_NODE}(?:DALI iterator|Already bound|Update\[\d+\]: )"),
        Line("chatter", r"\.\./src/|src/(?:io|operator|storage|base)|Auto-tuning cudnn|(?:using|skipping) wd on "),
        Line("chatter", r":{0,3}(?:MLLOG|MLL|MLP\S*) "),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        figure_includes=("data", "logging"),  # the Speedometer begins again with every epoch
        note="The printed speed is samples per second over the batches in the bracket; the time between two lines' "
        "timestamps is taken, and everything is inside. Without timestamps, the batch size among the arguments makes a "
        "time of the speed, without validation, which starts the Speedometer again. 'Time cost' is one epoch without "
        "validation, its last, unprinted batches included. The number of batches of an epoch is that of the examples "
        "over the batch size among the arguments, if the rows agree with it, or the last one printed in the first "
        "epoch.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    samples=(
        Sample(
            "Node[0] Epoch[16] Batch [2140-2160]\tSpeed: 2648.90 samples/sec\taccuracy=0.612010",
            "step",
            {"epoch": 16, "batch": 2160, "samples_per_s": 2648.9, "loss": None},
        ),
        Sample(
            "Epoch[2] Batch [40]\tSpeed: 911.20 samples/sec\taccuracy=0.31\tcross-entropy=2.91",
            "step",
            {"epoch": 2, "batch": 40, "loss": 2.91},
        ),
        Sample("Epoch[8] Batch [9999]\tSpeed: 118.270000 samples/sec\taccuracy=0.551\tlr=0.000800", None),
        Sample("Epoch[16] Batch [2150-2175]", None),
        Sample("Node[0] Epoch[6] Validation-accuracy=0.588800", "evaluation"),
        Sample('Saved checkpoint to "out/net-0004.params"', "checkpoint", {"path": "out/net-0004.params"}),
        Sample("Node[1] start with arguments Namespace(lr=3.0, num_epochs=41, wd=5e-05)", "start", {"epochs": 41}),
        Sample(
            "start with arguments Namespace(batch_size=64, gpus='0', num_epochs=7)",
            "start",
            {"samples_per_step": 64, "epochs": 7},
        ),
        Sample("Loaded model out/net_0004.params", "resume", {"path": "out/net_0004.params"}),
        Sample(
            "start with arguments Namespace(batch_size=32, kv_store='device', num_epochs=10, num_examples=20000)",
            "start",
            {"samples_per_step": 32, "epochs": 10, "epoch_samples": 20000},
        ),
        Sample(
            "start with arguments Namespace(batch_size=32, kv_store='horovod', num_epochs=10, num_examples=20000)",
            "start",
            {"samples_per_step": 32, "epochs": 10, "epoch_samples": None},
        ),
        Sample("Node[0] Epoch[6] Time cost=481.146", "step", {"epoch": 6, "epoch_s": 481.146}),
        Sample("Epoch[6] Train-accuracy=0.581100", "chatter"),
        Sample("Node[0] Epoch[6] Validation-total-count=31000.000000", "chatter"),
        Sample("Node[41] Already bound, ignoring bind()", "chatter"),
        Sample("using wd on block2_conv3_weight", "chatter"),
        Sample(":::MLL 1571882734.718 seed: {}", "chatter"),
    ),
)
