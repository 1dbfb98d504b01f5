"""`untorn demo` shows the difference, and checks it."""

import re

import pytest

from untorn import Boundary, Completed, Interrupted, parse
from untorn.cli import demo as demo_module
from untorn.cli.demo import TEXT, answer, hostile_cuts, torn_at
from untorn.dialects.openai_chat import OpenAIChat

from .commands import BACKENDS, invoke, untorn


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_halves_come_out(backend: str) -> None:
    """Whole and torn, on either backend: what is kept is shown, and what was torn."""
    run = untorn("demo", "--fast", "--backend", backend)
    output = run.stdout.decode()
    assert (run.returncode, run.stderr) == (0, b"")
    assert f"The text: {''.join(TEXT)}" in output
    assert 'arguments=\'{"city": "北京", "what": "wind"}\', valid=True' in output
    assert re.search(r"Interrupted: The transport broke .* at byte \d+, inside a character", output)
    assert "Kept: 10 events, 48 characters of text, 1 unfinished tool call." in output
    assert 'The call so far, not to be run: weather({"city": "北' in output
    assert "\x1b" not in output


def test_it_pauses_unless_it_is_to_be_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The events come one after the other, for somebody to watch."""
    asked = []
    original = demo_module.chaos_server
    monkeypatch.setattr(
        demo_module,
        "chaos_server",
        lambda wire, *, delays, **rest: asked.append(delays) or original(wire, **rest),
    )
    assert invoke("demo").exit_code == invoke("demo", "--fast").exit_code == 0
    assert asked == [demo_module.PAUSE_SECONDS] * 2 + [0.0] * 2


@pytest.mark.parametrize("half", ["_is_whole", "_is_torn"])
def test_a_half_that_goes_wrong_is_a_failure(half: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration does not claim what did not happen."""
    monkeypatch.setattr(demo_module, half, lambda *args: False)
    assert invoke("demo", "--fast").exit_code == 4


def test_the_verdict_looks_at_everything() -> None:
    """Neither outcome passes for the other."""
    wire = answer()
    torn = torn_at(wire)
    outcomes = []
    for size in (len(wire), torn):
        stream = parse([wire[:size]], OpenAIChat())
        list(stream.events())
        outcomes.append(stream.outcome)
    whole, part = outcomes
    assert isinstance(whole, Completed) and isinstance(part, Interrupted)
    assert part.torn is Boundary.CHARACTER
    assert demo_module._is_whole(whole) and not demo_module._is_whole(part)
    assert demo_module._is_torn(part, torn) and not demo_module._is_torn(whole, torn)
    assert not demo_module._is_torn(part, torn + 1)


def test_the_cuts_are_hostile() -> None:
    """Every character of several bytes is cut at each byte, and every frame, and blank line."""
    wire = answer()
    cuts = set(hostile_cuts(wire))
    for found in re.finditer("[^\0-\x7f]", wire.decode()):
        start = len(wire.decode()[: found.start()].encode())
        assert {start + k for k in range(1, len(found[0].encode()))} <= cuts
    ends = [found.end() for found in re.finditer(rb"\n\n", wire)]
    assert all(end - 1 in cuts for end in ends)
    assert all(any(a < cut < b - 2 for cut in cuts) for a, b in zip([0, *ends], ends, strict=False))
