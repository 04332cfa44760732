"""Flower, federated learning: a line per round with the seconds since the first began."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:e[-+]?\d++)?|nan|inf)"
_LEVEL = r"(?:(?:INFO|DEBUG) *: +)?"

FORMAT = Format(
    title="Flower",
    url="https://github.com/adap/flower",
    lines=(
        Line(
            "step",
            rf"{_LEVEL}fit progress: \((?P<step>\d+), (?P<loss>{_NUMBER}), .{{0,2000}}, (?P<elapsed_s>[\d.]+)\)\s*$",
        ),
        Line("fact", rf"{_LEVEL}Starting Flower (?:simulation|server), config: .{{0,80}}?num_rounds=(?P<total>\d+)"),
        Line("start", rf"{_LEVEL}FL starting\s*$"),
        Line("chatter", rf"{_LEVEL}(?:fit|evaluate)_round \d+(?:: strategy sampled| received) \d+ "),
        Line("chatter", rf"{_LEVEL}(?:FL finished in |app_fit: |Evaluating initial param|initial parameters )"),
        Line(
            "chatter", rf"{_LEVEL}(?:\[ROUND \d+\]|configure_(?:fit|evaluate): |aggregate_(?:fit|evaluate): received )"
        ),
        Line("chatter", r"\([\w.:]{1,60} pid=\d+\) "),  # what a client prints, in its own process
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Seconds since the first round began, printed when the server has evaluated a round; what the clients "
        "evaluate comes after it and counts for the next round. A step is a round. Without an evaluation on the "
        "server these lines are missing. num_rounds is the total; no ETA is printed.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "fit progress: (4, 1.812, {'accuracy': 0.31}, 91.5021)",
            "step",
            {"step": 4, "loss": 1.812, "elapsed_s": 91.5021},
        ),
        Sample("INFO :      fit progress: (4, 1.812, {}, 91.5021)", "step", {"step": 4}),
        Sample("Starting Flower simulation, config: ServerConfig(num_rounds=12, t=None)", "fact", {"total": 12}),
        Sample("Starting Flower server, config: num_rounds=12, no round_timeout", "fact", {"total": 12}),
        Sample("FL starting", "start"),
        Sample("fit_round 4: strategy sampled 8 clients (out of 40)", "chatter"),
        Sample("evaluate_round 4 received 8 results and 0 failures", "chatter"),
        Sample("FL finished in 912.41", "chatter"),
        Sample("INFO :      [ROUND 4]", "chatter"),
        Sample("(ClientAppActor pid=812) epoch 1 loss 0.4", "chatter"),
        Sample("fit progress: (4, 1.812, {'accuracy': 0.31}, 91", None),  # cut mid-write
    ),
)
