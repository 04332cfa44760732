"""Event files are read from their bytes: framing, messages, truncation, garbage."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.tfevents import masked_crc, read_events, sniff, to_lines
from stepscope.reading.log_reader import LogReader

WALL = 1731600000.0


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def scalar(tag, value):
    return field(1, field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value))


def tensor_scalar(tag, value, *, packed):
    shape = field(2, b"")
    content = field(5, struct.pack("<f", value)) if packed else field(4, struct.pack("<f", value))
    return field(1, field(1, tag.encode()) + field(8, b"\x08\x01" + shape + content))


def event(wall_s, step, summary=b"", rest=b""):
    return b"\x09" + struct.pack("<d", wall_s) + b"\x10" + varint(step) + (field(5, summary) if summary else b"") + rest


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


VERSION = record(b"\x09" + struct.pack("<d", WALL) + field(3, b"brain.Event:2"))


def small_file(num_steps=6):
    data = VERSION
    for index in range(num_steps):
        step = 10 * (index + 1)
        data += record(event(WALL + 2 * index, step, scalar("train/lr", 0.1)))
        data += record(event(WALL + 2 * index + 0.01, step, scalar("train/loss", 4 - 0.5 * index)))
    data += record(event(WALL + 2 * num_steps + 5, 10 * num_steps, scalar("val/loss", 3.25) + scalar("val/acc", 0.5)))
    return data


def run_of(data):
    reader = LogReader(paths=["events.out.tfevents.1.host"])
    reader.begin_file()
    reader.feed(data)
    reader.end_file()
    return reader.run()


def test_the_checksum_is_the_known_one():
    """CRC-32C of `123456789` is e3069283; the mask is that of the record format."""
    crc = 0xE3069283
    assert masked_crc(b"123456789") == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def test_a_file_gives_a_row_per_step_and_its_evaluation():
    assert sniff(small_file())
    run = run_of(small_file())
    assert run.format.name == "tfevents"
    assert run.steps.step.tolist() == [10, 20, 30, 40, 50, 60]
    assert run.steps.loss.tolist() == [4, 3.5, 3, 2.5, 2, 1.5]
    assert run.steps.dur_ns[1:].tolist() == [200_000_000] * 5
    assert run.events.kind == ("evaluation",)
    assert run.events.val_loss.tolist() == [3.25]
    assert run.num_unread == 0


def test_both_ways_of_writing_a_scalar_as_a_tensor_are_read():
    data = VERSION
    for step, packed in ((1, True), (2, False)):
        data += record(event(WALL + step, step, tensor_scalar("epoch_loss", 2.5, packed=packed)))
    assert [dict(e.scalars) for e in read_events(data)] == [{"epoch_loss": 2.5}] * 2


def test_pictures_and_histograms_are_no_steps():
    picture = field(1, field(1, b"images/0") + field(4, b"\x08\x40\x10\x40"))
    histogram = field(1, field(1, b"weights") + field(5, b"\x11" + struct.pack("<d", 1.0)))
    text = field(1, field(1, b"config") + field(8, b"\x08\x07" + field(8, b"lr = 1")))
    data = VERSION + record(event(WALL, 0, picture)) + record(event(WALL, 0, histogram)) + record(event(WALL, 0, text))
    assert list(read_events(data)) == []


def test_a_session_mark_is_a_start_or_a_checkpoint():
    started = record(event(WALL, 0, rest=field(7, b"\x08\x01")))
    saved = record(event(WALL + 9, 500, rest=field(7, b"\x08\x03" + field(2, b"model.ckpt"))))
    assert list(to_lines(VERSION + started + saved)) == [
        "tfevents: start step 0 unix_s 1731600000.000000",
        "tfevents: checkpoint step 500 unix_s 1731600009.000000",
    ]


def test_steps_and_epochs_in_one_file_are_not_mixed():
    data = VERSION
    for step in range(1, 9):
        data += record(event(WALL + step, step, scalar("train_loss_step", 1.0)))
        if step % 4 == 0:
            data += record(event(WALL + step + 0.1, step // 4, scalar("train_loss_epoch", 1.0)))
    assert run_of(data).steps.step.tolist() == list(range(1, 9))


def test_a_record_file_of_something_else_is_not_claimed():
    assert not sniff(record(field(1, b"an example of a data set")))
    assert not sniff(b"")
    assert not sniff(VERSION[:15])
    assert not sniff(b"iter 0: loss 10.9, time 25118.40ms, mfu -100.00%\n")


def test_garbage_between_two_records_costs_only_itself():
    half = VERSION + record(event(WALL, 1, scalar("loss", 1.0)))
    data = half + b"\xff\x00garbage\x09" * 9 + record(event(WALL + 1, 2, scalar("loss", 0.5)))
    assert [e.step for e in read_events(data)] == [1, 2]


def test_a_length_that_reaches_beyond_the_file_ends_it():
    length = struct.pack("<Q", 1 << 62)
    data = small_file() + length + struct.pack("<I", masked_crc(length)) + b"x"
    assert len(run_of(data)) == 6


@given(st.integers(0, len(small_file())))
def test_a_cut_file_has_the_same_steps_up_to_the_cut(cut):
    whole = list(read_events(small_file()))
    part = list(read_events(small_file()[:cut]))
    assert part == whole[: len(part)]


@given(st.lists(st.tuples(st.integers(0, len(small_file()) - 1), st.integers(0, 255)), max_size=12))
def test_broken_bytes_never_raise(changes):
    data = bytearray(small_file())
    for place, byte in changes:
        data[place] = byte
    sniff(bytes(data))
    assert all(line.startswith("tfevents: ") for line in to_lines(bytes(data)))


@given(st.binary(max_size=200))
def test_any_message_in_a_sound_record_never_raises(message):
    list(to_lines(VERSION + record(message) + record(b"\x09" + struct.pack("<d", WALL) + message)))
