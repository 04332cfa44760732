# ruff: noqa: E501 (a case is a line: the table is read down its columns)
"""What a good answer to each question says, and what it must not say. The lines are in logs/, written for this suite.

Each log has the shape and the size of what somebody pasted with a question about time; lines and figures are our own.
`says` and `never` are patterns for the English report; the other fields are figures of the JSON document.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """One question.

    typical_s
        Seconds of a normal step, to be met within 10 ?%; None where the lines cannot tell
    last_step, total
        The number of the last step, and that of the last step to come
    left_s
        Bounds for the seconds that are left: by the forecast, or by what the trainer itself says
    slow
        Steps that must be named as slow
    says, never
        Patterns that the report must match, and must not
    """

    name: str
    asked: str
    typical_s: float | None = None
    last_step: int | None = None
    total: int | None = None
    left_s: tuple[float, float] | None = None
    slow: tuple[int, ...] = ()
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


FINISHED = r"(?i)\b(is|has) (finished|complete|done)\b|finished:|reached its last"
STUCK = r"(?i)\bstuck\b|\bhangs\b"

CASES = (
    Case(
        "003",
        "nanoGPT: why is the first iteration huge?",
        0.022, 13, 200, (3.0, 9.0), (0, 1),
        says=(r"(?i)warm-up|compil",),
        never=(r"(?m)^ +5  +2\d ms",),
    ),
    Case("004", "nanoGPT on a 4090: is it slow?", 4.63, 190, slow=(0,), says=(r"(?i)evaluation|warm-up",), never=(r"(?m)^ +(60|80|150)  +4",)),
    Case("006", "Megatron: 127 s a step", 127.5, 185, 250000, (3.0e7, 3.35e7), says=(r"(?i)steady within",), never=(r"(?i)\b185\b.{0,40}evaluation",)),
    Case(
        "011",
        "MMClassification: the ETA says 37 days",
        0.168, 700, 500500, (75_000, 135_000),
        says=(r"(?i)data.{0,60}(first|up to|at) .{0,20}100|first 100 .{0,60}data|100 .{0,80}wait(ed|ing) for data",),
        never=(r"6 d \d+ h left", r"3[67] d", r"(?i)next shard"),
    ),
    Case(
        "014",
        "YOLOX: 14 days, why?",
        4.34, 66045, 554700, (1.2e6, 2.8e6),
        says=(r"2\.61 s to 5\.61 s", r"(?i)data.{0,40}\b1[4-9] ?%|1[4-9] ?% .{0,40}data"),
        never=(r"(?i)data is the main", r"(?i)no iteration was slower than"),
    ),
    Case("019", "Keras 2: 10,721 s an epoch", 0.1178, 259, 912340, (95_000, 120_000), never=(r"(?i)left:? (about )?[23] h \d+ min\b",)),
    Case("022", "Pythia: does the time grow?", 3.08, 900, says=(r"1[3-9] ?% (slower|longer).{0,30}600|600.{0,60}1[3-9] ?% (slower|longer)",), never=(r"\b(300|308|303|32\d|33\d) s an iteration|takes (5 min|3\d\d s)",)),
    Case("023", "pips: spikes of reading", 1.95, 35, 200000, (370_000, 4_300_000), (32,), says=(r"(?i)32 .{0,60}data",), never=(r"(?i)32 .{0,40}(evaluation|checkpoint)", r"\d,\d\d\d d\b", r"takes 0 s")),
    Case("024", "kohya: why is the time negative?", 12.8, 420, 2100, (20_500, 22_500), says=(r"(?i)clock .{0,60}(back|set)",), never=(r"-\d+ (s|min|h)\b|−\d+ (s|min|h)\b", FINISHED)),
    Case("025", "DeepSpeed: two lines", 0.3, 2700, says=(r"4 samples|batch.{0,20}\b4\b",), never=(FINISHED, r"2,650 of|of 2,700")),
    Case("026", "DeepSpeed: no faster with a larger batch", 1.515, 60, says=(r"(?i)steady within", r"(?i)skipped.{0,20}\b2\b|\b2\b.{0,40}skipped"), never=(FINISHED,)),
    Case("027", "fairseq: several processes in one log", 3.02, 40, None, (32_000, 36_500), says=(r"(?i)processes",), never=(r"(?i)restarted|went back|started again",)),
    Case("033", "YOLOv5: validation is slow", 0.139, 555, 166500, (54_000, 61_000), says=(r"(?i)evaluation.{0,60}\b(59|60) ?%|\b(59|60)(\.\d)? ?%.{0,40}(evaluation|1 min 54 s)",), never=(r"6 h 2\d min",)),
    Case("035", "Lightning: how is the bar to be read?", 3.0, 5, None, (34, 56), (1,), says=(r"(?i)warm-up|first",), never=(r"4\.1\d s an iteration|takes 4\.1", r"(?i)restart")),
    Case("036", "Lightning: the bar's clock runs on over epochs", 0.53, None, None, (1.5, 5), says=(r"(?i)clock.{0,80}(start of the run|not the epoch|since)",), never=(r"29\.\d s an|takes 29", r"1 min 5\d s left", r"(?i)faster")),
    Case("037", "atmorep: every eighth batch", None, 17, slow=(9, 17), says=(r"(?i)every 8", r"(?i)1[01](\.\d)? times|tenth", r"(?i)batch size"), never=(r"1[5-9](\.\d+)? s an", r"takes 1[5-9](\.\d)? s\b")),
    Case("038", "AnimateAnyone: loading takes 19 s now and then", 0.66, 6, slow=(4,), says=(r"(?i)data", r"\b8[0-5](\.\d)? ?%"), never=(r"(?i)not a training log",)),
    Case("041", "TF Object Detection: it freezes", 1.494, 96, says=(r"(?i)steady within",), never=(STUCK, r"\b1[67] iterations took")),
    Case("043", "tf.estimator: half as fast", 0.0817, 201, never=(r"takes 8\.\d+ s", r"(?i)faster")),
    Case("044", "TF CIFAR-10: slower and slower?", 0.0137, 3270, slow=(3200,), says=(r"(?i)steady",), never=(r"(?i)slower since|get slower",)),
    Case("045", "TPUEstimator: half speed", 1.921, 200, says=(r"4,?096|2,?132",), never=(r"3 min 12 s an|takes (3 min|19\d s)",)),
    Case("046", "Darknet: 30 hours for 340 pictures", 2.0, 1278, None, (90_000, 125_000), says=(r"(?i)own|according to the trainer", r"(?i)data|load"), never=(FINISHED,)),
    Case("048", "Tacotron: one line", 3.144, 4000, says=(r"(?i)(one|single) (line|row)",), never=(FINISHED,)),
    Case("049", "Tacotron: a running average", 5.1, 19, slow=(1,), says=(r"(?i)average",), never=(r"takes (1[45]|22)(\.\d)? s", r"(?i)(get|getting|become) faster")),
    Case("052", "Transformer: 24 minutes an epoch", 1452, 307, 400, (130_000, 141_000), never=(r"takes 24(\.\d+)? s\b",)),
    Case("053", "StyleGAN2: what takes the time?", 71.1, 1408, slow=(1401,), says=(r"(?i)steady within", r"(?i)1,401.{0,120}(evaluation|snapshot|metric|checkpoint)"), never=(r"takes 17(\.\d+)? s",)),
    Case("056", "nnU-Net: GPU at 0 ?%", 168, 1, never=(STUCK,)),
    Case("057", "GRPO: 78 hours?", 279.1, 1, 1000, (230_000, 300_000), says=(r"(?i)one (line|row|step|iteration)|only (step|iteration)", r"(?i)start-up|warm-up|first"), never=(FINISHED,)),
    Case("061", "PaddleOCR: is reading the bottleneck?", 4.15, 11580, says=(r"(?i)(wait|data).{0,60}8[56](\.\d)? ?%|8[56](\.\d)? ?%.{0,60}(wait|data)",), never=(r"(?i)checkpoint", r"(?i)nothing worth changing")),
    Case("064", "MXNet: rates only, slower?", None, 200, says=(r"(?i)steady within [12](\.\d)? ?%", r"7[56](\.\d+)? samples", r"(?i)batch size"), never=(r"(?i)slower by|get slower|slower since", r"takes 7\d")),
    Case("065", "MXNet: slower after several epochs?", None, 520, says=(r"(?i)steady within", r"4(8|9)\d(\.\d+)? samples"), never=(r"(?i)slower by|get slower|slower since",)),
    Case("066", "Gluon: the speed varies", None, 11499, slow=(10899, 11099, 11299, 11399), says=(r"11\.9 to 14\.9 .{0,60}22\.3 to 28\.7", ), never=(r"(?i)steady within",)),
    Case("067", "MXNet: why does the speed jump up?", None, 1300, says=(r"(?i)33(\.\d)? times|34(\.\d)? times", r"(?i)700|800", r"5[123]\d ms"), never=(r"(?i)get slower|slower since", r"(?i)compil", r"takes (28\d|5[23]\d|4\d\d) ms\b.{0,30}normal|normal iteration takes (28\d|[34]\d\d) ms")),
    Case("068", "Caffe: two minutes an iteration", 128, 990, slow=(980,), says=(r"(?i)slower|1\.\d times|from .{0,20} to",), never=(r"(?i)980.{0,40}evaluation", r"(?i)warm-up .{0,60}1[89] min")),
    Case("069", "caffe time: 73 s", 73.0, 10, 10, (0, 0), says=(r"(?i)steady within",), never=(r"(?i)data is the bottleneck|waits? for data .{0,20}\d\d ?%",)),
    Case("070", "Caffe: nothing happens for an hour", 97.0, 100, says=(r"(?i)evaluation.{0,100}(70|71) min|1 h 1[01] min",), never=(STUCK,)),
    Case("071", "rsl_rl: one line", 28.87, None, says=(r"(?i)(one|single) (line|row)",), never=(r"(?i)\bleft\b.{0,20}\d",)),
    Case("072", "neural-enhance: every epoch takes longer", 82.0, 3, 50, (3700, 3950), says=(r"(?i)steady|(clock|figure).{0,50}(since|running)",), never=(r"(?i)get slower|slower since", r"takes 4 min|24\d s an")),
    Case("073", "Ginex: the first epoch takes twice as long", 441, 7, slow=(0,), says=(r"(?i)warm-up|cold|first",), never=(r"9\d\d,\d\d\d s|10 d", r"(?i)get slower|slower since")),
    Case("076", "mip-splatting: a cliff", 0.02, 2700, 30000, (30_000, 52_000), (2700,), says=(r"(?i)\b(7\d|8\d)(\.\d)? times",), never=(r"(?<!h )\b(9|10|11) min( \d+ s)? left", r"(?i)2,700.{0,40}evaluation")),
    Case("077", "nerfstudio: 148 ?%", 0.624, 44570, None, says=(r"(?i)30,000|100 ?%|past|beyond",), never=(FINISHED,)),
    Case("086", "BERT: stuck at checkpoint 0?", None, None, says=(r"(?i)checkpoint",), never=(r"takes \d", STUCK)),
    Case("101", "A bar in the middle of a question: 264 hours?", 0.394, 61, 2400000, (930_000, 970_000), says=(r"(?i)according to the trainer",), never=(FINISHED,)),
    Case("102", "Hugging Face: bars cut at the right edge", None, 5, 318, (2_000, 4_700), never=(FINISHED,)),
    Case("103", "Unsloth in a notebook: 12 hours", 18.0, 31, 2250, (39_000, 44_000), never=(FINISHED, r"takes 20 s")),
    Case("104", "mmdetection: the GPUs idle", 1.85, 3304, None, (270_000, 280_000), says=(r"(?i)(wait|data).{0,60}\b(79|80) ?%",), never=(r"(?i)nothing worth changing",)),
    Case("105", "ImageNet: GPU at 0 %", 0.212, 38, slow=(33, 35, 37), says=(r"(?i)(wait|data).{0,60}\b9[78] ?%",), never=(r"(?i)nothing worth changing", r"\b\d min left")),
    Case("106", "ImageNet: hours though an iteration takes 0.3 s", None, None, says=(r"8[34] ?% .{0,80}mean", r"1\.9\d s"), never=(r"(?i)nothing (worth changing|to fix)",)),
    Case("107", "YOLO: the second epoch", None, 180, 18000, says=(r"(?i)slower.{0,60}\b7\.\d times|455 ms to 3\.6",), never=(r"(?i)steady within|nothing to fix", FINISHED)),
    Case("108", "Keras: faster with each epoch", 0.393, 9430, 205000, (70_000, 82_000), says=(r"(?i)faster",), never=(r"(?i)get slower",)),
    Case("109", "Keras of samples: how long?", 30.5, 2, 20, (480, 600), never=(FINISHED, r"(?i)biggest cost: .{0,12}evaluation")),
    Case("110", "nnU-Net: minutes or half an hour", None, 63, says=(r"(?i)slower.{0,60}3 min 30 s to 1[34] min",), never=(r"(?i)nothing to fix|steady within",)),
    Case("111", "CLIP4Clip: steps of two speeds", None, 11, 12240, says=(r"(?i)two speeds", r"(?i)every 2"), never=(r"of 612\b", r"(?i)steady within")),
    Case("112", "Lightning: a bar of a later epoch", 40.0, None, None, (3_800, 4_000), never=(r"takes [1-9](\.\d+)? s\b",)),
    Case("113", "A bar of a later epoch, of an unknown format", 5.0, None, None, (580, 620), never=(r"takes \d+ ms",)),
    Case("114", "mmaction2: a negative ETA", 2.02, says=(r"(?i)(wait|data).{0,60}\b4[345] ?%", r"(?i)steady within"), never=(r"-\d+ d|−\d+ d", FINISHED)),
    Case("115", "ssd.pytorch between marks of code", 0.331, 40, slow=(0,), says=(r"(?i)warm-up",), never=(FINISHED,)),
    Case("116", "CycleGAN: how long will all of it take?", 64.0, 180, 200, (1_200, 1_350), never=(FINISHED, r"(?i)biggest cost: .{0,12}evaluation")),
    Case("117", "Two lines with timestamps", 0.362, 600, never=(FINISHED,)),
    Case("118", "Keras: killed behind the bar", says=(r"(?i)killed",), never=(FINISHED,)),
    Case("119", "Word language model: one line", 0.8124, 11360, says=(r"(?i)(one|single) (line|row)",), never=(r"takes 812 s", FINISHED)),
    Case("120", "PyTorch-GAN: only an ETA", None, None, 180600, (104_000, 106_000), says=(r"(?i)according to the trainer",), never=(r"takes \d+ s\b",)),
    Case("121", "One epoch, its seconds", 312.8, 4, 30, (8_000, 8_300), never=(FINISHED,)),
    Case("122", "BERT's tutorial: elapsed", 2.1, 120, never=(r"takes 4 min",)),
    Case("123", "plasma-python: an ETA of 16 years", 0.839, 0, never=(r"\d,\d\d\d d\b",)),
    Case("124", "What has passed and what is left, in brackets", 1.0, 450, 20000, (19_000, 20_000), never=(FINISHED,)),
    Case("125", "Megatron: linearly slower", None, 40, 1000, (45_000, 200_000), says=(r"(?i)slower.{0,40}31\.0 s to 73\.5 s|2\.4 times",), never=(r"(?i)steady within|nothing to fix",)),
    Case("126", "Keras: killed in its second pass", None, 91200, 182400, says=(r"(?i)killed", r"(?i)2 trainings"), never=(FINISHED, r"182,400 of 182,400")),
    Case("127", "Keras 3: many fits without epochs", 0.051, 198, says=(r"(?i)steady within",), never=(FINISHED,)),
    Case("128", "XGBoost: is gpu_hist slower than hist?", 11.5, 6, says=(r"(?i)2[2-4] times slower",), never=(FINISHED,)),
    Case("129", "OpenNMT-py: one GPU or eight?", None, 150, 40000, (20_000, 28_000), says=(r"(?i)2\.\d times slower.{0,80}300 ms.{0,40}6[34]\d ms",), never=(FINISHED,)),
    Case("130", "A bar that counts on from a memory that was filled", 0.1, 22100, 2000000, (190_000, 205_000), never=(FINISHED, r"takes [1-9]\.\d\d ms")),
    Case("131", "LLaMA-Factory: a logger behind the bar", 1.7, 184, 1840, (2_700, 2_900), never=(FINISHED,)),
    Case("132", "CatBoost: whole seconds that scatter", 7.3, 30, None, (1_200, 1_240), says=(r"(?i)steady within",), never=(FINISHED, r"(?i)get slower|slower since|times slower")),
    Case("133", "llama.cpp: the time left is cut off", 189.0, 44, None, (10_500, 10_800), says=(r"(?i)steady within",), never=(r"\b2 min \d+ s left", FINISHED)),
    Case("134", "Stable-Baselines3: a table on one line", 1.6, 60, never=(FINISHED,)),
    Case("135", "Kaldi: four hours?", 175.5, 57, 59, (300, 620), never=(FINISHED,)),
    Case("136", "LeRobot: the loader stalls", 0.21, 49, slow=(41,), says=(r"(?i)(wait|data).{0,60}\b8\d ?%",), never=(FINISHED, r"(?i)steady within 0")),
    Case("137", "LeRobot: one line without its timestamp", 1.106, 200, says=(r"(?i)(wait|data).{0,60}\b83 ?%",), never=(FINISHED,)),
    Case("138", "A clock that is never set back", says=(r"grow by 3\.1\d s with every iteration", r"(?i)reading is in doubt"), never=(FINISHED, r"(?i)steady within")),
    Case("139", "YOLO: the second epoch takes eight times as long", None, 180, 13500, (13_000, 42_000), says=(r"(?i)slower.{0,60}8\.\d times",), never=(FINISHED,)),
    Case("140", "Keras: each fit takes longer than the one before", None, 1, says=(r"(?i)slower.{0,60}35 ?%",), never=(FINISHED, r"(?i)run is complete|^Took")),
    Case("141", "Durations that grow, between two clocks", 0.1195, 120, says=(r"(?i)slower.{0,60}30\.\d ms to 210 ms|slower.{0,90}[67]\.\d times",), never=(FINISHED, r"takes \d\.\d+ s\b")),
    Case("142", "One GPU or four? The lines of both", 0.563, 80, says=(r"(?i)38 ?% slower", r"(?i)2 trainings"), never=(FINISHED, r"(?i)restarted")),
    Case("143", "Only a time and a loss, without a step", 41.22, 4, says=(r"(?i)steady within",), never=(FINISHED,)),
    Case("144", "verl: what takes so long?", 205.7, 8, says=(r"“gen”.{0,60}70 ?%",), never=(FINISHED,)),
    Case("145", "Joey NMT: why does validation take so long?", None, None, says=(r"(?i)3 evaluations took 1 min 1 s to 6 min 42 s",), never=(FINISHED, r"takes \d")),
    Case("146", "Every 200th batch takes 5 s", None, 400, says=(r"(?i)two speeds", r"(?i)every 200"), never=(FINISHED, r"(?i)slower since")),
    Case("147", "A time as 0:00:1.120", None, 39870, says=(r"1\.12 s",), never=(FINISHED, r"takes \d\d\.\d s")),
    Case("148", "A time of ten steps or of one", None, 240, says=(r"226 ms or 2\.26 s",), never=(FINISHED, r"takes 310 ms")),
    Case("149", "rsl_rl: one iteration, with its ETA", 33.99, None, None, (49_000, 51_000), says=(r"(?i)according to the trainer",), never=(FINISHED, r"^Took")),
    Case("150", "A bar whose rate is far from its mean", 0.26, 2400, 30000, (7_000, 66_000), says=(r"(?i)between 2 h and 18 h 15 min|differ by a factor of 9\.\d",), never=(FINISHED,)),
    Case("151", "ESPnet: one line after the start of an epoch", 0.583, None, None, (7_500, 8_000), says=(r"(?i)according to the trainer",), never=(FINISHED, r"(?i)prints no times")),
    Case("152", "A pose estimator: is it the reading?", 1.92, 303, 42200, (70_000, 95_000), says=(r"(?i)(wait|data).{0,80}\b7[78] ?%|\b7[78] ?%.{0,80}(wait|data)",), never=(FINISHED, r"(?i)nothing to fix")),
    Case("153", "The bar of a notebook", 7.97, 31, 540, (3_900, 4_500)),
    Case("154", "100 times slower? A bar whose mean is far from its rate", 90.0, 902, 120000, says=(r"Between 124 d 1 h and 303 d 6 h", r"factor of 2\.4"), never=(FINISHED, r"(?i)in doubt")),
    Case("155", "Epochs after their number; the last took an hour", 95.9, 36, says=(r"53 min",), slow=(36,), never=(FINISHED, r"(?i)in doubt")),
    Case("156", "Ranks that waited in vain", says=(r"after 30 min the others gave up", r"ALLGATHER"), never=(FINISHED,)),
    Case("157", "mlx-lm evaluates at 1 and at every 50th", 1.98, 50, 400, says=(r"eval_interval 50\b",), never=(FINISHED, r"steps-per-eval 49")),
    Case("158", "Mostly reading; a save that took nothing", 1.54, 600, says=(r"(?i)waiting for data takes 8[56]% of each iteration",), never=(FINISHED, r"checkpoint .* 1\d(\.\d)? s ")),
    Case("159", "A cost, and the time on the line below", 1.59, 10, says=(r"(?i)slower",), never=(FINISHED, r"(?i)nothing shows that this is a training")),
    Case("160", "Two rates an hour apart", None, 2400, says=(r"(?i)falls from 611 to 123 samples per second",), never=(FINISHED, r"rates only", r"(?i)in doubt")),
    Case("161", "nerfstudio: one line, with its share", 1.31, 5240, 30000, (32_000, 33_000)),
    Case("162", "A time left below zero", 1.01, None, says=(r"(?i)past 100%",), never=(FINISHED, r"22 h [34]\d")),
)  # fmt: skip
