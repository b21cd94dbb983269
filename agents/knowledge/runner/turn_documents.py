"""What a turn knows beside its messages: documents that come with it, and where to retrieve from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.base import ids
from agents.base.addresses import check_url
from agents.base.errors import InvalidRequest
from agents.knowledge.providers.memory import texts
from agents.knowledge.runner import rag
from agents.knowledge.runner.knowledge_base import Library, check_type, url_of
from agents.knowledge.schemas.vector_dbs import RagDocument
from agents.loop.protocols.retrieval import DocumentPreparation, PreparedDocuments
from agents.loop.provider_set import Providers
from agents.loop.schemas.turns import Document
from agents.loop.tool_groups import group_name
from agents.record.schemas.agents import AgentToolGroup
from agents.record.schemas.content import ImageData, ImageItem, TextItem, Url, text_of


def context(providers: Providers, groups: Sequence[AgentToolGroup], documents: Sequence[Document]) -> str:
    """The text of a turn's documents where that is all there is to them. Raises InvalidRequest."""
    for number, document in enumerate(documents):
        _check(providers.part(Library), document, f"documents.{number}")
    if _is_slow(groups, documents):
        return ""
    return "\n\n".join(text_of(document.content) for document in documents if not isinstance(document.content, Url))


def documents(
    providers: Providers, session: int, turn: int, groups: Sequence[AgentToolGroup], attached: Sequence[Document]
) -> DocumentPreparation | None:
    """Those of a turn that have to be fetched, read or put into the session's database first."""
    if not _is_slow(groups, attached):
        return None
    return TurnDocuments(providers.part(Library), session, turn, attached, searched=_searches(groups))


def _is_slow(groups: Sequence[AgentToolGroup], documents: Sequence[Document]) -> bool:
    all_plain = all(
        not url_of(document.content)
        and texts.kind(document.mime_type)[0] in {"text/plain", "text/markdown", "application/json", "application/yaml"}
        for document in documents
    )
    return bool(documents) and (_searches(groups) or not all_plain)


def _searches(groups: Sequence[AgentToolGroup]) -> bool:
    return any(group_name(group).partition("/")[0] == rag.GROUP for group in groups)


# ----------------------------------------------------------------------------------------------- checks


def _check(library: Library, document: Document, where: str) -> None:
    """What can be said without looking: raises InvalidRequest for a document that could never be had."""
    url = url_of(document.content)
    if url:
        check_url(url, where, allow_private=library.fetcher.allow_private)
    if texts.is_image(document.mime_type):
        if not url and _image(document) is None:
            message = f"{where}: an image is given as an image item, a URL or a data URL."
            raise InvalidRequest(message, param="documents")
        return
    check_type(document.mime_type, where)
    if not url and not texts.is_text(document.mime_type):
        message = f"{where}: a document of type '{document.mime_type[:80]}' is given as a URL or a data URL."
        raise InvalidRequest(message, param="documents", code="document_type")


def _image(document: Document) -> ImageItem | None:
    content = document.content
    if isinstance(content, list) and len(content) == 1:
        [content] = content
    return content if isinstance(content, ImageItem) else None


# -------------------------------------------------------------------------------------------- documents


@dataclass(frozen=True, slots=True)
class TurnDocuments:
    """A turn's documents, got ready: text into the context or, with ``searched``, into the session's
    database; images to the model."""

    library: Library
    session: int
    turn: int
    documents: Sequence[Document]
    searched: bool

    def named_by(self, turn: int) -> TurnDocuments:
        return replace(self, turn=turn)

    async def prepare(self) -> PreparedDocuments:
        images, text_parts, stored = [], [], []
        for number, document in enumerate(self.documents):
            where = f"documents.{number}"
            if texts.is_image(document.mime_type):
                images.append(await self._picture(document, where))
                continue
            text = await self.library.text(document.content, document.mime_type, where)
            if self.searched:
                stored.append(self._named(number, document, text))
            else:
                text_parts.append(text)
        if stored:
            await self._store(stored)
            text_parts.append(_note([stored_document.document_id for stored_document in stored]))
        return PreparedDocuments("\n\n".join(text_parts), images)

    async def _picture(self, document: Document, where: str) -> ImageItem:
        url = url_of(document.content)
        if not url:
            image = _image(document)
            assert image is not None  # it was checked before the turn began
            return image
        raw = await self.library.raw(url, document.mime_type, where)
        return ImageItem(image=ImageData(url=Url(uri=texts.data_url(raw))))

    def _named(self, number: int, document: Document, text: str) -> RagDocument:
        """The same document has the same name when the turn is resumed: it is stored once."""
        name = f"{ids.public(ids.Kind.TURN, self.turn)}-{number}"
        url = url_of(document.content)
        source = {"source": url[:500]} if url and not url.startswith("data:") else {}
        # as an item: a text that is a URL would be taken for one
        return RagDocument(document_id=name, content=[TextItem(text=text)], mime_type="text/plain", metadata=source)

    async def _store(self, stored: Sequence[RagDocument]) -> None:
        db = await self.library.of_session(self.session, make=True)
        assert db is not None  # it was made
        await self.library.insert(db, stored, rag.CHUNK_TOKENS)


def _note(names: Sequence[str]) -> str:
    return f"(Documents were attached: {', '.join(names)}. Their text is found with knowledge_search.)"
