"""Uploads in parts in the store: at once, broken off, expired."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, TooLarge
from agents.knowledge.models.files import File
from agents.knowledge.models.uploads import Upload, UploadBlock, UploadPart
from agents.knowledge.schemas.uploads import MAX_PARTS
from agents.knowledge.store import files, uploads
from agents.knowledge.store.files import NewFile
from tests.conftest import Clock

pytestmark = pytest.mark.django_db
NEW = NewFile("kettle.txt", "assistants", "text/plain")


@pytest.fixture
def ann(make_user: Callable[..., Actor]) -> Actor:
    return make_user("ann", teams=["red"])


def add(actor: Actor, upload: str, content: bytes) -> str:
    return ids.openai(ids.Kind.UPLOAD_PART, uploads.add_part(actor, upload, len(content), [content]))


def left() -> list[int]:
    guarded = [model.objects.unscoped("counted").count() for model in (Upload, File)]
    return [*guarded, UploadPart.objects.count(), UploadBlock.objects.count()]


def test_what_breaks_off_leaves_nothing_and_its_room(ann: Actor) -> None:
    upload = uploads.create(ann, NEW, 4).public_id

    def broken() -> Iterator[bytes]:
        yield b"01"
        raise OSError("the sender has gone")

    for _ in range(5):
        with pytest.raises(OSError, match="gone"):
            uploads.add_part(ann, upload, 4, broken())
    assert left() == [1, 0, 0, 0]
    part = add(ann, upload, b"0123")
    assert uploads.complete(ann, upload, [part], None)[0].status == "completed"
    assert left() == [1, 1, 0, 0]


def test_a_part_that_comes_while_the_upload_is_cancelled_is_refused(ann: Actor) -> None:
    upload = uploads.create(ann, NEW, 4).public_id

    def cancelled_meanwhile() -> Iterator[bytes]:
        yield b"01"
        uploads.cancel(ann, upload)
        yield b"23"

    with pytest.raises(InvalidRequest, match="ended"):
        uploads.add_part(ann, upload, 4, cancelled_meanwhile())
    assert left() == [1, 0, 0, 0]


def test_a_part_that_is_not_complete_is_none(ann: Actor) -> None:
    upload = uploads.create(ann, NEW, 4).public_id

    def completed_meanwhile() -> Iterator[bytes]:
        yield b"0123"
        part = ids.openai(ids.Kind.UPLOAD_PART, UploadPart.objects.latest("pk").pk)
        with pytest.raises(InvalidRequest, match="not a part"):
            uploads.complete(ann, upload, [part], None)

    uploads.add_part(ann, upload, 4, completed_meanwhile())
    assert left() == [1, 0, 1, 1]


def test_parts_are_bounded(ann: Actor) -> None:
    upload = uploads.create(ann, NEW, 4)
    Upload.objects.unscoped("filled").filter(pk=upload.key).update(part_count=MAX_PARTS)
    with pytest.raises(TooLarge):
        add(ann, upload.public_id, b"0")


def test_uploads_are_bounded(ann: Actor, make_user: Callable[..., Actor]) -> None:
    opened = [uploads.create(ann, NEW, 1).public_id for _ in range(uploads.MAX_OPEN)]
    with pytest.raises(InvalidRequest, match="open"):
        uploads.create(ann, NEW, 1)
    uploads.create(make_user("bob"), NEW, 1)
    uploads.cancel(ann, opened[0])
    uploads.create(ann, NEW, 1)


def test_an_upload_expires_with_its_parts_and_its_file_stays(ann: Actor, clock: Clock) -> None:
    done, open_one = (uploads.create(ann, NEW, 4).public_id for _ in range(2))
    _, file = uploads.complete(ann, done, [add(ann, done, b"0123")], None)
    part = add(ann, open_one, b"0123")
    clock.pass_s(3_601)

    assert uploads.get(ann, open_one).status == "expired"
    with pytest.raises(InvalidRequest, match="expired"):
        uploads.complete(ann, open_one, [part], None)
    assert uploads.expire(ids.now_us()) == 2
    assert left() == [0, 1, 0, 0]
    assert files.get(ann, file.public_id) == file
