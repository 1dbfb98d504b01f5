from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, closing
from typing import Any

import anyio
import pytest

from untorn.testing import Answer, Chunks, Expectation, Raised, answer_of, run_virtual
from untorn.testing.answer import HANG, SILENCE

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def generator(chunks: Iterable[bytes]) -> Iterator[bytes]:
    yield from chunks


def collected(chunks: Iterable[bytes]) -> list[bytes]:
    return list(chunks)


async def async_generator(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield chunk


async def async_collected(chunks: AsyncIterable[bytes]) -> list[bytes]:
    return [chunk async for chunk in chunks]


async def async_opened(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    return async_generator(chunks)


ANY_SHAPE = pytest.mark.parametrize(
    "parse",
    [generator, collected, async_generator, async_collected, async_opened],
    ids=lambda parse: parse.__name__,
)
LAZY = pytest.mark.parametrize(
    "parse", [generator, async_generator, async_opened], ids=lambda parse: parse.__name__
)


@BACKENDS
@ANY_SHAPE
def test_parser_of_any_shape_is_heard(parse: Callable[..., Any], backend: str) -> None:
    answer = answer_of(parse, [b"a", b"b"], backend=backend)
    assert answer == Answer(('{"$bytes": "a"}', '{"$bytes": "b"}'))


@BACKENDS
@LAZY
def test_events_before_a_reset_count(parse: Callable[..., Any], backend: str) -> None:
    answer = answer_of(parse, [b"a"], end="reset", backend=backend)
    assert len(answer.events) == 1
    assert answer.raised == Raised("ConnectionResetError", "The peer reset the connection")


@BACKENDS
@LAZY
def test_events_before_silence_count(parse: Callable[..., Any], backend: str) -> None:
    answer = answer_of(parse, [b"a"], end="silence", backend=backend)
    assert len(answer.events) == 1
    assert answer.raised == SILENCE


@BACKENDS
def test_parser_that_waits_for_ever_hangs(backend: str) -> None:
    async def parse(chunks: AsyncIterable[bytes]) -> list[bytes]:
        await anyio.sleep_forever()
        return []

    assert answer_of(parse, [], backend=backend).raised == HANG


def test_parser_may_sleep_for_it_takes_no_time() -> None:
    async def parse(chunks: AsyncIterable[bytes]) -> list[bytes]:
        await anyio.sleep(3600)
        return [b""]

    assert len(answer_of(parse, []).events) == 1


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_exception_is_told_by_type_and_text_without_addresses(kind: str) -> None:
    def parse(chunks: Iterable[bytes]) -> list[bytes]:
        raise ValueError(object())

    async def async_parse(chunks: AsyncIterable[bytes]) -> list[bytes]:
        raise ValueError(object())

    answer = answer_of(parse if kind == "plain" else async_parse, [])
    assert answer.raised == Raised("ValueError", "<object object>")
    assert str(answer.raised) == "ValueError: <object object>"
    assert str(Raised("EOFError", "")) == "EOFError"


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_result_without_events_is_a_fault_of_the_test(kind: str) -> None:
    def parse(chunks: Iterable[bytes]) -> Any:
        return None

    async def async_parse(chunks: AsyncIterable[bytes]) -> Any:
        return None

    with pytest.raises(TypeError, match="returned NoneType, but it must return its events"):
        answer_of(parse if kind == "plain" else async_parse, [])


@pytest.mark.anyio
@pytest.mark.parametrize("parse", [async_collected, async_generator])
async def test_async_parser_cannot_be_heard_inside_a_loop(parse: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError, match="Already running"):
        answer_of(parse, [])


def test_chunks_can_be_closed_like_a_generator() -> None:
    with closing(Chunks([b"a"])) as chunks:
        assert next(chunks) == b"a"
        assert list(chunks) == []

    async def read() -> list[bytes]:
        async with aclosing(Chunks([b"a"])) as chunks:
            return [chunk async for chunk in chunks]

    assert run_virtual(read) == [b"a"]


@pytest.mark.parametrize(
    ("expected", "answer", "allowed"),
    [
        (Expectation(("1",)), Answer(("1",)), True),
        (Expectation(("1",)), Answer(("1",), Raised("E", "")), True),
        (Expectation(("1",)), Answer(()), False),
        (Expectation(("1", "2"), "beginning"), Answer(("1",)), True),
        (Expectation(("1", "2"), "beginning"), Answer(("2",)), False),
        (Expectation(("1",), "beginning"), Answer(("1", "2")), False),
        (Expectation((), raised=None), Answer(()), True),
        (Expectation((), raised=None), Answer((), Raised("E", "")), False),
        (Expectation((), raised=Raised("E", "")), Answer((), Raised("E", "")), True),
        (Expectation((), raised=Raised("E", "")), Answer((), Raised("E", "x")), False),
    ],
)
def test_expectation(expected: Expectation, answer: Answer, allowed: bool) -> None:
    assert expected.allows(answer) is allowed
