"""Run a client against each ending: ``every_ending.py FILE COMMAND...``; the URL comes last."""

import sys
from pathlib import Path

import anyio

from untorn.testing import Ending, chaos_server


async def main(wire: bytes, *command: str) -> None:
    for ending in Ending:
        async with chaos_server(wire, cuts=[10, 30], ending=ending) as server:
            client = await anyio.run_process([*command, server.url], check=False)
        print(f"{ending.value:20}exit status {client.returncode}")


file, *command = sys.argv[1:]
anyio.run(main, Path(file).read_bytes(), *command)
