"""Vector stores on the wire: OpenAI's ``/v1/vector_stores``, with what Llama Stack adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from agents.base.schemas.wire import Wire, WireOutput, null_is

MAX_PAIRS, MAX_KEY_CHARS, MAX_VALUE_CHARS = 16, 64, 512
CHUNK_TOKENS, OVERLAP_TOKENS = 800, 400
MAX_FILES, MAX_BATCH_FILES = 500, 2_000
"""Files that one request may put into a store: when it is made, and as a batch."""
FileStatus = Literal["in_progress", "completed", "failed", "cancelled"]
ErrorCode = Literal["server_error", "unsupported_file", "invalid_file"]


def _small(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if len(value) > MAX_PAIRS:
        raise ValueError(f"at most {MAX_PAIRS} pairs")
    for key, item in value.items():
        if len(key) > MAX_KEY_CHARS or (isinstance(item, str) and len(item) > MAX_VALUE_CHARS):
            raise ValueError(f"a key has at most {MAX_KEY_CHARS} characters, a text {MAX_VALUE_CHARS}")
    return value


Attributes = Annotated[dict[str, str | bool | int | float], AfterValidator(_small), null_is({})]
"""What is known of a file in a store: at most 16 texts, numbers and booleans by their names."""
FileId = Annotated[str, Field(min_length=1, max_length=200)]


# --------------------------------------------------------------------------------------------- chunking


class StaticChunking(Wire):
    """How long chunks are, and how much of each is in the one before it too: at most half."""

    max_chunk_size_tokens: int = Field(default=CHUNK_TOKENS, ge=100, le=4096)
    chunk_overlap_tokens: int = Field(default=OVERLAP_TOKENS, ge=0)

    @model_validator(mode="after")
    def _half(self) -> StaticChunking:
        if self.chunk_overlap_tokens > self.max_chunk_size_tokens // 2:
            raise ValueError("chunk_overlap_tokens must not be more than half of max_chunk_size_tokens")
        return self


class AutoStrategy(Wire):
    type: Literal["auto"] = "auto"


class StaticStrategy(Wire):
    type: Literal["static"] = "static"
    static: StaticChunking


Strategy = Annotated[AutoStrategy | StaticStrategy, Field(discriminator="type")]


def chunking_of(strategy: AutoStrategy | StaticStrategy | None) -> StaticChunking:
    """The numbers that a strategy means."""
    return strategy.static if isinstance(strategy, StaticStrategy) else StaticChunking()


# ----------------------------------------------------------------------------------------------- stores


class StoreExpiry(Wire):
    """When a store is over, in days after it was last used."""

    anchor: Literal["last_active_at"] = "last_active_at"
    days: int = Field(ge=1, le=365)


class CreateVectorStore(Wire):
    """``embedding_model`` absent: the server's own, or words alone where it has none. ``provider_id``
    may be any; ``provider_vector_db_id`` is read and has no effect."""

    name: Annotated[str, Field(max_length=255), null_is("")] = ""
    file_ids: Annotated[list[FileId], Field(max_length=MAX_FILES), null_is([])] = []
    chunking_strategy: Strategy | None = None
    expires_after: StoreExpiry | None = None
    metadata: Attributes = {}
    embedding_model: str | None = Field(default=None, min_length=1, max_length=300)
    embedding_dimension: int | None = Field(default=None, ge=1, le=16_384)
    provider_id: Annotated[str, Field(max_length=255), null_is("builtin")] = "builtin"
    provider_vector_db_id: str | None = Field(default=None, max_length=255)


class UpdateVectorStore(Wire):
    """What is absent stays; what is null is emptied."""

    name: Annotated[str, Field(max_length=255), null_is("")] = ""
    expires_after: StoreExpiry | None = None
    metadata: Attributes = {}


class FileCounts(WireOutput):
    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    total: int = 0


class VectorStoreObject(WireOutput):
    """Times in seconds since 1970. ``usage_bytes`` are the texts of its files."""

    id: str
    object: Literal["vector_store"] = "vector_store"
    created_at: int
    name: str
    usage_bytes: int
    file_counts: FileCounts
    status: Literal["expired", "in_progress", "completed"]
    expires_after: StoreExpiry | None
    expires_at: int | None
    last_active_at: int
    metadata: dict[str, Any]


class VectorStoreListObject(WireOutput):
    object: Literal["list"] = "list"
    data: list[VectorStoreObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class VectorStoreDeleted(WireOutput):
    id: str
    object: Literal["vector_store.deleted"] = "vector_store.deleted"
    deleted: bool = True


# ---------------------------------------------------------------------------------------------- search


class RankingOptions(Wire):
    """``score_threshold`` from 0 to 1. There is one way to rank here, whatever ``ranker`` is named."""

    ranker: str | None = Field(default=None, max_length=100)
    score_threshold: Annotated[float, Field(ge=0, le=1), null_is(0.0)] = 0.0


Question = Annotated[str, Field(min_length=1, max_length=20_000)]


class SearchVectorStore(Wire):
    """``filters``: ``{type: eq | ne | gt | gte | lt | lte | in | nin, key, value}``, or ``{type: and | or,
    filters: […]}`` of such. ``rewrite_query`` is read and has no effect. ``search_mode`` absent: by words and
    vectors where the store has vectors."""

    query: Question | Annotated[list[Question], Field(min_length=1, max_length=20)]
    filters: dict[str, Any] | None = None
    max_num_results: Annotated[int, Field(ge=1, le=50), null_is(10)] = 10
    ranking_options: Annotated[RankingOptions, null_is(RankingOptions())] = RankingOptions()
    rewrite_query: bool | None = None
    search_mode: Literal["keyword", "vector", "hybrid"] | None = None


class PassageText(WireOutput):
    type: Literal["text"] = "text"
    text: str


class SearchHit(WireOutput):
    """A chunk of a file. ``score`` from 0 to 1, comparable within one answer."""

    file_id: str
    filename: str
    score: float
    attributes: dict[str, Any]
    content: list[PassageText]


class SearchResults(WireOutput):
    """Best first."""

    object: Literal["vector_store.search_results.page"] = "vector_store.search_results.page"
    search_query: list[str]
    data: list[SearchHit]
    has_more: bool = False
    next_page: str | None = None


# ----------------------------------------------------------------------------------------------- files


class AttachFile(Wire):
    file_id: FileId
    attributes: Attributes = {}
    chunking_strategy: Strategy | None = None


class UpdateStoreFile(Wire):
    attributes: Attributes


def _either(schema: dict[str, Any]) -> None:
    """A list that has something; and the other has nothing."""
    full, bare = {"type": "array", "minItems": 1}, {"anyOf": [{"type": "null"}, {"type": "array", "maxItems": 0}]}
    schema["anyOf"] = [
        {"required": [present], "properties": {present: full, absent: bare}}
        for present, absent in (("file_ids", "files"), ("files", "file_ids"))
    ]


class CreateFileBatch(Wire):
    """Either ``file_ids``, with ``attributes`` and ``chunking_strategy`` for all, or ``files``, each with its own."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_either)

    file_ids: Annotated[list[FileId], Field(max_length=MAX_BATCH_FILES), null_is([])] = []
    files: Annotated[list[AttachFile], Field(max_length=MAX_BATCH_FILES), null_is([])] = []
    attributes: Attributes = {}
    chunking_strategy: Strategy | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> CreateFileBatch:
        if bool(self.file_ids) == bool(self.files):
            raise ValueError("either file_ids or files is needed")
        return self

    @property
    def entries(self) -> list[AttachFile]:
        """Each file with what is said of it."""
        shared = {"attributes": self.attributes, "chunking_strategy": self.chunking_strategy}
        return self.files or [AttachFile(file_id=file_id).model_copy(update=shared) for file_id in self.file_ids]


class StoreFileError(WireOutput):
    code: ErrorCode
    message: str


class StoreFileObject(WireOutput):
    """A file in a store. ``usage_bytes`` is its text."""

    id: str
    object: Literal["vector_store.file"] = "vector_store.file"
    created_at: int
    status: FileStatus
    last_error: StoreFileError | None
    usage_bytes: int
    vector_store_id: str
    attributes: dict[str, Any]
    chunking_strategy: StaticStrategy


class StoreFileListObject(WireOutput):
    object: Literal["list"] = "list"
    data: list[StoreFileObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class StoreFileDeleted(WireOutput):
    id: str
    object: Literal["vector_store.file.deleted"] = "vector_store.file.deleted"
    deleted: bool = True


class StoreFileContent(WireOutput):
    """A file's text in chunks, in order: as OpenAI's page (``data``) and as Llama Stack has it (``content``)."""

    object: Literal["vector_store.file_content.page"] = "vector_store.file_content.page"
    data: list[PassageText]
    has_more: bool = False
    next_page: str | None = None
    file_id: str
    filename: str
    attributes: dict[str, Any]
    content: list[PassageText]


class FileBatchObject(WireOutput):
    id: str
    object: Literal["vector_store.files_batch"] = "vector_store.files_batch"
    created_at: int
    status: FileStatus
    vector_store_id: str
    file_counts: FileCounts
