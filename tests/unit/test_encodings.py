"""Logs in code pages: which one is found by decoding, and the steps are read all the same."""

from __future__ import annotations

import pytest

from stepscope.core.errors import InputError
from stepscope.reading.log_reader import LogReader
from stepscope.source.encodings import TextDecoder, decode_text

TEXTS = {
    "gb18030": "加载配置文件：D:\\数据\\图片，开始训练第一个实验\n验证集准确率提高，保存模型\n",
    "big5": "載入設定檔，開始訓練第一個實驗\n驗證集準確率提高，儲存模型\n",
    "cp932": "設定ファイルを読み込みました。学習を開始します\n検証データの損失が改善、モデルを保存しました\n",
    "euc_jp": "設定ファイルを読み込みました。学習を開始します\n検証データの損失が改善、モデルを保存しました\n",
    "cp949": "설정 파일을 읽었습니다. 학습을 시작합니다\n검증 데이터의 손실이 개선되어 모델을 저장합니다\n",
    "cp1251": "Загружена конфигурация, начинаем обучение\nТочность на проверке выросла, модель сохранена\n",
    "koi8_r": "Загружена конфигурация, начинаем обучение\nТочность на проверке выросла, модель сохранена\n",
    "cp1252": "Début de l’entraînement, modèle chargé\nÉvaluation terminée : la précision a augmenté\n",
}
STEPS = [f"iter {step}: loss 2.{step:03d}, time 250.00ms\n" for step in range(300)]


def read(data: bytes, *, chunk: int = 1 << 16):
    reader = LogReader(paths=["train.log"])
    reader.begin_file()
    for start in range(0, len(data), chunk):
        reader.feed(data[start : start + chunk])
    reader.end_file()
    return reader.run()


@pytest.mark.parametrize("chunk", [997, 1 << 16])
@pytest.mark.parametrize("where", ["head", "middle", "tail", "throughout"])
@pytest.mark.parametrize("name", TEXTS)
def test_code_pages(name, where, chunk):
    lines = list(STEPS)
    if where == "throughout":
        lines = [line for step in STEPS for line in (TEXTS[name], step)]
    else:
        lines.insert({"head": 0, "middle": 150, "tail": 300}[where], TEXTS[name])
    run = read("".join(lines).encode(name), chunk=chunk)
    assert len(run) == 300
    assert run.encoding == name


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_comes_back_as_it_was(name):
    assert decode_text(TEXTS[name].encode(name)) == TEXTS[name]


@pytest.mark.parametrize("name", ["gb18030", "cp949", "cp1251"])
def test_a_text_in_a_code_page_is_not_binary(name):
    with pytest.raises(InputError) as refused:
        read((TEXTS[name] * 50).encode(name))
    assert "binary" not in refused.value.key


def test_lines_of_two_programs():
    """One writes UTF-8, the other in the code page of its console: each line is right."""
    data = "模型已保存\n".encode() + TEXTS["gb18030"].encode("gb18030")
    assert decode_text(data) == "模型已保存\n" + TEXTS["gb18030"]


def test_a_broken_character_leaves_utf8_what_it_is():
    decoder = TextDecoder()
    text = decoder.decode("vérifié, sauvegardé\n".encode() + b"cut \xe5\x8a\n" + "prêt\n".encode(), final=True)
    assert text == "vérifié, sauvegardé\ncut \ufffd\nprêt\n"
    assert decoder.encoding == "utf-8"


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_with_and_without_a_mark(name):
    lines = [line for step in STEPS for line in (step, "验证\n")]
    run = read("".join(lines).encode(name))
    assert len(run) == 300
    assert run.encoding.startswith("utf-16")
