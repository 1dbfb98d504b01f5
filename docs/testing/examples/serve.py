"""Serve a file until Ctrl+C: ``serve.py FILE ENDING PORT``."""

import sys
from pathlib import Path

import anyio

from untorn.testing import Ending, chaos_server


async def main(wire: bytes, ending: str, port: str) -> None:
    async with chaos_server(wire, delays=0.1, ending=Ending(ending), port=int(port)) as server:
        print(server.url, flush=True)
        await anyio.sleep_forever()


file, ending, port = sys.argv[1:]
anyio.run(main, Path(file).read_bytes(), ending, port)
