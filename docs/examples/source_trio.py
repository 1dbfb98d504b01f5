import trio
from service import ANSWER, tcp_service

from untorn import collect
from untorn.dialects import TextSse


async def main(port: int) -> None:
    connection = await trio.open_tcp_stream("127.0.0.1", port)
    outcome = await collect(connection, TextSse(sentinel="[DONE]"))
    print(outcome.unwrap())


with tcp_service(ANSWER) as port:
    trio.run(main, port)
