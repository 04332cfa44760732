"""The model's shape: parameters, FLOPs per token, bytes of a checkpoint; from a nanoGPT or HF config, or flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stepscope.core.errors import UsageError
from stepscope.core.settings import Value

# nanoGPT's own defaults (train.py), for what its config files leave out.
_NANOGPT: dict[str, int] = {"n_layer": 12, "n_head": 12, "n_embd": 768, "block_size": 1024, "vocab_size": 50304}
_CHARACTERS = 65
# HF's names for the same things, and what older model families call them.
_HF = {
    "layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "context": ("max_position_embeddings", "n_positions", "n_ctx"),
    "vocabulary": ("vocab_size",),
}
# A model is usually about this many channels wide per layer (GPT-2 and its successors: 64 to 128).
_ASPECT = 80


class ModelShape(NamedTuple):
    """A decoder-only transformer."""

    layers: int
    heads: int
    hidden: int
    context: int
    vocabulary: int
    inner: int  # width of the MLP
    key_hidden: int  # width of the keys: less than `hidden` with grouped queries
    has_gate: bool = False  # the MLP has a third matrix
    has_bias: bool = False
    has_positions: bool = True  # learned ones
    is_tied: bool = True
    dropout: float = 0.0
    has_flash: bool = True

    @property
    def block_matrices(self) -> int:
        """Weights of the matrix products of one layer."""
        attention = 2 * self.hidden * self.hidden + 2 * self.hidden * self.key_hidden
        return attention + (3 if self.has_gate else 2) * self.hidden * self.inner

    @property
    def parameters(self) -> int:
        """All of them, positions included."""
        norms = 2 * self.hidden
        if self.has_bias:
            norms += 2 * self.hidden + self.hidden + 2 * self.key_hidden + self.hidden + self.inner + self.hidden
        embeddings = self.vocabulary * self.hidden * (1 if self.is_tied else 2)
        positions = self.context * self.hidden if self.has_positions else 0
        final = self.hidden * (2 if self.has_bias else 1)
        return embeddings + positions + self.layers * (self.block_matrices + norms) + final

    @property
    def matrix_parameters(self) -> int:
        """Those that every token is multiplied with: the layers and the output, not the look-ups."""
        return self.layers * self.block_matrices + self.vocabulary * self.hidden

    @property
    def flops_per_token(self) -> float:
        """Forward and backward, as nanoGPT counts: 6 N + 12 L C T, with N without the positions."""
        counted = self.parameters - (self.context * self.hidden if self.has_positions else 0)
        return 6.0 * counted + 12.0 * self.layers * self.hidden * self.context

    @property
    def work_per_token(self) -> float:
        """FLOPs really done: causal attention does half of the square."""
        square = 6.0 if self.has_flash else 12.0
        return 6.0 * self.matrix_parameters + square * self.layers * self.hidden * self.context

    @property
    def checkpoint_bytes(self) -> int:
        """Weights and both moments of Adam in 32 bits."""
        return 12 * self.parameters


def gpt(*, layers: int, heads: int, hidden: int, context: int, vocabulary: int, **others: float) -> ModelShape:
    """A model of GPT-2's shape, as nanoGPT builds it.

    layers, heads, hidden: number of layers, attention heads of each, and width.
    context: tokens of one sequence.
    vocabulary: number of tokens to choose from.
    others: `bias`, `dropout` and `is_tied`, where they differ from nanoGPT's defaults.
    """
    return ModelShape(
        layers=layers,
        heads=heads,
        hidden=hidden,
        context=context,
        vocabulary=vocabulary,
        inner=4 * hidden,
        key_hidden=hidden,
        has_bias=bool(others.get("bias", False)),
        dropout=float(others.get("dropout", 0.0)),
        is_tied=bool(others.get("is_tied", True)),
    )


def shape_of(config: Mapping[str, Value]) -> tuple[ModelShape, list[str]]:
    """The shape that a config describes, and the names of what it leaves to defaults."""
    if _first(config, _HF["hidden"]) is not None and ("hidden_size" in config or "model_type" in config):
        return _from_hf(config), []
    values: dict[str, int] = {}
    assumed = []
    for name, default in _NANOGPT.items():
        stated = _whole(config.get(name))
        if stated is None:
            assumed.append(name)
            # nanoGPT takes the vocabulary from the data folder; character data has some 65 signs.
            is_characters = name == "vocab_size" and str(config.get("dataset", "")).endswith("_char")
            stated = _CHARACTERS if is_characters else default
        values[name] = stated
    dropout = config.get("dropout", 0.0)
    shape = gpt(
        layers=values["n_layer"],
        heads=values["n_head"],
        hidden=values["n_embd"],
        context=values["block_size"],
        vocabulary=values["vocab_size"],
        bias=bool(config.get("bias", False)),
        dropout=float(dropout) if isinstance(dropout, int | float) else 0.0,
    )
    return _checked(shape), assumed


def _from_hf(config: Mapping[str, Value]) -> ModelShape:
    found = {name: _first(config, keys) for name, keys in _HF.items()}
    missing = [_HF[name][0] for name, value in found.items() if value is None and name != "context"]
    if missing:
        raise UsageError("plan-shape-missing", place="--config", names=", ".join(missing))
    hidden, heads = found["hidden"] or 1, found["heads"] or 1
    is_gpt2 = str(config.get("model_type", "")) in {"gpt2", "gpt_neo", "opt"} or "n_embd" in config
    inner = _first(config, ("intermediate_size", "n_inner", "ffn_dim")) or 4 * hidden
    key_heads = _first(config, ("num_key_value_heads",)) or heads
    head = _first(config, ("head_dim",)) or hidden // heads
    return _checked(
        ModelShape(
            layers=found["layers"] or 1,
            heads=heads,
            hidden=hidden,
            context=found["context"] or 2048,
            vocabulary=found["vocabulary"] or 1,
            inner=inner,
            key_hidden=key_heads * head,
            has_gate=not is_gpt2,
            has_bias=is_gpt2,
            has_positions=is_gpt2,
            is_tied=bool(config.get("tie_word_embeddings", is_gpt2)),
        )
    )


def shape_from_flags(
    *, parameters: float | None, layers: int | None, hidden: int | None, vocabulary: int | None, context: int | None
) -> ModelShape:
    """A GPT of stated sizes; with only a number of parameters, of the usual proportions.

    parameters: wanted size; used where `layers` or `hidden` is missing.
    layers, hidden: depth and width.
    vocabulary, context: nanoGPT's defaults where missing.
    """
    vocabulary, context = vocabulary or _NANOGPT["vocab_size"], context or _NANOGPT["block_size"]
    if layers is None or hidden is None:
        if parameters is None:
            raise UsageError("plan-needs-model", place="stepscope plan")
        layers, hidden = _proportions(parameters, vocabulary, context, layers, hidden)
    return _checked(
        gpt(layers=layers, heads=max(1, hidden // 64), hidden=hidden, context=context, vocabulary=vocabulary)
    )


def _proportions(
    parameters: float, vocabulary: int, context: int, layers: int | None, hidden: int | None
) -> tuple[int, int]:
    """Depth and width that come nearest to `parameters`, at the usual proportions where both are free."""
    if not 1e4 <= parameters <= 1e13:
        raise UsageError("bad-parameters", place=f"--params {parameters:g}")
    depths = [layers] if layers else range(2, 129)
    widths = [hidden] if hidden else range(64, 20481, 64)
    best = (float("inf"), 1, 64)
    for depth in depths:
        for width in widths:
            if layers is None and hidden is None and not 0.6 < width / (depth * _ASPECT) < 1.7:
                continue
            size = gpt(layers=depth, heads=1, hidden=width, context=context, vocabulary=vocabulary).parameters
            best = min(best, (abs(size - parameters), depth, width))
    if best[0] == float("inf"):
        return 2, 64
    return best[1], best[2]


def _checked(shape: ModelShape) -> ModelShape:
    sizes = (shape.layers, shape.heads, shape.hidden, shape.context, shape.vocabulary, shape.inner)
    if min(sizes) < 1 or max(sizes) > 1 << 26 or shape.layers > 10_000:
        raise UsageError(
            "plan-bad-shape", place=f"{shape.layers} x {shape.hidden}, {shape.context}, {shape.vocabulary}"
        )
    return shape


def _first(config: Mapping[str, Value], names: tuple[str, ...]) -> int | None:
    return next((value for value in (_whole(config.get(name)) for name in names) if value is not None), None)


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 1:
        return None
    return int(value)
