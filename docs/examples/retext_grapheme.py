from untorn import parse
from untorn.dialects import TextSse
from untorn.retext import by_grapheme

WIRE = "data: 🇩\n\ndata: 🇪 e\n\ndata: \u0301!\n\ndata: [DONE]\n\n".encode()

print([event.text for event in parse([WIRE], TextSse(sentinel="[DONE]"))])
print([event.text for event in parse([WIRE], by_grapheme(TextSse(sentinel="[DONE]")))])
