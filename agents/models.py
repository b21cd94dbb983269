"""All tables, collected for Django; ours import them from the subjects that have them.

A model keeps fields, constraints, indexes (each with the query it serves) and ``__str__``; what is
done with rows lives in the ``store`` of its subject. Hot columns stand in narrow rows (`Turn`, `Step`),
what is large or rarely read beside them (`TurnBody`, `StepDetail`).
"""

from agents.automations.models import Automation, AutomationRun, RunState
from agents.base.models.changes import Change, ChangeKind
from agents.base.models.fingerprints import SecretFingerprint
from agents.base.models.people import ApiKey, GroupAttributes, User
from agents.base.models.processes import Process
from agents.base.models.scopes import Scope
from agents.base.models.terms import Term
from agents.batches.models import BatchLine, RequestBatch
from agents.feedback.models import Feedback, Rating
from agents.knowledge.models.files import File, FileBlock
from agents.knowledge.models.uploads import Upload, UploadBlock, UploadPart
from agents.knowledge.models.vector_dbs import Chunk, FileBatch, VectorDB, VectorDocument
from agents.logs.models.pinned_groups import PinnedGroups
from agents.logs.models.retention import RetentionReceipt, RetentionRule
from agents.logs.models.saved_views import SavedView
from agents.logs.models.segments import Segment, SegmentColumn
from agents.loop.models import RegisteredModel
from agents.record.models.agent_calls import AgentCall
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.budgets import Budget, BudgetSpend
from agents.record.models.choices import Api, BudgetPeriod, BudgetTarget, Source, StepStatus, StepType, TurnStatus
from agents.record.models.forks import Fork
from agents.record.models.hand_overs import HandOver
from agents.record.models.inputs import InputKind, TurnInput
from agents.record.models.journal import DeltaBatch, Event, EventPack
from agents.record.models.prices import Price
from agents.record.models.tags import SessionTag, StepTag, TurnTag
from agents.record.models.turns import Item, Response, Step, StepDetail, Turn, TurnBody, ValueBlock
from agents.relay.models import ChatCompletion, CompletionStatus
from agents.responses.models import Prompt, PromptVersion
from agents.safety.models import Shield
from agents.telemetry.models.imports import Import, ImportBlock, ImportState
from agents.telemetry.models.traces import SharedMark, SpanBatch, Trace, TraceLink
from agents.tools.models import ToolGroup
from agents.webhooks.models import WebhookDelivery, WebhookEndpoint, WebhookEvent

__all__ = [
    "Agent",
    "AgentCall",
    "AgentRevision",
    "Api",
    "ApiKey",
    "Automation",
    "AutomationRun",
    "BatchLine",
    "Budget",
    "BudgetPeriod",
    "BudgetSpend",
    "BudgetTarget",
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
    "HandOver",
    "Import",
    "ImportBlock",
    "ImportState",
    "InputKind",
    "Item",
    "PinnedGroups",
    "Price",
    "Process",
    "Prompt",
    "PromptVersion",
    "Rating",
    "RegisteredModel",
    "RequestBatch",
    "Response",
    "RetentionReceipt",
    "RetentionRule",
    "RunState",
    "SavedView",
    "Scope",
    "SecretFingerprint",
    "Segment",
    "SegmentColumn",
    "Session",
    "SessionTag",
    "SharedMark",
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
    "TurnInput",
    "TurnStatus",
    "TurnTag",
    "Upload",
    "UploadBlock",
    "UploadPart",
    "User",
    "ValueBlock",
    "VectorDB",
    "VectorDocument",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookEvent",
]
