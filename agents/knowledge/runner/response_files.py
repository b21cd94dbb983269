"""Files and images in a response's input: what a model can read of them."""

from __future__ import annotations

import mimetypes

from agents.base import addresses
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.reading import read
from agents.knowledge.providers.memory import kinds, texts
from agents.knowledge.providers.memory.texts import Raw
from agents.knowledge.runner.knowledge_base import Library
from agents.knowledge.store import files
from agents.loop.provider_set import Providers
from agents.responses.schemas.input_items import FilePart, ImagePart, TextPart


async def read_part(providers: Providers, actor: Actor, part: FilePart | ImagePart, where: str) -> TextPart | ImagePart:
    """A file as text or image, a stored image as one with its bytes. Raises NotFound for a file that is not there,
    InvalidRequest for one that cannot be read."""
    if isinstance(part, ImagePart):
        return await _image(actor, part, where)
    raw, name = await _document(providers.part(Library), actor, part, where)
    if texts.is_image(raw.mime_type):
        return ImagePart(type="input_image", image_url=texts.data_url(raw))
    text = await texts.text_of(raw, where)
    return TextPart(type="input_text", text=f"File {name}:\n\n{text}")


async def _image(actor: Actor, part: ImagePart, where: str) -> ImagePart:
    if part.file_id is None:
        return part
    raw, _ = await read(_stored, actor, part.file_id)
    if not texts.is_image(raw.mime_type):
        raise InvalidRequest(f"{where}.file_id: this file is no image.", param=f"{where}.file_id")
    return part.model_copy(update={"image_url": texts.data_url(raw)})


async def _document(library: Library, actor: Actor, part: FilePart, where: str) -> tuple[Raw, str]:
    """A file part's bytes and name. Exactly one of its three ways must be given."""
    sources = [name for name in ("file_id", "file_data", "file_url") if getattr(part, name)]
    if len(sources) != 1:
        raise InvalidRequest(f"{where}: give one of file_id, file_data and file_url.", param=where)
    if part.file_id:
        return await read(_stored, actor, part.file_id)
    if part.file_url:
        addresses.check_url(part.file_url, where, allow_private=library.fetcher.allow_private)
        mime = mimetypes.guess_type(part.filename or part.file_url)[0] or "text/plain"
        return await library.raw(part.file_url, mime, where), part.filename or part.file_url
    data = part.file_data or ""
    name = part.filename or "file"
    if not data.startswith("data:"):
        mime = kinds.of_file(name, mimetypes.guess_type(name)[0] or "", b"")
        data = f"data:{mime};base64,{data}"
    return texts.from_data_url(data, where), name


def _stored(actor: Actor, file_id: str) -> tuple[Raw, str]:
    record = files.get(actor, file_id, "run")
    body = b"".join(files.blocks(record.key))
    return Raw(body, kinds.of_file(record.filename, record.mime_type, body[: kinds.HEAD_BYTES])), record.filename
