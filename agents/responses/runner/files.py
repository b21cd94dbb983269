"""Files and images in a response's input: what a model can read of them is put in their place, before
anything begins. The items themselves are kept as they came."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from typing import Any

from agents.base import addresses
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.reading import read
from agents.knowledge.providers.memory import kinds, texts
from agents.knowledge.providers.memory.texts import Raw
from agents.knowledge.runner.knowledge_base import Library
from agents.knowledge.store import files
from agents.responses.schemas.input_items import FilePart, FunctionOutputItem, ImagePart, MessageItem, TextPart


def are_there(items: Sequence[Any]) -> bool:
    """Whether something has to be read before a model can be asked."""
    return any(_needs_reading(part) for item in items for part in _parts(item))


def _parts(item: Any) -> Sequence[Any]:
    content = item.content if isinstance(item, MessageItem) else item.output if _is_output(item) else ()
    return () if isinstance(content, str) else content


def _is_output(item: Any) -> bool:
    return isinstance(item, FunctionOutputItem)


def _needs_reading(part: Any) -> bool:
    return isinstance(part, FilePart) or (isinstance(part, ImagePart) and part.file_id is not None)


async def readable(library: Library, actor: Actor, items: Sequence[Any]) -> list[Any]:
    """The items with what a model can read in the place of files. Raises NotFound for a file that is not
    there, InvalidRequest for one that cannot be read."""
    return [await _item(library, actor, item, f"input.{place}") for place, item in enumerate(items)]


async def _item(library: Library, actor: Actor, item: Any, where: str) -> Any:
    parts = _parts(item)
    if not any(map(_needs_reading, parts)):
        return item
    name = "output" if _is_output(item) else "content"
    told = [await _part(library, actor, part, f"{where}.{name}.{place}") for place, part in enumerate(parts)]
    return item.model_copy(update={name: told})


async def _part(library: Library, actor: Actor, part: Any, where: str) -> Any:
    if isinstance(part, ImagePart) and part.file_id is not None:
        raw, _ = await read(_stored, actor, part.file_id)
        if not texts.is_image(raw.mime_type):
            raise InvalidRequest(f"{where}.file_id: this file is no image.", param=f"{where}.file_id")
        return part.model_copy(update={"image_url": texts.data_url(raw)})
    if not isinstance(part, FilePart):
        return part
    raw, name = await _document(library, actor, part, where)
    if texts.is_image(raw.mime_type):
        return ImagePart(type="input_image", image_url=texts.data_url(raw))
    words = await texts.text_of(raw, where)
    return TextPart(type="input_text", text=f"File {name}:\n\n{words}")


async def _document(library: Library, actor: Actor, part: FilePart, where: str) -> tuple[Raw, str]:
    """A file part's bytes and name. Exactly one of its three ways must be given."""
    given = [name for name in ("file_id", "file_data", "file_url") if getattr(part, name)]
    if len(given) != 1:
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
    return Raw(body, kinds.of_file(record.filename, record.mime_type, body[: kinds.SEEN])), record.filename
