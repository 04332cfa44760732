"""Reports are made to be shared: no key, token or password of a log reaches any output."""

from __future__ import annotations

import pytest

from stepscope.core.redact import MAX_LENGTH, mask, redact

SECRETS = [
    ("wandb: key is 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
    ("export WANDB_API_KEY=abcd1234efgh5678", "abcd1234efgh5678"),
    ("HF_TOKEN: hf_abcdefghijklmnopqrstuvwxyz", "hf_abcdefgh"),
    ("loading with token='hunter2secret'", "hunter2secret"),
    ("OPENAI_API_KEY = sk-proj-abcDEF123456", "abcDEF123456"),
    ("[sudo] password: correcthorse", "correcthorse"),
    ("mysql://root:s3cr3tpw@db.example/runs", "s3cr3tpw"),
    ("Authorization: Bearer abcdef1234567890", "abcdef1234567890"),
    ("git clone https://ghp_abcdefghij1234567890@example.com/x", "ghp_abcdefghij"),
    ("--api-key AbCdEf123456 --lr 3e-4", "AbCdEf123456"),
    ('{"aws_secret_access_key": "wJalrXUtnFEMIK7MDENG"}', "wJalrXUtnFEMI"),
    ("AKIAIOSFODNN7EXAMPLE in use", "AKIAIOSFODNN7"),
    ("https://bucket.example/x?X-Amz-Signature=deadbeef01&y=1", "deadbeef01"),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "eyJzdWIi"),
]


@pytest.mark.parametrize(("line", "secret"), SECRETS)
def test_a_secret_is_masked(line, secret):
    assert secret not in mask(line)
    assert "•••" in mask(line)


@pytest.mark.parametrize(
    "line",
    [
        "tokens per iteration will be: 32,768",
        "step 500: train loss 5.6502, val loss 5.6834",
        "saving checkpoint to out-shakespeare-char",
        "192,753 tokens per second",
        "found vocab_size = 65 (inside data/shakespeare_char/meta.pkl)",
        "use_auth_token = False",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 48.00 MiB.",
    ],
)
def test_ordinary_lines_stay_as_they_are(line):
    assert mask(line) == line


def test_a_secret_cut_by_the_length_limit_is_masked_whole():
    line = "x" * (MAX_LENGTH - 20) + " token=" + "s3cret" * 20
    assert "s3cret" not in redact(line)


@pytest.mark.parametrize("kind", ["terminal", "json", "markdown", "note"])
def test_no_output_holds_a_secret(cli, tmp_path, kind):
    """Secrets where quotes come from: unread lines, checkpoint paths, exceptions, the first line of an error."""
    log = tmp_path / "train.log"
    log.write_text(
        "password: hunter2secret\n"
        "step 0: train loss 4.2, val loss 4.2\niter 0: loss 4.2, time 900.00ms\n"
        + "".join(f"iter {i}: loss 3.0, time 100.00ms\n" for i in range(10, 100, 10))
        + "step 100: train loss 3.0, val loss 3.1\nsaving checkpoint to s3://key:hunter2secret@bucket/out\n"
        "iter 100: loss 3.0, time 2000.00ms\n"
        "Traceback (most recent call last):\n  File 'x'\nValueError: bad api_key=hunter2secret\n"
    )
    status, out, err = cli(log, "--format", kind)
    assert status == 0
    assert "ValueError" in out
    assert "hunter2secret" not in out + err


def test_an_error_message_holds_no_secret(cli, tmp_path):
    log = tmp_path / "x.log"
    log.write_text("DB_PASSWORD=hunter2secret\n")
    status, _, err = cli(log)
    assert status == 1
    assert "hunter2secret" not in err


def test_control_characters_never_reach_a_terminal():
    hostile = "\x1b]0;owned\x07 \x1b[2J bell\x07 \u202egnp.exe"
    assert not set(redact(hostile)) & set("\x1b\x07\u202e")


def test_markdown_shows_markup_as_text(cli, tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        "iter 10: loss 3.0, time 100.00ms\niter 20: loss 3.0, time 100.00ms\n<script>alert(1)</script> | [x](y) `z`\n"
    )
    _, out, _ = cli(log, "--format", "markdown")
    assert "<script>" not in out
    assert "&lt;script&gt;" in out
