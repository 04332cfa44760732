"""gensim's Word2Vec, FastText and Doc2Vec: a line when an epoch is over, with its seconds."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_LEVEL = r"(?:: )?(?:INFO ?:? )?"

FORMAT = Format(
    title="gensim",
    url="https://github.com/piskvorky/gensim",
    lines=(
        Line(
            "step",
            rf"{_LEVEL}EPOCH (?:- )?(?P<step>\d+) ?: training on \d+ raw words \(\d+ effective words\) "
            r"took (?P<dur_s>[\d.]+)s,",
        ),
        Line("start", rf"{_LEVEL}training model with \d+ workers on "),
        Line("start", rf"{_LEVEL}\w+ lifecycle event \{{'msg': 'training model with "),
        Line("chatter", rf"{_LEVEL}EPOCH \d+ - PROGRESS: at [\d.]+% (?:examples|words), "),
        Line("chatter", rf"{_LEVEL}worker thread finished; awaiting finish of \d+ more"),
        Line("chatter", rf"{_LEVEL}PROGRESS: at sentence #\d+, processed "),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The time of one epoch, from its first job to its last worker; building the vocabulary before and saving "
        "after it are outside. A step is an epoch: examples and words are counted in percent of it. The number of "
        "epochs is not printed, and no ETA is.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "EPOCH - 4 : training on 812000 raw words (601200 effective words) took 9.3s, 64645 effective words/s",
            "step",
            {"step": 4, "dur_s": 9.3},
        ),
        Sample(
            "INFO : EPOCH 4: training on 812000 raw words (601200 effective words) took 9.3s, 64645 effective words/s",
            "step",
            {"step": 4, "dur_s": 9.3},
        ),
        Sample("training model with 3 workers on 9000 vocabulary and 100 features, using sg=0 hs=0", "start"),
        Sample("Word2Vec lifecycle event {'msg': 'training model with 3 workers on 9000 vocabulary", "start"),
        Sample("EPOCH 4 - PROGRESS: at 61.20% examples, 64012 words/s, in_qsize 5, out_qsize 0", "chatter"),
        Sample("worker thread finished; awaiting finish of 2 more threads", "chatter"),
        Sample("PROGRESS: at sentence #10000, processed 90000 words, keeping 4100 word types", "chatter"),
        Sample("EPOCH - 4 : training on 812000 raw words (601200 effective words) to", None),  # cut mid-write
    ),
)
