"""The routes of requests without an agent."""

from __future__ import annotations

from django.urls import URLPattern

from agents.base.api.routes import Routes
from agents.relay.api import completions, embeddings, inference, messages, text_completions

API = Routes(
    openai=[
        ("embeddings", embeddings.EmbeddingCreate),
        ("completions", text_completions.CompletionCreate),
        ("chat/completions", completions.ChatCompletionList),
        ("chat/completions/<str:completion_id>/messages", completions.ChatCompletionMessages),
        ("chat/completions/<path:completion_id>", completions.ChatCompletionDetail),
    ],
    rest=[
        ("messages", messages.MessageCreate),
        ("messages/count_tokens", messages.MessageTokens),
        ("inference/chat-completion", inference.InferenceChatCompletion),
        ("inference/completion", inference.InferenceCompletion),
        ("inference/embeddings", inference.InferenceEmbeddings),
    ],
)
PAGES: list[URLPattern] = []
