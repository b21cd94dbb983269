"""Commands for a shell: they say in a shell what the page says."""

from __future__ import annotations

import json
import shlex
import subprocess

from agents.pages.curl import MAX_BODY_CHARS, CurlTarget, continue_session, create_again

PLACE = CurlTarget(base_url="http://localhost:8321", agent="a-1", session="s-1", with_key=False)


def parts(command: str) -> list[str]:
    return shlex.split(command.replace("\\\n", " "))


def body(command: str) -> dict[str, object]:
    words = parts(command)
    found: dict[str, object] = json.loads(words[words.index("-d") + 1])
    return found


def test_it_continues_the_session() -> None:
    command = continue_session(PLACE)
    assert "http://localhost:8321/v1/agents/a-1/session/s-1/turn" in parts(command)
    assert body(command)["stream"] is True
    assert "Authorization" not in command


def test_it_asks_for_a_key_where_one_is_needed() -> None:
    place = CurlTarget("https://a.example", "a-1", "s-1", with_key=True)
    assert "Authorization: Bearer $ASK_KEY" in parts(continue_session(place))


def test_it_asks_the_same_with_the_same_settings() -> None:
    messages = [{"role": "user", "content": 'Où est l\'ours "Bob"?\n$HOME `id` \\ !x'}]
    first, second = create_again(PLACE, messages, {"toolgroups": ["x"]}, "it's").split("\ncurl", 1)
    assert body("curl" + second) == {"toolgroups": ["x"], "messages": messages, "stream": True}
    assert "'\"'\"'" in first, "the name is quoted for the shell"


def test_hostile_words_stay_words_in_a_shell() -> None:
    hostile = "'; touch pwned; echo $(id) `id` \x1b]0;x\x07 \u202e \x9b31m"
    command = create_again(PLACE, [{"role": "user", "content": hostile}], {}, hostile)
    assert command.isascii()
    assert "\x1b" not in command
    last = "curl" + command.rsplit("\ncurl", 1)[1]
    echoed = subprocess.run(
        ["sh", "-c", last.replace("curl", "printf '%s\\n'", 1)], capture_output=True, text=True, check=True
    )
    assert json.loads(echoed.stdout.splitlines()[-1])["messages"][0]["content"] == hostile


def test_the_new_sessions_id_is_taken_from_the_answer() -> None:
    command = create_again(PLACE, [], {}, "x").rsplit("\ncurl", 1)[0]
    sed = command[command.index("sed ") : command.rindex(")")]
    answer = '{"session_id":"01ba-77","session_name":"x"}'
    found = subprocess.run(["sh", "-c", f"printf '%s' '{answer}' | {sed}"], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "01ba-77"


def test_it_gives_no_command_too_long_to_paste() -> None:
    assert create_again(PLACE, [{"role": "user", "content": "a" * MAX_BODY_CHARS}], {}, "x") == ""
