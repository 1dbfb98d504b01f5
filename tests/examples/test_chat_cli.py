"""The chat in a terminal keeps its history, and says of every answer whether it is whole."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpx2")

from untorn import Boundary, Cause, Completed, Failed, Interrupted, Position
from untorn.testing import ChaosServer, chaos_server

from .programs import functions, program, read_until, served

CLI = functions("chat_cli")
ANSWER = CLI["DEMO_ANSWER"]


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[ChaosServer]:
    with served(CLI["demo_server"](request.param, delay=0)) as server:
        yield server


def gives(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("service", [kind], indirect=True)


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> Iterator[str]:
    """Type these lines; return those that nobody has asked for."""
    left = iter(lines)
    monkeypatch.setattr("builtins.input", lambda prompt: next(left))
    return left


def messages(server: ChaosServer) -> list[Any]:
    return [json.loads(request.body)["messages"] for request in server.requests]


@gives("whole")
def test_a_whole_answer_is_printed_and_remembered(
    service: ChaosServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is said of it, and the next question goes out behind it."""
    chat = CLI["Chat"](service.url, "m")
    CLI["ask"](chat, "one?")
    assert isinstance(chat.say("two?"), Completed)
    said = {"role": "assistant", "content": ANSWER + " "}
    one, two = ({"role": "user", "content": text} for text in ("one?", "two?"))
    assert messages(service) == [[one], [one, said, two]]
    assert chat.history == [one, said, two, said]
    assert capsys.readouterr().out == f"{ANSWER} \n{ANSWER} "


@gives("cut")
def test_a_cut_answer_is_called_so_and_never_asked_for_again(
    service: ChaosServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came of it stays in the conversation."""
    left = typed(monkeypatch, "y")
    chat = CLI["Chat"](service.url, "m")
    CLI["ask"](chat, "one?")
    partial = chat.history[-1]["content"]
    assert partial
    assert ANSWER.startswith(partial)
    assert chat.history[-1]["role"] == "assistant"
    assert capsys.readouterr().out.startswith(f"{partial}\n[CUT, the answer is not whole: ")
    assert list(left) == ["y"]
    assert len(service.requests) == 1


@gives("down")
def test_a_question_that_nobody_answered_may_be_asked_again(
    service: ChaosServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As often as the person says so; then it is forgotten."""
    typed(monkeypatch, "", "y", "n")
    chat = CLI["Chat"](service.url, "m")
    CLI["ask"](chat, "one?")
    assert messages(service) == [[{"role": "user", "content": "one?"}]] * 3
    assert chat.history == []
    assert capsys.readouterr().out.count("[FAILED: The server answered 503") == 3


def test_a_service_that_cannot_be_reached_has_cut_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no answer, and the client's reason why."""
    typed(monkeypatch, "n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    CLI["ask"](CLI["Chat"](f"http://127.0.0.1:{port}/", "m"), "one?")
    assert capsys.readouterr().out == "\n[NO ANSWER (transport): All connection attempts failed]\n"


def test_an_answer_that_the_model_broke_off_is_called_so() -> None:
    """It is complete as a stream, and not as an answer."""
    wire = CLI["chunk"]({"content": "Once"}, "length") + b"data: [DONE]\n\n"
    with served(chaos_server(wire)) as service:
        outcome = CLI["Chat"](service.url, "m").say("one?")
    assert CLI["verdict"](outcome) == "the model has stopped early: length"
    assert not CLI["may_repeat"](outcome)


def test_who_stops_an_answer_before_it_begins_is_not_asked_to_repeat_it() -> None:
    """Though it would be safe: it is offered where something else has ended it."""
    nowhere = Position(0, 0, 0)
    for cause in Cause:
        ended = Interrupted(cause, Boundary.MESSAGE, None, None, nowhere)
        assert CLI["may_repeat"](ended) is (cause is not Cause.ABANDONED)


@gives("down")
def test_the_key_is_sent_and_never_shown(
    service: ChaosServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither printed nor in what a failure says."""
    outcome = CLI["Chat"](service.url, "m", "sk-secret").say("one?")
    assert isinstance(outcome, Failed)
    assert service.requests[0].headers["authorization"] == "Bearer sk-secret"
    assert "secret" not in capsys.readouterr().out + str(CLI["verdict"](outcome)) + repr(outcome)


def test_ctrl_c_stops_an_answer_and_not_the_chat() -> None:
    """The partial answer is kept, no second attempt is offered, and the prompt is back."""
    with program("chat_cli", "--demo") as chat:
        assert chat.stdin is not None
        chat.stdin.write("one?\ntwo?\n")
        chat.stdin.flush()
        read_until(chat, ANSWER.split()[1])
        chat.send_signal(signal.SIGINT)
        stopped = read_until(chat, "\n> ")
        assert "[stopped; what there is of it stays in the conversation]" in stopped
        assert ANSWER.split()[-1] not in stopped
        assert read_until(chat, f"{ANSWER} \n> ") == f"{ANSWER} \n> "
        chat.stdin.close()
        assert chat.wait(10) == 0
