import asyncio

from service import ANSWER, tcp_service

from untorn import collect
from untorn.dialects import TextSse


async def main(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        outcome = await collect(reader, TextSse(sentinel="[DONE]"))
    finally:
        writer.close()
        await writer.wait_closed()
    print(outcome.unwrap())


with tcp_service(ANSWER) as port:
    asyncio.run(main(port))
