from pathlib import Path
from tempfile import TemporaryDirectory

from service import ANSWER

from untorn import parse
from untorn.dialects import TextSse

with TemporaryDirectory() as folder:
    capture = Path(folder, "answer.sse")
    capture.write_bytes(ANSWER)

    stream = parse([capture.read_bytes()], TextSse(sentinel="[DONE]"))
    print([event.text for event in stream])
    print(stream.outcome)

    with capture.open("rb") as file:  # a capture larger than memory: a chunk at a time
        chunks = iter(lambda: file.read(65536), b"")
        for _ in parse(chunks, TextSse(sentinel="[DONE]")):
            pass
