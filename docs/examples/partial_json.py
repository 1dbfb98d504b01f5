from untorn.partial_json import PartialJson

growing = PartialJson()
for fragment in ('{"title": "Ha', "i\\ud83d", '\\ude42", "pages": 1', "2", "}"):
    closed = growing.feed(fragment)
    print(repr(fragment), growing.value, closed)
print("closed:", growing.closed, "malformed:", growing.malformed)

growing = PartialJson()
growing.feed('{"a": 1, oops')
print(growing.value, "malformed:", growing.malformed)

number = PartialJson()
print(number.feed("12"), number.value, number.end(), number.value)
