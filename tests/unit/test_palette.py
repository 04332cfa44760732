"""The colours, measured: readable on their paper, and apart for people who do not see red or green."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from stepscope.report import assets, palette, templating
from stepscope.report.palette import PHASES, SURFACES, THEMES

# Machado, Oliveira and Fernandes (2009), full strength, for linear RGB.
_SEEN_AS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "full sight": np.eye(3).tolist(),
}
# The phases that nearly every run has; of the others the words tell.
_COMMON = ("step", "evaluation", "checkpoint", "warmup", "stall")


def linear(color):
    value = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(color, matrix):
    rgb = np.clip(np.array(matrix) @ linear(color), 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ rgb / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
def test_phases_are_seen_on_their_paper_and_words_are_read(theme):
    for paper in ("paper", "canvas", "panel"):
        on = SURFACES[paper].on(theme)
        for phase, color in PHASES.items():
            assert contrast(color.on(theme), on) >= 3, (phase, paper)
        for ink in ("ink", "dim", "accent", "good", "warn", "bad"):
            assert contrast(SURFACES[ink].on(theme), on) >= 4.5, (ink, paper)
    for tone in ("good", "warn", "bad", "accent"):
        assert contrast(SURFACES[tone].on(theme), SURFACES[f"{tone}-soft"].on(theme)) >= 4.5, tone


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("sight", _SEEN_AS)
def test_common_phases_are_told_apart_without_red_or_green(theme, sight):
    seen = {phase: lab(PHASES[phase].on(theme), _SEEN_AS[sight]) for phase in _COMMON}
    near = {
        (one, other): float(np.linalg.norm(seen[one] - seen[other]))
        for one, other in itertools.combinations(_COMMON, 2)
    }
    assert min(near.values()) > 12, min(near, key=near.__getitem__)


def test_every_colour_of_a_style_is_defined():
    style = assets.styles()
    for name in set(re.findall(r"var\(--([\w-]+)\)", style)):
        assert f"--{name}:" in style, name
    assert palette.css().count("--step:") == 2


def test_a_bundle_has_each_module_once_before_those_that_use_it(tmp_path):
    (tmp_path / "low.js").write_text("export const one = 1;\nfunction own() {}\n")
    (tmp_path / "middle.js").write_text('import { one } from "./low.js";\nexport function two() { return one + 1; }\n')
    entry = tmp_path / "top.js"
    entry.write_text('import { two } from "./middle.js";\nimport { one as first } from "./low.js";\ntwo(first);\n')
    text = assets.bundle(entry)
    assert text.count("const one = 1;") == 1
    assert text.index("const one = 1;") < text.index("function two") < text.index("two(first)")
    assert "const { one: first } = module" in text
    assert "export" not in text


@pytest.mark.parametrize(
    "bad", ['import x from "./low.js";', "export default 1;", 'import("./low.js");', "export { a };"]
)
def test_a_bundle_refuses_what_it_would_leave_in(tmp_path, bad):
    (tmp_path / "low.js").write_text("export const one = 1;\n")
    (tmp_path / "top.js").write_text(bad + "\n")
    with pytest.raises(ValueError, match=r"top\.js"):
        assets.bundle(tmp_path / "top.js")


def test_templates_escape_what_they_are_given():
    made = templating.component("table", ["<a>"], [["<b>"]], '"><c>', numbers={0})
    assert "&lt;a&gt;" in made
    assert "&lt;b&gt;" in made
    assert "<c>" not in made
    assert Path(templating.TEMPLATES, "base.html").exists()
