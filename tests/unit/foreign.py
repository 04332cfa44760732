"""Files that people have lying about and that are no training logs, though they count, time and name losses."""

from __future__ import annotations

import re


def prose(rng):
    words = re.findall(
        r"\w+", "the model was trained for days and its loss went down from step to step until it did not"
    )
    return "\n".join(" ".join(rng.choices(words, k=14)).capitalize() + "." for _ in range(80))


def source_code(_rng):
    body = "    for step in range(1000):\n        loss = model(batch)  # step 12 of 500\n        loss.backward()\n"
    return "import torch\n\n" + "\n".join(f"def train_{i}(model, batch, lr=0.0{i}):\n{body}" for i in range(30))


def sales(rng):
    articles = ["tea", "rice"]
    rows = (f"2026-01-{1 + i % 28:02d},{1000 + i},{rng.choice(articles)},{rng.random() * 50:.2f}" for i in range(200))
    return "\n".join(["date;order;article;price", *rows])


def access_log(rng):
    return "\n".join(
        f"10.0.0.{rng.randrange(255)} - - [01/Mar/2026:22:{i // 60:02d}:{i % 60:02d} +0000] "
        f'"GET /step/{i} HTTP/1.1" 200 {rng.randrange(9999)} 0.0{rng.randrange(99)}'
        for i in range(300)
    )


def nvidia_smi(rng):
    return "\n".join(
        f"|   {i % 8}  Some Card 9000          On   | 00000000:0{i % 8}:00.0 Off | "
        f"{rng.randrange(100):3d}%   61C    P0   280W / 400W |  {rng.randrange(40000)}MiB / 40960MiB |"
        for i in range(64)
    )


def pip_install(rng):
    return "\n".join(
        f"Collecting package{i}\n  Downloading package{i}-1.{i}.0-py3-none-any.whl ({rng.randrange(900)} kB)\n"
        f"     {'━' * 40} {rng.randrange(900)}/900 kB {rng.random() * 9:.1f} MB/s eta 0:00:00"
        for i in range(60)
    )


def json_config(_rng):
    layers = ",\n".join(f'  {{"size": {i * 8}, "dropout": 0.{i % 9}}}' for i in range(40))
    return '{\n "steps": 1000,\n "lr": 0.001,\n "layers": [\n' + layers + "\n ]\n}"


def compiler(rng):
    return "\n".join(
        f"[{i}/400] Building CXX object src/CMakeFiles/core.dir/file{rng.randrange(999)}.cpp.o" for i in range(1, 401)
    )


def compiler_warnings(rng):
    return "\n".join(
        f"src/train.c:{rng.randrange(900)}:{rng.randrange(80)}: warning: unused variable 'loss' [-Wunused]"
        for _ in range(90)
    )


def ping(rng):
    lines = [f"64 bytes from 10.0.0.1: icmp_seq={i} ttl=56 time={14 + rng.random():.1f} ms" for i in range(1, 200)]
    return "\n".join([*lines, "199 packets transmitted, 199 received, 0% packet loss, time 199204ms"])


def download(_rng):
    bars = (f"{i}%|{'#' * (i // 10):<10}| {i * 10}M/1.0G [00:{i // 2:02d}<00:10, 25.1MB/s]" for i in range(100))
    return "".join(f"\rmodel.bin: {bar}" for bar in bars)


def unit_tests(rng):
    return "\n".join(f"tests/test_train.py::test_step_{i} PASSED [{i:3d}%] {rng.random():.2f}s" for i in range(1, 100))


def system_log(_rng):
    return "\n".join(
        f"Mar  1 22:{i // 60:02d}:{i % 60:02d} host kernel: [{i * 1.5:.6f}] usb 1-{i % 4}: new device number {i}"
        for i in range(300)
    )


def table_of_numbers(rng):
    return "\n".join(f"{i}\t{rng.randrange(9999)}\t{rng.random() * 100:.2f}" for i in range(200))


def git_log(rng):
    return "\n".join(
        f"commit {rng.getrandbits(160):040x}\nDate:   Sun Mar 1 22:00:{i % 60:02d} 2026\n\n    Step {i}: train faster\n"
        for i in range(60)
    )


def rsync(rng):
    return "\n".join(
        f"{i * 32768:>15,} {i % 100:3d}%  {rng.random() * 90:6.2f}MB/s  0:00:{i % 60:02d} (xfr#{i}, left={400 - i}/400)"
        for i in range(300)
    )


def http_benchmark(rng):
    return "\n".join(f"request {i} latency {rng.random() * 20:.2f} ms status 200" for i in range(300))


def top(rng):
    return "\n".join(
        f"{1000 + i} root 20 0 {rng.randrange(10**6)} S {rng.random() * 9:.1f} 0.{i % 9} 0:0{i % 9}.12 python train.py"
        for i in range(90)
    )


def game_of_chess(rng):
    return "\n".join(f"{i}. e4 e5 {{[%clk 0:0{9 - i // 20}:{rng.randrange(60):02d}]}}" for i in range(1, 120))


def subtitles(rng):
    return "\n".join(
        f"{i}\n00:{i // 60:02d}:{i % 60:02d},000 --> 00:{i // 60:02d}:{i % 60:02d},{rng.randrange(999):03d}\nWho?\n"
        for i in range(1, 200)
    )


NON_LOGS = [
    prose, source_code, sales, access_log, nvidia_smi, pip_install, json_config, compiler, compiler_warnings, ping,
    download, unit_tests, system_log, table_of_numbers, git_log, rsync, http_benchmark, top, game_of_chess, subtitles,
]  # fmt: skip
