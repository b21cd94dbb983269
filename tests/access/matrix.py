"""Who may do what, where: actors, objects, and what is expected of each pair, by the rule alone.

Nothing here looks at how the product decides. An actor is what its login or key says, an object is
there or not and belongs to someone; the expected answer follows from the action a route declares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from django.contrib.auth.models import Group

from agents.automations.models import AutomationRun, RunState
from agents.automations.schemas.records import Schedule, StoredTarget
from agents.automations.store import automations
from agents.automations.store import runs as automation_runs
from agents.automations.store.automations import NewAutomation
from agents.base import ids
from agents.base.access import ACTIONS, Action, Actor
from agents.base.models.people import ApiKey, GroupAttributes, User
from agents.base.store import keys
from agents.base.store.registered import Registration
from agents.batches.models import RequestBatch
from agents.batches.schemas.batches import CreateBatch
from agents.batches.store import batches
from agents.feedback.store import feedback
from agents.feedback.store.feedback import FeedbackContent
from agents.knowledge.models.uploads import Upload
from agents.knowledge.store import files, indexing, uploads, vector_dbs, vector_files, vector_stores, vectors
from agents.knowledge.store.files import NewFile
from agents.knowledge.store.vector_dbs import NewChunk, NewDocument
from agents.knowledge.store.vector_files import NewStoreFile
from agents.knowledge.store.vector_stores import NewStore
from agents.logs.store import saved_views
from agents.logs.store.saved_views import StoredView
from agents.loop.store.registered_models import registered_models
from agents.record.models.choices import BudgetPeriod, BudgetTarget
from agents.record.schemas.content import Usage
from agents.record.schemas.events import StepStarted
from agents.record.store import agents, budgets, sessions
from agents.record.store.budgets import Limits, NewBudget
from agents.record.store.targets import RecordTarget
from agents.relay import store as completions
from agents.relay.models import CompletionStatus
from agents.relay.store import CompletionRecord
from agents.responses.runner.input import row_of
from agents.responses.schemas.input_items import items_of_input
from agents.responses.store import conversations, prompts, responses
from agents.safety.store import registered_shields
from agents.telemetry.models.imports import Import
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading.spans import Span
from agents.telemetry.store import import_jobs
from agents.telemetry.store.external import inbox, trace_deletion, unmatched
from agents.telemetry.store.external.projector import projector
from agents.telemetry.store.import_jobs import NewImport
from agents.webhooks.models import WebhookDelivery
from agents.webhooks.runner.fan_out import fan_out
from agents.webhooks.store import endpoints
from tests.loop.play import LOOKUP
from tests.support.builders import make_agent, make_response, make_session, make_turn
from tests.support.cases import sparing

# ---------------------------------------------------------------------------------------------- actors


@dataclass(frozen=True)
class Who:
    """Someone at the door: with an API key (``secret``), with a browser that is logged in
    (``login``), or with neither. ``sees`` are the names of the chains it may see, ``holds`` of those
    whose keys are its own. A key that is not ``valid`` is worth less than none."""

    name: str
    secret: str = ""
    login: int | None = None
    actions: frozenset[Action] = frozenset()
    sees: frozenset[str] = frozenset()
    holds: frozenset[str] = frozenset()
    valid: bool = True

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"} if self.secret else {}


NAMES = (
    "anonymous",
    "outsider",
    "reader",
    "owner",
    "admin",
    "read key",
    "run key",
    "ingest key",
    "manage key",
    "revoked key",
    "expired key",
    "orphaned key",
    "wrong key",
)
"""Everyone who comes; the keys for one action are the owner's."""
REPEATED = {"revoked key", "expired key", "orphaned key"}
"""Who is told what "wrong key" is told: the long checks ask for them, too."""
EVERYONE = [pytest.param(name, marks=pytest.mark.slow) if name in REPEATED else name for name in NAMES]
FEW = sparing(EVERYONE, "anonymous", "outsider", "reader", "owner", "read key", "run key")
"""Of everyone, those whose answers differ where one thing is asked: the quick tests leave it at them."""


def make_user(name: str, **attributes: list[str]) -> Actor:
    made = User.objects.create_user(name, password="correct horse battery")
    if attributes:
        group = Group.objects.create(name=f"group of {name}")
        GroupAttributes.objects.create(group=group, attributes=attributes)
        made.groups.add(group)
    return keys.of_user(made)


def make_key(of: Actor, name: str, actions: frozenset[Action] = ACTIONS, expires_at_us: int | None = None) -> list[str]:
    """[public id, secret]"""
    return list(keys.create(of, name=name, actions=sorted(actions), expires_at_us=expires_at_us))


# ---------------------------------------------------------------------------------------------- objects

KINDS = {
    "agent_id": ids.Kind.AGENT,
    "session_id": ids.Kind.SESSION,
    "turn_id": ids.Kind.TURN,
    "step_id": ids.Kind.STEP,
    "key_id": ids.Kind.KEY,
    "other_id": ids.Kind.TURN,
    "feedback_id": ids.Kind.FEEDBACK,
    "view_id": ids.Kind.VIEW,
    "import_id": ids.Kind.IMPORT,
    "trace_id": ids.Kind.TRACE,
}
"""The parameters of routes that name what belongs to someone, by ids of ours."""
NAMED = {"vector_db_id", "shield_id", "model_id", "completion_id"}
"""The same, by names their makers chose."""
OPENAI = {
    "file_id": ids.Kind.FILE,
    "vector_store_id": ids.Kind.VECTOR_STORE,
    "batch_id": ids.Kind.FILE_BATCH,
    "upload_id": ids.Kind.UPLOAD,
    "job_id": ids.Kind.BATCH,
    "response_id": ids.Kind.RESPONSE,
    "conversation_id": ids.Kind.SESSION,
    "webhook_endpoint_id": ids.Kind.WEBHOOK_ENDPOINT,
    "delivery_id": ids.Kind.WEBHOOK_DELIVERY,
    "prompt_id": ids.Kind.PROMPT,
    "budget_id": ids.Kind.BUDGET,
    "automation_id": ids.Kind.AUTOMATION,
    "invocation_id": ids.Kind.AUTOMATION_RUN,
}
"""The same, by ids among OpenAI's objects."""
BESIDE = {"other_id"}
"""Parameters that name something of its own, not a part of what stands before them."""
OWNED = {*KINDS, *NAMED, *OPENAI, "item_id"}


HELD = {"key_id", "feedback_id", "view_id", "import_id", "webhook_endpoint_id", "budget_id", "automation_id"}
"""What only its maker, and an admin, may touch."""


@dataclass(frozen=True)
class Chain:
    """An agent, a session of it, a failed turn in that, a step of that, a key, a vector database, a shield, a model,
    a chat completion, a vector store with a file from a batch, a response, a conversation with an item, a trace of
    which no turn was made, an endpoint of webhooks with a delivery, a prompt, a budget, an automation with a run:
    ``ids`` by parameter.
    The canary is in every text of them, behind a word that searches find. The agent is disabled: who
    gets as far as starting a turn is refused only there."""

    name: str
    canary: str
    ids: Mapping[str, str] = field(default_factory=dict)


def build(owner: Actor, name: str, *, played: bool = True) -> Chain:
    """``played`` leaves out, when False, the turns that only fill the lists."""
    canary = f"kanarie{name}7f3a9"
    words = f"zebra {canary}"
    endpoint = make_endpoint(owner, words)
    agent = make_agent(owner, name=words, instructions=words, model=f"scripted/{canary}")
    session = make_session(owner, agent, name=words)
    if played:
        tool = LOOKUP.model_copy(update={"name": f"zebra_{canary}"})
        waiting = f'say {words}\ncall {tool.name} {{"query": "{words}"}}'
        make_turn(owner, waiting, agent=agent, session=session, model=agent.model, client_tools=[tool])
        make_turn(owner, f"say {words}", agent=agent, session=session, model=agent.model)
    failed = make_turn(owner, f"say {words}\nfail 502 {words}", agent=agent, session=session, model=agent.model)
    agents.set_disabled(owner, agent.key, True)
    step = next(entry.step for entry in failed.entries if isinstance(entry, StepStarted))
    numbers = (agent.key, session, failed.turn, step)
    named = {param: ids.public(KINDS[param], key) for param, key in zip(KINDS, numbers, strict=False)}
    db = make_vector_db(owner, f"db/{canary}-{ids.new_key()}", words)
    named["other_id"] = named["turn_id"]
    named["view_id"] = saved_views.create(owner, StoredView("", words, f'"{words}"', "turn", shared=False)).public_id
    named["import_id"] = import_jobs.create(owner, NewImport(words, 1, "auto", words, words)).public_id
    named["trace_id"] = make_trace(owner, words)
    named["feedback_id"] = make_feedback(owner, RecordTarget(session, failed.turn), words)
    more = {"vector_db_id": db, **make_registered(owner, canary), "completion_id": make_completion(owner, words)}
    more |= {**make_files(owner, words), **make_conversation(owner, words)}
    more |= endpoint | {"delivery_id": make_delivery(endpoint["webhook_endpoint_id"])}
    more["prompt_id"] = prompts.create(owner, f"{words} {{{{ {canary} }}}}", [canary]).public_id
    limits = Limits(tokens=10**12)
    budget = NewBudget(BudgetTarget.USER, owner.user_id, BudgetPeriod.TOTAL, limits, name=words)
    more["budget_id"] = budgets.create(owner, budget).public_id
    more |= make_automation(owner, words)
    more["response_id"] = make_response(owner, f"think {words}\nsay {words}", said=words).public_id
    return Chain(name, canary, {**named, "key_id": make_key(owner, words)[0], **more})


def make_feedback(owner: Actor, about: RecordTarget, words: str) -> str:
    """What the owner says of a record."""
    return ids.public(ids.Kind.FEEDBACK, feedback.add(owner, about, FeedbackContent(rating="down", comment=words)))


def make_endpoint(owner: Actor, words: str) -> dict[str, str]:
    """An endpoint of webhooks, which hears of turns from now on."""
    url = f"http://127.0.0.1:9/{words.replace(' ', '/')}"
    made, _ = endpoints.create(owner, name=words, url=url, event_types=["turn.failed"])
    return {"webhook_endpoint_id": made.public_id}


def make_automation(owner: Actor, words: str) -> dict[str, str]:
    """An automation that has run in vain."""
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}
    target = {"type": "new_session", "agent_id": words, "config": None, "input": [said], "metadata": {"of": words}}
    schedule = Schedule("0 0 1 1 *", "UTC")
    new = NewAutomation(words, schedule, StoredTarget(target), {"of": words}, ids.now_us() + 10**13)
    made = automations.create(owner, new)
    run = automation_runs.add_manual(made)
    AutomationRun.objects.filter(pk=run.key).update(state=RunState.FAILED, error=words, error_code="not_found")
    return {"automation_id": made.public_id, "invocation_id": run.public_id}


def make_delivery(endpoint_id: str) -> str:
    """The delivery of a turn that has failed."""
    fan_out()
    endpoint = ids.parse_openai(ids.Kind.WEBHOOK_ENDPOINT, endpoint_id)
    return ids.openai(ids.Kind.WEBHOOK_DELIVERY, WebhookDelivery.objects.filter(endpoint_id=endpoint).latest("pk").pk)


def make_trace(owner: Actor, words: str) -> str:
    """A trace of which no turn was made."""
    span = Span(trace=f"{words} {ids.new_key()}", id="1", name=words, resource={"service.name": words})
    inbox.accept(owner, [span])
    projector.wake()
    return unmatched.listing(owner, 1)[0].public_id


def make_registered(owner: Actor, canary: str) -> dict[str, str]:
    """A shield and a model under names that hold the canary."""
    name = f"of/{canary}-{ids.new_key()}"
    registered_shields.add(owner, Registration(name, "scripted", canary, {"phrases": [canary]}))
    registered_models.add(owner, Registration(name, "scripted", canary, {"metadata": {"of": canary}}))
    return {"shield_id": name, "model_id": name}


def make_completion(owner: Actor, words: str) -> str:
    """A chat completion in the log."""
    key = ids.new_key()
    public = ids.openai(ids.Kind.COMPLETION, key)
    body = json.dumps({"id": public, "input_messages": [{"role": "user", "content": words}]})
    completions.add(owner, CompletionRecord(key, words, CompletionStatus.COMPLETED, Usage(), body.encode()))
    return public


def make_files(owner: Actor, words: str) -> dict[str, str]:
    """A file, in a vector store by a batch, and read; an upload and a batch that have begun."""
    file = files.create(owner, NewFile(words, "assistants", "text/plain"), [words.encode()]).public_id
    store = vector_files.create_store(owner, NewStore(words, words, 4, metadata={"of": words}), [], "").store
    public = ids.openai(ids.Kind.VECTOR_STORE, store)
    added = vector_files.add(owner, public, [NewStoreFile(file, 800, 400, {"of": words})], "", batch=True)
    assert added.batch is not None
    indexing.fill(added.work[0], store, [NewChunk(words, 2)], len(words))
    upload = uploads.create(owner, NewFile(words, "assistants", "text/plain"), 6).public_id
    batch = ids.openai(ids.Kind.FILE_BATCH, added.batch)
    requests = files.create(owner, NewFile("requests.jsonl", "batch"), [b""]).public_id
    wanted = CreateBatch(
        input_file_id=requests, endpoint="/v1/responses", completion_window="24h", metadata={"of": words}
    )
    job = ids.openai(ids.Kind.BATCH, batches.create(owner, wanted).key)
    return {"file_id": file, "vector_store_id": public, "batch_id": batch, "upload_id": upload, "job_id": job}


def make_conversation(owner: Actor, words: str) -> dict[str, str]:
    """A conversation with an item that was put in by hand."""
    row = row_of(*items_of_input(words))
    key = conversations.create(owner, [row], {"name": words})
    return {"conversation_id": ids.openai(ids.Kind.SESSION, key), "item_id": ids.part("msg", ids.Kind.ITEM, row.key)}


def make_vector_db(owner: Actor, name: str, words: str) -> str:
    made = vector_dbs.register(owner, name, embedding_model=words, embedding_dimension=4, provider_id="builtin")
    chunk = NewChunk(words, 2, {"of": words}, vectors.pack([1.0, 0.0, 0.0, 0.0]))
    vector_dbs.insert(made.key, [NewDocument(words, [chunk])])
    return name


@dataclass(frozen=True)
class Target:
    """The ids of one request. ``chain`` is whose all of them are; where they lead nowhere it is None,
    and ``lost_at`` the first parameter that does."""

    name: str
    ids: Mapping[str, str]
    chain: str | None = None
    lost_at: str = ""


@dataclass(frozen=True)
class World:
    """``red`` is the owner's and its team's, ``green`` a stranger's; ``gone`` has been deleted."""

    who: Mapping[str, Who]
    red: Chain
    green: Chain
    gone: Chain
    owner: Actor

    def fresh(self) -> Chain:
        """A chain like the red one, to be destroyed."""
        return build(self.owner, "red", played=False)

    def targets(self, params: Sequence[str]) -> Iterator[Target]:
        """What to ask a route with these parameters for: own, foreign, deleted, unknown, malformed,
        of another kind; at each place of its path."""
        yield Target("red", {param: self.red.ids[param] for param in params}, "red")
        yield Target("green", {param: self.green.ids[param] for param in params}, "green")
        for place, param in enumerate(params):
            for name, wrong in self._wrong(param).items():
                rest = {later: wrong[later] for later in params[place:]}
                yield Target(f"{name} {param}", {**self._red(params[:place]), **rest}, lost_at=param)
            if param in BESIDE:
                yield Target(
                    f"green {param} beside red", {**self._red(params), param: self.green.ids[param]}, "green", param
                )
            elif place:
                lost = {**self._red(params), param: self.green.ids[param]}
                yield Target(f"green {param} inside red", lost, lost_at=param)

    def _red(self, params: Sequence[str]) -> dict[str, str]:
        return {param: self.red.ids[param] for param in params}

    def _wrong(self, first: str) -> dict[str, dict[str, str]]:
        other = {param: self.red.ids["agent_id" if param != "agent_id" else "session_id"] for param in OWNED}
        unknown = {param: ids.public(kind, ids.new_key()) for param, kind in KINDS.items()}
        unknown |= {param: ids.openai(kind, ids.new_key()) for param, kind in OPENAI.items()}
        unknown["item_id"] = ids.part("msg", ids.Kind.ITEM, ids.new_key())
        wrong = {
            "unknown": {**unknown, **dict.fromkeys(NAMED, "no/such name")},
            "deleted": dict(self.gone.ids),
            "other kind": other,
            "malformed": dict.fromkeys(OWNED, "no-id"),
            "forged": dict.fromkeys(OWNED, "00000000-0000-4000-8000-000000000000"),
        }
        for values in (wrong["other kind"], wrong["malformed"], wrong["forged"]):
            # what does not look like a conversation's id is refused by its form, whoever asks
            values["conversation_id"] = f"conv_{values['conversation_id'].replace('-', '')}"
        return wrong


def make_world() -> World:
    owner, stranger = make_user("owner", teams=["red"]), make_user("stranger", teams=["green"])
    outsider, reader = make_user("outsider", teams=["blue"]), make_user("reader", teams=["red"], roles=["reader"])
    admin, orphan = make_user("boss", roles=["admin"]), make_user("orphan", teams=["red"])
    red, green, gone = build(owner, "red"), build(stranger, "green"), build(owner, "gone", played=False)
    agents.delete(owner, agents.key_of(gone.ids["agent_id"]))
    vector_dbs.delete(owner, gone.ids["vector_db_id"])
    registered_shields.delete(owner, gone.ids["shield_id"])
    registered_models.delete(owner, gone.ids["model_id"])
    completions.delete(owner, gone.ids["completion_id"])
    responses.delete(owner, gone.ids["response_id"])
    sessions.delete(owner, conversations.key_of(gone.ids["conversation_id"]))
    vector_stores.delete(owner, gone.ids["vector_store_id"])
    files.delete(owner, gone.ids["file_id"])
    gone_upload = ids.parse_openai(ids.Kind.UPLOAD, gone.ids["upload_id"])
    Upload.objects.unscoped("expired").filter(pk=gone_upload).delete()
    gone_job = ids.parse_openai(ids.Kind.BATCH, gone.ids["job_id"])
    RequestBatch.objects.unscoped("gone").filter(pk=gone_job).delete()
    saved_views.delete(owner, gone.ids["view_id"])
    endpoints.delete(owner, gone.ids["webhook_endpoint_id"])
    prompts.delete(owner, gone.ids["prompt_id"])
    budgets.delete(owner, gone.ids["budget_id"])
    automations.delete(owner, gone.ids["automation_id"])
    ApiKey.objects.filter(name__contains="gone").delete()
    Import.objects.unscoped("gone").filter(name__contains="gone").delete()
    trace_deletion.delete_traces(
        Trace.objects.unscoped("gone").filter(foreign_id__contains="gone").values_list("pk", flat=True)
    )
    everyone = [
        Who("anonymous"),
        _person("outsider", outsider),
        _person("reader", reader, sees={"red"}),
        _person("owner", owner, sees={"red"}, holds={"red"}),
        _person("admin", admin, sees={"red", "green"}, holds={"red", "green"}),
        *(_narrow(owner, action) for action in sorted(ACTIONS)),
        *_dead(owner, orphan),
    ]
    keys.forget()
    return World({who.name: who for who in everyone}, red, green, gone, owner)


def _person(name: str, actor: Actor, sees: set[str] | None = None, holds: set[str] | None = None) -> Who:
    _, secret = make_key(actor, "everything")
    return Who(name, secret, actor.user_id, actor.actions, frozenset(sees or ()), frozenset(holds or ()))


def _narrow(owner: Actor, action: Action) -> Who:
    _, secret = make_key(owner, f"{action} only", frozenset({action}))
    return Who(f"{action} key", secret, None, frozenset({action}), frozenset({"red"}), frozenset({"red"}))


def _dead(owner: Actor, orphan: Actor) -> Iterator[Who]:
    public_id, revoked = make_key(owner, "revoked")
    keys.revoke(owner, public_id)
    _, expired = make_key(owner, "expired", expires_at_us=ids.now_us() - 1)
    _, orphaned = make_key(orphan, "orphaned")
    assert orphan.user_id is not None  # a person, not the server
    User.objects.filter(pk=orphan.user_id).delete()
    for name, secret in (
        ("revoked", revoked),
        ("expired", expired),
        ("orphaned", orphaned),
        ("wrong", keys.new_secret()),
    ):
        yield Who(f"{name} key", secret, valid=False)


# --------------------------------------------------------------------------------------- expectations


def api_status(who: Who, action: Action | None, target: Target, done: int) -> int:
    """What ``/v1`` must answer; ``done`` is the status of a request that was let through."""
    if not who.valid:
        return 401
    if action is None:
        return done
    if not who.secret:
        return 401
    if action not in who.actions:
        return 403
    return done if _there(who, target) else 404


def page_status(who: Who, action: Action | None, target: Target, done: int) -> int:
    """What a page must answer; 302 leads to the login. Pages know logins, not keys."""
    if action is None:
        return done
    if who.login is None:
        return 302
    if action not in who.actions:
        return 403
    return done if _there(who, target) else 404


def admins(who: Who, admins_only: bool, status: int, done: int) -> int:
    """The same of what only administrators may ask for."""
    return 403 if admins_only and status == done and who.name != "admin" else status


def _there(who: Who, target: Target) -> bool:
    if not target.ids:
        return True
    return target.chain in (who.holds if HELD & target.ids.keys() else who.sees)


def hidden(who: Who, world: World) -> list[Chain]:
    """What may not appear in anything this actor is told."""
    return [chain for chain in (world.red, world.green, world.gone) if chain.name not in who.sees]
