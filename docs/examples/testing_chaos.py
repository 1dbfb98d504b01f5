import anyio
import httpx

from untorn.testing import Ending, chaos_server

WIRE = b'data: {"text": "Once"}\n\ndata: [DONE]\n\n'


async def read(url: str) -> str:
    async with httpx.AsyncClient(trust_env=False, timeout=1) as client:
        try:
            return (await client.get(url)).text
        except httpx.HTTPError as error:
            return f"{type(error).__name__}: {error}"


async def main() -> None:
    for ending in Ending:
        if ending is not Ending.COMMENTS:
            async with chaos_server(WIRE[:30], cuts=[9, 24], ending=ending) as server:
                print(f"{ending.value:20}{await read(server.url)!r}")

    async with chaos_server(
        b"busy", status=503, headers={"retry-after": "1"}, content_encoding="gzip"
    ) as server:
        print(await read(server.url + "v1/chat?stream=true"))
        print(server.requests[0].method, server.requests[0].target)


anyio.run(main)
