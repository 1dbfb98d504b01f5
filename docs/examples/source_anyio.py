import anyio
from service import ANSWER, tcp_service

from untorn import collect
from untorn.dialects import TextSse


async def main(port: int) -> None:
    connection = await anyio.connect_tcp("127.0.0.1", port)
    outcome = await collect(connection, TextSse(sentinel="[DONE]"))
    print(outcome.unwrap())


with tcp_service(ANSWER) as port:
    anyio.run(main, port)
