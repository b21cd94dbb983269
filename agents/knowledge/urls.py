"""Where files and vector databases are reached."""

from __future__ import annotations

from django.urls import URLPattern

from agents.base.api.routes import Routes
from agents.knowledge.api import files, uploads_in_parts, vector_dbs, vector_store_files, vector_stores

_STORE = "vector_stores/<str:vector_store_id>"
_BATCH = f"{_STORE}/file_batches/<str:batch_id>"

API = Routes(
    openai=[
        ("files", files.FileListView),
        ("files/<str:file_id>", files.FileDetail),
        ("files/<str:file_id>/content", files.FileContent),
        ("uploads", uploads_in_parts.UploadCreate),
        ("uploads/<str:upload_id>/parts", uploads_in_parts.UploadParts),
        ("uploads/<str:upload_id>/complete", uploads_in_parts.UploadComplete),
        ("uploads/<str:upload_id>/cancel", uploads_in_parts.UploadCancel),
        ("vector_stores", vector_stores.VectorStoreListView),
        (_STORE, vector_stores.VectorStoreDetail),
        (f"{_STORE}/search", vector_stores.VectorStoreSearch),
        (f"{_STORE}/files", vector_store_files.StoreFileListView),
        (f"{_STORE}/files/<str:file_id>", vector_store_files.StoreFileDetail),
        (f"{_STORE}/files/<str:file_id>/content", vector_store_files.StoreFileText),
        (f"{_STORE}/file_batches", vector_store_files.FileBatchCreate),
        (_BATCH, vector_store_files.FileBatchDetail),
        (f"{_BATCH}/files", vector_store_files.FileBatchFiles),
        (f"{_BATCH}/cancel", vector_store_files.FileBatchCancel),
    ],
    rest=[
        ("vector-dbs", vector_dbs.VectorDBList),
        ("vector-dbs/<path:vector_db_id>", vector_dbs.VectorDBDetail),
        ("vector-io/insert", vector_dbs.VectorInsertion),
        ("vector-io/query", vector_dbs.VectorSearch),
        ("tool-runtime/rag-tool/insert", vector_dbs.RagInsertion),
        ("tool-runtime/rag-tool/query", vector_dbs.RagSearch),
    ],
)
PAGES: list[URLPattern] = []
