"""A PDF written by hand: small, and as odd as a test wants it."""

from __future__ import annotations

HELLO = b"BT /F1 12 Tf 20 50 Td (Hello from a PDF) Tj ET"


def make_pdf(stream: bytes = HELLO, extra: bytes = b"", pages: int = 1) -> bytes:
    """Its pages all show the same content stream; ``extra`` stands in that stream's dictionary."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (b" ".join([b"3 0 R"] * pages), pages),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(stream), extra, stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start, table = len(out), b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 6\n0000000000 65535 f \n%btrailer << /Size 6 /Root 1 0 R >>\n" % table
    return bytes(out) + head + b"startxref\n%d\n%%%%EOF" % start
