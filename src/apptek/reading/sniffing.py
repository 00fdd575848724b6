"""What the start of a text file tells: its encoding and its delimiter."""

import codecs
import re
from collections import Counter
from itertools import islice

from apptek.errors import DataError
from apptek.reading.text_blocks import BYTE_ORDER_MARK
from apptek.reading.text_cells import OpenQuote, TextFormat, split_lines

SAMPLE_BYTES = 1 << 20
SAMPLE_LINES = 200
NEARLY_ALL = 0.9
DELIMITERS = (",", "\t", ";", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Well-formed characters of UTF-8 beyond ASCII; bytes that are no character of Windows-1252, or a
# very rare one; and letters of it that stand beside a letter, as most do in words.
_WIDE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_STRANGE = re.compile(rb"[\x81-\x84\x86-\x89\x8b\x8d\x8f\x90\x98\x99\x9b\x9d\xd7\xf7\xfe\xff]")
_IN_WORDS = re.compile(rb"(?<=[A-Za-z])[\x8a\x9a\xc0-\xfd]|[\x8a\x9a\xc0-\xfd](?=[A-Za-z])")
_HIGH = re.compile(rb"[\x80-\xff]")


def find_encoding(sample: bytes) -> str | None:
    """The encoding of a file that starts with `sample`; None for UTF-8.

    UTF-16 shows by its byte order mark. Bytes that are no UTF-8 are Windows-1252 (which holds
    Latin-1's letters) if at least half of them are letters within words there, none is strange,
    and nothing looks like UTF-8: else the file is damaged UTF-8, and the error should say so.
    """
    if sample.startswith(_UTF16):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # which may end within a character
    except UnicodeDecodeError:
        in_words = len(_IN_WORDS.findall(sample))
        plausible = 2 * in_words >= len(_HIGH.findall(sample))
        if plausible and not _WIDE.search(sample) and not _STRANGE.search(sample):
            return "windows-1252"
    return None


def check_encoding(name: str) -> str | None:
    """An encoding as a user names it; None for UTF-8, DataError if there is none of that name."""
    try:
        found = codecs.lookup(name).name
        "".encode(found)
    except LookupError:
        raise DataError(
            f"--read encoding={name} is unknown; expected utf-8, windows-1252, latin-1 or the like"
        ) from None
    return None if found == "utf-8" else name


def lines_of(sample: bytes, encoding: str | None) -> bytes:
    """The whole lines of a sample in UTF-8; what cannot be decoded is kept out of the way."""
    is_cut = len(sample) >= SAMPLE_BYTES
    if encoding is not None:
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        try:
            sample = decoder.decode(sample).encode()
        except UnicodeError:  # UTF-16 without a byte order mark: reading will say so
            return b"\n"
    sample = sample.removeprefix(BYTE_ORDER_MARK)
    end = sample.rfind(b"\n") + 1
    return sample[:end] if end and is_cut else sample.rstrip(b"\n") + b"\n"


def check_delimiter(text: str) -> str:
    """A delimiter as a user gives it: one character, or a word for one."""
    delimiter = _WORDS.get(text.lower(), text)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise DataError(f"--read delimiter={text}: expected one character, such as ';', or tab")
    return delimiter


def find_delimiter(sample: bytes, usual: TextFormat) -> TextFormat:
    """The format of a file that starts with `sample`.

    It is the usual one for the file's suffix, unless that splits the first lines in fewer than
    three cells and another delimiter splits nearly all of them alike. A space counts only where
    all cells are numbers, as in files of ids.
    """
    if _fits(sample, usual):
        return usual
    for delimiter in DELIMITERS:
        form = TextFormat(delimiter, quoted=usual.quoted or delimiter != "\t")
        if delimiter != usual.delimiter and _fits(sample, form, alike=True):
            return form
    spaced = TextFormat(" ", quoted=False)
    rows = first_rows(sample, spaced)
    numbers = rows and all(cell.removeprefix(b"-").isdigit() for row in rows for cell in row)
    return spaced if numbers and _fits(sample, spaced, alike=True) else usual


def _fits(sample: bytes, form: TextFormat, *, alike: bool = False) -> bool:
    """Whether the first line and nearly all others have three cells (alike: equally many)."""
    rows = first_rows(sample, form)
    counts = [0 if isinstance(row, OpenQuote) else len(row) for row in rows]
    if not counts or counts[0] < 3:
        return False
    usual = Counter(counts).most_common(1)[0][0]
    fitting = sum(count == usual if alike else count >= 3 for count in counts)
    return fitting >= NEARLY_ALL * len(counts)


def first_rows(sample: bytes, form: TextFormat) -> list[list[bytes]]:
    """The cells of the first lines that are not empty."""
    return list(islice((row for row in split_lines(sample, form) if row), SAMPLE_LINES))
