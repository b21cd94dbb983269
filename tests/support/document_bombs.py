"""Documents that cost more than they weigh: loops, what unpacks for ever, what multiplies, what is not what
it says. Built when they are asked for, the same each time; none is stored.
"""

from __future__ import annotations

import gzip
import io
import random
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from tests.support.pdf import HELLO, make_pdf

PDF, HTML, CSV, TEXT = "application/pdf", "text/html", "text/csv", "text/plain"


@dataclass(frozen=True)
class Bomb:
    """A document, and whether its words can be had: None where either will do."""

    make: Callable[[], bytes]
    mime_type: str = TEXT
    filename: str = "kettle.txt"
    is_readable: bool | None = None


def pdf_of(*objects: bytes, trailer: bytes = b"", size: int | None = None) -> bytes:
    """A PDF of these objects, numbered from one, of which the first is the catalog."""
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start, table = len(out), b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n%b" % (size or len(objects) + 1, table)
    return (
        bytes(out)
        + head
        + b"trailer << /Size %d /Root 1 0 R %b >>\nstartxref\n%d\n%%%%EOF"
        % (
            size or len(objects) + 1,
            trailer,
            start,
        )
    )


CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources %b >>"
ONE_PAGE = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"


def stream(data: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(data), extra, data)


def with_resources(resources: bytes, content: bytes, *more: bytes) -> bytes:
    """A PDF of one page; ``more`` are the objects from 5 on."""
    return pdf_of(CATALOG, ONE_PAGE, PAGE % resources, stream(content), *more)


def forms_of_forms(depth: int = 12, each: int = 12) -> bytes:
    """A drawing that has the next one in it several times, and so on."""
    forms = []
    for level in range(depth):
        inner = b"<< /XObject << /F %d 0 R >> >>" % (6 + level)
        extra = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources %b" % inner
        forms.append(stream(b"/F Do " * each, extra))
    last = stream(HELLO, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]")
    return with_resources(b"<< /XObject << /F 5 0 R >> >>", b"/F Do " * each, *forms, last)


def with_letters(mapping: bytes, content: bytes) -> bytes:
    """A PDF whose font says which letters its codes stand for."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>"
    cmap = b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange %b endcmap" % mapping
    return with_resources(b"<< /Font << /F1 5 0 R >> >>", content, font, stream(cmap))


def letters_that_grow() -> bytes:
    mapping = b"1 beginbfchar <41> <%b> endbfchar" % (b"00780079" * 20_000)
    return with_letters(mapping, b"BT /F1 12 Tf (" + b"A" * 100_000 + b") Tj ET")


def deep_tree(depth: int = 20_000) -> bytes:
    """A tree of pages that is one long branch."""
    levels = [b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % (number + 3) for number in range(depth)]
    return pdf_of(CATALOG, *levels, b"<< /Type /Page /MediaBox [0 0 9 9] >>")


def packed(times: int, data: bytes = b" " * 2**26) -> bytes:
    for _ in range(times):
        data = zlib.compress(data, 9)
    return make_pdf(data, b"/Filter [%b]" % (b"/FlateDecode " * times))


def endless_table() -> bytes:
    """The table of its objects says that the one before it is itself."""
    whole = make_pdf()
    start = whole.rindex(b"xref\n0 6")
    return whole.replace(b"/Root 1 0 R >>", b"/Root 1 0 R /Prev %d >>" % start)


def broken(seed: int, whole: bytes) -> bytes:
    """A document of which some bytes are others, and the end may be gone."""
    chance, out = random.Random(seed), bytearray(whole)
    for _ in range(chance.choice((1, 5, 40))):
        out[chance.randrange(9, len(out))] = chance.choice((0, 0x28, 0x3C, 0x5B, 0x39, chance.randrange(256)))
    return bytes(out[: chance.choice((len(out), chance.randrange(len(out))))])


def broken_pdf(seed: int) -> bytes:
    return broken(seed, make_pdf(zlib.compress(HELLO), b"/Filter /FlateDecode"))


PREDICTED = b"/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 2147483647 /Colors 32 /BitsPerComponent 16 >>"
PDFS: Mapping[str, tuple[Callable[[], bytes], bool | None]] = {
    "pages that hold themselves": (lambda: pdf_of(CATALOG, b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"), False),
    "pages that hold each other": (
        lambda: pdf_of(CATALOG, b"<< /Type /Pages /Kids [3 0 R] >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] >>"),
        False,
    ),
    "a parent that is its own": (
        lambda: pdf_of(CATALOG, b"<< /Type /Pages /Parent 2 0 R /Kids [3 0 R] /Count 1 >>", PAGE % b"<< >>"),
        False,
    ),
    "a tree of one long branch": (deep_tree, False),
    "two billion pages by its word": (lambda: make_pdf().replace(b"/Count 1", b"/Count 2147483647"), None),
    "fifty thousand pages": (lambda: make_pdf(pages=50_000), False),
    "a catalog that is itself": (lambda: pdf_of(b"1 0 R"), False),
    "a table before itself": (endless_table, True),
    "a table of two billion": (lambda: pdf_of(CATALOG, ONE_PAGE, PAGE % b"<< >>", size=2_000_000_000), False),
    "a table nowhere": (lambda: make_pdf().replace(b"startxref\n", b"startxref\n99999999999"), None),
    "a length that is itself": (lambda: make_pdf(extra=b"/Length 4 0 R"), None),
    "a length of a terabyte": (lambda: make_pdf().replace(b"/Length 4", b"/Length 1099511627776"), None),
    "a negative length": (lambda: make_pdf().replace(b"/Length 4", b"/Length -4"), None),
    "lists in lists": (lambda: pdf_of(CATALOG, b"[" * 100_000 + b"]" * 100_000), False),
    "objects in objects": (lambda: pdf_of(CATALOG, b"<< /A " * 100_000 + b">>" * 100_000), False),
    "lists in what is drawn": (lambda: make_pdf(b"[" * 200_000), False),
    "packed twice": (lambda: packed(2), False),
    "packed four times": (lambda: packed(4), False),
    "twenty filters": (lambda: make_pdf(HELLO, b"/Filter [%b]" % (b"/ASCIIHexDecode " * 20)), None),
    "a row of two billion": (lambda: make_pdf(zlib.compress(b"\2" * 2**20), PREDICTED), False),
    "runs of one letter": (lambda: make_pdf(b"\x81A" * 500_000 + b"\x80", b"/Filter /RunLengthDecode"), False),
    "drawings of themselves": (
        lambda: with_resources(
            b"<< /XObject << /F 5 0 R >> >>",
            b"/F Do",
            stream(b"/F Do", b"/Type /XObject /Subtype /Form /Resources << /XObject << /F 5 0 R >> >>"),
        ),
        False,
    ),
    "drawings of drawings": (forms_of_forms, False),
    "letters of many letters": (letters_that_grow, False),
    "letters without end": (
        lambda: with_letters(b"1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange", HELLO),
        None,
    ),
    "halves of letters": (
        lambda: with_letters(b"1 beginbfrange <41> <5A> <D800> endbfrange", b"BT /F1 9 Tf (KETTLE) Tj ET"),
        None,
    ),
    "NULs for letters": (lambda: make_pdf(b"BT /F1 12 Tf (a\\000kettle) Tj ET"), None),
    "fonts in themselves": (
        lambda: with_resources(
            b"<< /Font << /F1 5 0 R >> >>", HELLO, b"<< /Type /Font /Subtype /Type0 /DescendantFonts [5 0 R] >>"
        ),
        None,
    ),
    "states without end": (lambda: make_pdf(b"q " * 500_000 + HELLO), None),
    "a picture that does not end": (lambda: make_pdf(b"BI /W 9999999 /H 9999999 ID " + b"\0" * 100_000), False),
    "locked": (
        lambda: pdf_of(
            CATALOG, ONE_PAGE, PAGE % b"<< >>", trailer=b"/Encrypt << /Filter /Standard /V 9 /R 99 /Length -8 >>"
        ),
        False,
    ),
    "nothing behind its head": (lambda: b"%PDF-1.7\n" + b"\n" * 2**20, False),
    "a head a hundred thousand times": (lambda: b"%PDF-1.7\n1 0 obj\n" * 100_000, False),
    **{f"broken, {seed}": (partial(broken_pdf, seed), None) for seed in range(40)},
}


def zipped(*names: str, size: int = 2**26) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in names:
            archive.writestr(name, b" " * size)
    return out.getvalue()


def laughs(levels: int = 30) -> bytes:
    """XML that says ha for a billion times."""
    kinds = "".join(f'<!ENTITY a{n} "&a{n - 1};&a{n - 1};">' for n in range(1, levels))
    return f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a0 "ha">{kinds}]><a>&a{levels - 1};</a>'.encode()


def aliases(levels: int = 30) -> bytes:
    """The same in YAML."""
    return "\n".join(["a0: &a0 [ha]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, levels))]).encode()


DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PACKED: Mapping[str, Bomb] = {
    "gzip": Bomb(lambda: gzip.compress(b"\0" * 2**26), "application/gzip", "a.gz", False),
    "gzip as text": Bomb(lambda: gzip.compress(b"\0" * 2**26), TEXT, "a.txt", False),
    "zip": Bomb(lambda: zipped("a"), "application/zip", "a.zip", False),
    "zip of names that lead out": Bomb(lambda: zipped("../../a", "/etc/a", size=9), "application/zip", "a.zip", False),
    "a Word document": Bomb(lambda: zipped("word/document.xml"), DOCX, "a.docx", False),
    "a picture": Bomb(lambda: b"\x89PNG\r\n\x1a\n" + b"\0" * 2**20, "image/svg+xml+png", "a.png", None),
}
TEXTS: Mapping[str, Bomb] = {
    "XML of a billion laughs": Bomb(laughs, "application/xml", "a.xml", True),
    "YAML of aliases": Bomb(aliases, "application/yaml", "a.yaml", True),
    "JSON of lists": Bomb(lambda: b"[" * 500_000, "application/json", "a.json", True),
    "flags": Bomb(lambda: ("\U0001f1e9" * 50_000).encode(), is_readable=True),
    "marks": Bomb(lambda: ("z" + "\u0301" * 500_000).encode(), is_readable=True),
    "joiners": Bomb(lambda: ("\U0001f469\u200d" * 200_000).encode(), is_readable=True),
    "blanks": Bomb(lambda: b"x" + b" \t\n" * 500_000 + b"y", is_readable=True),
    "only blanks": Bomb(lambda: b" " * 2_000_000, is_readable=None),
    "one long line": Bomb(lambda: b"x" * 2_000_000, is_readable=True),
    "marks of punctuation": Bomb(lambda: b"." * 3_000_000, is_readable=True),
    "more than 20,000 chunks": Bomb(lambda: b"." * 5_500_000, is_readable=None),
    "a NUL far behind": Bomb(lambda: b"kettle " * 1000 + b"\0" + b" kettle", is_readable=None),
    "UTF-16, cut": Bomb(lambda: "kettle".encode("utf-16")[:-1], is_readable=False),
    "UTF-16 that is UTF-8": Bomb(lambda: b"\xff\xfe" + b"kettle " * 9, is_readable=None),
    "CESU": Bomb(lambda: b"kettle \xed\xa0\x80", is_readable=False),
    "overlong": Bomb(lambda: b"kettle \xc0\xaf", is_readable=False),
    "halves of letters in UTF-7": Bomb(lambda: b"kettle +2AA-", "text/plain;charset=utf-7", is_readable=None),
    "punycode": Bomb(lambda: b"a-" + b"b" * 400_000, "text/plain;charset=punycode", is_readable=None),
    "a charset that packs": Bomb(lambda: zlib.compress(b" " * 2**24), "text/plain;charset=zlib", is_readable=False),
    "a charset of somewhere": Bomb(lambda: b"kettle", "text/plain;charset=../../os", is_readable=None),
    "a table of long names": Bomb(lambda: b"n" * 100_000 + b",b\n" + b"1,2\n" * 20_000, CSV, "a.csv", False),
    "a table of many columns": Bomb(lambda: b"a," * 50_000 + b"\n" + b"1," * 500_000, CSV, "a.csv", None),
    "a table of many rows": Bomb(lambda: b"ab,cd\n" * 400_000, CSV, "a.csv", None),
    "a quotation that does not end": Bomb(lambda: b'a,b\n1,"' + b"x\n" * 500_000, CSV, "a.csv", True),
    "rows of many lines": Bomb(lambda: b"a,b\n" + b'"x\n",' * 200_000, CSV, "a.csv", True),
    "a table of NULs": Bomb(lambda: b"a,b\n" * 2000 + b"\0,\0\n" * 2000, CSV, "a.csv", None),
    "tags in tags": Bomb(lambda: b"<div>" * 200_000 + b"kettle", HTML, "a.html", True),
    "tags that do not end": Bomb(lambda: b"kettle" + b"<a " * 300_000, HTML, "a.html", True),
    "remarks that do not end": Bomb(lambda: b"kettle" + b"<!--" * 300_000, HTML, "a.html", True),
    "scripts that do not end": Bomb(lambda: b"kettle" + b"<script" * 200_000, HTML, "a.html", True),
    "ampersands": Bomb(lambda: b"&" * 1_000_000, HTML, "a.html", True),
    "numbers of letters": Bomb(lambda: b"kettle&#" + b"9" * 1_000_000 + b";&#xD800;&#0;", HTML, "a.html", True),
    "one tag of a million words": Bomb(lambda: b"kettle<p " + b"a=b " * 300_000 + b">", HTML, "a.html", True),
}
DISGUISED: Mapping[str, Bomb] = {
    "a PDF by its name alone": Bomb(lambda: b"kettle", PDF, "a.pdf", False),
    "a page with a PDF in it": Bomb(lambda: b"<p>kettle" + make_pdf(), PDF, "a.pdf", None),
    "a picture with a PDF in it": Bomb(lambda: b"GIF89a" + make_pdf(), PDF, "a.gif", None),
    "an archive behind a PDF": Bomb(lambda: make_pdf() + zipped("a", size=9), PDF, "a.pdf", None),
    "a program": Bomb(lambda: b"\x7fELF\2\1\1" + b"\0" * 4000, TEXT, "kettle.txt", False),
    "a name that leads out": Bomb(lambda: b"kettle", TEXT, "../../../etc/kettle.txt", True),
    "a name with a NUL": Bomb(lambda: b"kettle", TEXT, "a\0.pdf.txt", True),
    "a name of a kilobyte": Bomb(lambda: b"kettle", TEXT, "ä" * 450 + ".txt", True),
}
BOMBS: dict[str, Bomb] = {
    **{f"PDF: {name}": Bomb(make, PDF, "kettle.pdf", is_readable) for name, (make, is_readable) in PDFS.items()},
    **PACKED,
    **TEXTS,
    **DISGUISED,
}


def words_by_chance(size: int, seed: int = 0) -> bytes:
    """A text of so many bytes that no two chunks of have in common."""
    chance = random.Random(seed)
    return b" ".join(b"%x" % chance.getrandbits(40) for _ in range(size // 11))


HEAVY: Mapping[str, Bomb] = {
    "a table of long names": Bomb(lambda: b"n" * 130_000 + b",b\n" + b"1,2\n" * 4_000_000, CSV, "a.csv", False),
    "a table of many rows": Bomb(lambda: b"ab,cd\n" * 2_700_000, CSV, "a.csv", False),
    "a table of one row": Bomb(lambda: b"a,b\n" + b"ab," * 5_000_000, CSV, "a.csv", False),
    "marks of punctuation": Bomb(lambda: b"." * 16_000_000, is_readable=False),
    "marks": Bomb(lambda: ("z" + "\u0301" * 8_000_000).encode(), is_readable=True),
    "tags": Bomb(lambda: b"<p>a" * 4_000_000, HTML, "a.html", True),
    "words": Bomb(lambda: words_by_chance(4_000_000), is_readable=True),
    "more than is read": Bomb(lambda: b"kettle " * 2_500_000, is_readable=False),
    "a PDF packed four times": Bomb(lambda: packed(4), PDF, "a.pdf", False),
    "a PDF of drawings": Bomb(forms_of_forms, PDF, "a.pdf", False),
    "a PDF of letters": Bomb(letters_that_grow, PDF, "a.pdf", False),
}
"""As large as they may be."""
