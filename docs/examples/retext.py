from untorn import Completed, TextDelta, parse
from untorn.dialects import TextSse
from untorn.retext import StopAt, by_line, by_sentence, by_word

WIRE = b"""\
data: Wa

data: it! What
data: is this? #

data: ## The rest

data: [DONE]

"""
DIALECT = TextSse(sentinel="[DONE]")

for name, dialect in (
    ("as it came", DIALECT),
    ("by_word", by_word(DIALECT)),
    ("by_line", by_line(DIALECT)),
    ("by_sentence", by_sentence(DIALECT)),
    ("StopAt", StopAt(["###"])(DIALECT)),
    ("both", by_word(StopAt(["###"])(DIALECT))),
):
    stream = parse([WIRE], dialect)
    print(f"{name}:", [event.text for event in stream if isinstance(event, TextDelta)])
    assert isinstance(stream.outcome, Completed)

cut = parse([WIRE[:-2]], StopAt(["###", "The end"])(DIALECT))
print("cut:", [event.text for event in cut.events()], type(cut.outcome).__name__)
