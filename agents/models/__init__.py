"""The tables. ``from agents.models import Turn`` is the only public path.

A model keeps fields, constraints, indexes (each with the query it serves) and ``__str__``; what is
done with rows lives in ``agents.store``. Hot columns stand in narrow rows (`Turn`, `Step`), what
is large or rarely read beside them (`TurnBody`, `StepDetail`).
"""

from agents.base.models.people import ApiKey, GroupAttributes, Scope, User
from agents.feedback.models import Feedback, Rating, SessionTag, StepTag
from agents.knowledge.models.files import File, FileBlock
from agents.knowledge.models.vector_dbs import Chunk, FileBatch, VectorDB, VectorDocument
from agents.logs.models.saved_views import SavedView
from agents.logs.models.segments import Segment, SegmentColumn
from agents.models.journal import Change, DeltaBatch, Event, EventPack, Price, Term
from agents.models.safety import ChatCompletion, CompletionStatus, RegisteredModel, Shield
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.choices import Api, ChangeKind, Source, StepStatus, StepType, TurnStatus
from agents.record.models.forks import Fork
from agents.record.models.turns import Item, Response, Step, StepDetail, Turn, TurnBody, TurnTag, ValueBlock
from agents.telemetry.models.imports import Import, ImportState
from agents.telemetry.models.traces import SpanBatch, Trace, TraceLink
from agents.tools.models import ToolGroup

__all__ = [
    "Agent",
    "AgentRevision",
    "Api",
    "ApiKey",
    "Change",
    "ChangeKind",
    "ChatCompletion",
    "Chunk",
    "CompletionStatus",
    "DeltaBatch",
    "Event",
    "EventPack",
    "Feedback",
    "File",
    "FileBatch",
    "FileBlock",
    "Fork",
    "GroupAttributes",
    "Import",
    "ImportState",
    "Item",
    "Price",
    "Rating",
    "RegisteredModel",
    "Response",
    "SavedView",
    "Scope",
    "Segment",
    "SegmentColumn",
    "Session",
    "SessionTag",
    "Shield",
    "Source",
    "SpanBatch",
    "Step",
    "StepDetail",
    "StepStatus",
    "StepTag",
    "StepType",
    "Term",
    "ToolGroup",
    "Trace",
    "TraceLink",
    "Turn",
    "TurnBody",
    "TurnStatus",
    "TurnTag",
    "User",
    "ValueBlock",
    "VectorDB",
    "VectorDocument",
]
