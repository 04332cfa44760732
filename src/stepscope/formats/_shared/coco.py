"""What the COCO evaluation prints inside the logs of every object detector: understood, and carries nothing."""

from stepscope.lines.format import Line, Sample

LINES = (
    Line("chatter", r"(?:\d+: +)?Average (?:Precision|Recall) +\(A[PR]\) @\["),
    Line(
        "chatter",
        r"(?i:loading annotations into memory|creating index|index created|loading and preparing results"
        r"|running per image evaluation|evaluate annotation type|accumulating evaluation results"
        r"|evaluating predictions|done \(t=|IoU metric: )",
    ),
)
SAMPLES = (
    Sample(" Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.312".strip(), "chatter"),
    Sample("DONE (t=7.41s).", "chatter"),
    Sample("loading annotations into memory...", "chatter"),
)
