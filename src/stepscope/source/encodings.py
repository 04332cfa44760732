"""Which encoding a text is in: byte-order marks, UTF-16 by its zero bytes, else UTF-8; and code pages by decoding.

A line that is valid UTF-8 is UTF-8. The other lines are tried in the code pages that logs come in, and the one whose
characters are most like a language wins. Lines are decoded one by one, so that a program that writes in the code page
of its console does not spoil those of a trainer that writes UTF-8.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_SNIFF_BYTES = 1 << 12
_MAX_EVIDENCE = 1 << 16
_MAX_PENDING = 1 << 20
_LEAST_SCORE = 0.3
_END_OF_LINE = re.compile(rb"(?<=[\n\r])")
_WRONG = -2.0


def _chars(text: str) -> frozenset[str]:
    return frozenset(text.replace(" ", ""))


# The most frequent characters of each language, and those of words that logs are made of.
_SIMPLIFIED = _chars(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经"
    "么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知"
    "全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度"
    "门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务"
    "做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记"
    "训练损失准确率轮批训验证测试保存加载模型数据配置开始结束编号显卡耗时步迭精召梯优配参读取文件径错误警告输入输出层预测类样本集"
)
_TRADITIONAL = _chars(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經"
    "麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心本前開但因只從想實日者意無力它與長把機十民第公此已工使情明性知全三又"
    "關點正業外將兩高間由問很最重並物手應向頭文體相見被利等產或新制身果加月話合回特代內信表化給位次度訓練損失準確率輪批驗證測試保"
    "存載模型數據資料配置始結束編號顯卡耗步迭精優參讀取檔案徑錯誤警告輸入輸出層預類樣集"
)
_HANGUL = _chars(
    "이다는에의을가하고를로기지사한은도으시자서인대어해그리나라정부일전수제상스장과보만주여있아성개것원공면동구세경위들등오신연"
    "학습손실률정확검증평균단계간저장완료작모델데터배치에폭속반복결과파출력입설율최테트진행중훈련초분현재남"
)
_KANA = re.compile(r"[ぁ-んァ-ヶー]")
_JAPANESE = _chars(
    "日一国人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語土"
    "木聞食車何南万毎白天母火右読友左休父雨学習損失正解率検証評価保存完了開始終了平均回数計算処理経過残訓練誤差"
)
_PUNCTUATION = _chars("，。：；、！？（）【】《》“”‘’…—「」『』〜・％～")
_WESTERN = _chars("éèêëàâäáãåæçñíìîïóòôöõøúùûüýÿßœÉÈÀÂÄÁÇÑÍÓÖØÚÜ")
_SIGNS = _chars("°±²³µ·×«»–—‘’“”…€£§©®¿¡½¼")


class _CodePage(NamedTuple):
    name: str
    common: frozenset[str]


_WIDE = (
    _CodePage("gb18030", _SIMPLIFIED),
    _CodePage("big5", _TRADITIONAL),
    _CodePage("cp932", _JAPANESE),
    _CodePage("euc_jp", _JAPANESE),
    _CodePage("cp949", _HANGUL),
)
_NARROW = ("cp1251", "koi8_r", "cp1252")


def detect_encoding(head: bytes) -> tuple[str, int]:
    """The encoding of a text that begins with `head`, and how many bytes of byte-order mark to skip.

    A code page counts as UTF-8 here: `TextDecoder` finds it.
    """
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if head.startswith(mark):
            return name, len(mark)
    sample = head[:_SNIFF_BYTES]
    if len(sample) >= 8:
        even, odd = sample[0::2].count(0), sample[1::2].count(0)
        half = len(sample) // 2
        if odd > 0.4 * half and even < 0.02 * half and _is_text(sample, "utf-16-le"):
            return "utf-16-le", 0
        if even > 0.4 * half and odd < 0.02 * half and _is_text(sample, "utf-16-be"):
            return "utf-16-be", 0
    return "utf-8", 0


def decode_text(blob: bytes) -> str:
    """A whole text, in whichever encoding it is."""
    encoding, skip = detect_encoding(blob)
    if encoding in {"utf-8", "utf-8-sig"}:
        return TextDecoder().decode(blob[skip:], final=True)
    return blob[skip:].decode(encoding, errors="replace")


def decode_line(line: bytes) -> str:
    """One line by itself: UTF-8, or the code page that it is most like."""
    text = _utf8(line)
    return line.decode(find_code_page(line) or "utf-8", errors="replace") if text is None else text


def find_code_page(lines: bytes) -> str | None:
    """The code page of lines that are not UTF-8; None where no language shows."""
    num = sum(byte >= 0x80 for byte in lines)
    if not num:
        return None
    scores = {page.name: _wide_score(lines, page) / num for page in _WIDE}
    scores |= {name: _narrow_score(lines, name) / num for name in _NARROW}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] >= _LEAST_SCORE else None


class TextDecoder:
    """Decodes UTF-8, a chunk at a time, and lines that are not in the code page that they turn out to be in."""

    def __init__(self) -> None:
        self.encoding = "utf-8"
        self._pending = b""
        self._evidence = bytearray()
        self._judged = 0  # bytes of evidence that the code page was judged by

    def decode(self, chunk: bytes, *, final: bool = False) -> str:
        """The text of `chunk` and of what was left of the one before."""
        data, self._pending = self._pending + chunk, b""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as problem:
            if not final and problem.end >= len(data) and problem.start >= len(data) - 3:
                self._pending = data[problem.start :]
                return data[: problem.start].decode("utf-8")
        end = len(data) if final else max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not end and len(data) > _MAX_PENDING:
            end = len(data)
        self._pending = data[end:]
        return self._lines(data[:end])

    def take_pending(self) -> bytes:
        """The bytes that are not decoded yet, handed over to another reader."""
        pending, self._pending = self._pending, b""
        return pending

    def _lines(self, data: bytes) -> str:
        lines = _END_OF_LINE.split(data)
        texts = [_utf8(line) for line in lines]
        others = [line for line, text in zip(lines, texts, strict=True) if text is None]
        self._judge(b"".join(others))
        return "".join(
            line.decode(self.encoding, errors="replace") if text is None else text
            for line, text in zip(lines, texts, strict=True)
        )

    def _judge(self, others: bytes) -> None:
        """Decide again while there is twice the evidence that there was."""
        self._evidence += others[: _MAX_EVIDENCE - len(self._evidence)]
        if len(self._evidence) >= 2 * self._judged:
            self._judged = len(self._evidence)
            self.encoding = find_code_page(bytes(self._evidence)) or self.encoding


def _utf8(line: bytes) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _is_text(sample: bytes, encoding: str) -> bool:
    text = sample[: len(sample) // 2 * 2].decode(encoding, errors="replace")
    return sum(char.isprintable() or char.isspace() or char == "\x1b" for char in text) >= 0.9 * len(text)


def _wide_score(lines: bytes, page: _CodePage) -> float:
    """How much the characters of two bytes look like the page's language, times their bytes."""
    score = 0.0
    for char in lines.decode(page.name, errors="replace"):
        if char < "\x80":
            continue
        if char in page.common or (page.common is _JAPANESE and _KANA.match(char)):
            score += 2.0
        elif char in _PUNCTUATION:
            score += 1.2
        elif "\uff61" <= char <= "\uff9f":
            score -= 0.5  # half-width kana: one byte each, and rare
        elif char == "\ufffd" or "\ue000" <= char <= "\uf8ff" or "\x80" <= char < "\xa0" or char > "\uffff":
            score += _WRONG
        elif "\u4e00" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3":
            score += 0.5
    return score


def _narrow_score(lines: bytes, name: str) -> float:
    """How much the characters of one byte look like words: Cyrillic ones, or Latin ones with an accent."""
    text = lines.decode(name, errors="replace")
    score, before = 0.0, " "
    for index, char in enumerate(text):
        if char >= "\x80":
            score += _weight(char, before, text[index + 1 : index + 2], is_western=name == "cp1252")
        before = char
    return score


def _weight(char: str, before: str, after: str, *, is_western: bool) -> float:
    if char == "\ufffd" or "\x80" <= char < "\xa0":
        return _WRONG
    if is_western:
        is_word = (before.isascii() and before.isalpha()) or (after.isascii() and after.isalpha())
        return 0.9 if char in _WESTERN and is_word else 0.5 if char in _SIGNS else 0.0
    if not "\u0400" <= char <= "\u04ff":
        return 0.3 if char in _SIGNS else 0.0
    if char.isupper() and before.islower():
        return -0.5  # the other code page of the same language turns the case around
    return 0.9 if char.islower() or after.isupper() or "\u0400" <= after <= "\u04ff" else 0.4
