"""A recording through the pipeline, with its pauses, in virtual time."""

from pathlib import Path

from untorn import Outcome, collect
from untorn.dialects import Sse
from untorn.testing import FaultySource, read_recording, run_virtual

recording = read_recording(Path(__file__).with_suffix(".rec"))
source = FaultySource(recording.wire, recording.cuts, recording.faults)


async def read() -> Outcome[object]:
    return await collect(source, Sse())


outcome = run_virtual(read)
for given in source.reads:
    print(f"{given.time:.1f} s: {given.data!r}")
print(f"{type(outcome).__name__} at byte {outcome.position.bytes}")
