// Reads wires as bench/node.py asks for them, one JSON object per line; argument: the module.
import {createInterface} from 'node:readline'

const {createParser} = await import(process.argv[2])

const WARM = 200 // milliseconds for which a new wire is read before anything is timed

let wire = {}

function chunksOf({event, count, read}) {
  if (wire.event === event && wire.count === count && wire.read === read) return wire.chunks
  const body = Buffer.from(event.repeat(count))
  const size = read || Buffer.byteLength(event)
  const chunks = []
  for (let at = 0; at < body.length; at += size) chunks.push(body.subarray(at, at + size))
  wire = {event, count, read, chunks}
  const until = performance.now() + WARM
  do feed(chunks, () => {})
  while (performance.now() < until)
  return chunks
}

function feed(chunks, onEvent) {
  const decoder = new TextDecoder()
  const parser = createParser({onEvent})
  for (const chunk of chunks) parser.feed(decoder.decode(chunk, {stream: true}))
}

function answer(question) {
  const chunks = chunksOf(question)
  const kept = []
  let events = 0
  let onEvent = () => events++
  if (question.parse) onEvent = (event) => { JSON.parse(event.data); events++ }
  if (question.keep) onEvent = (event) => kept.push([event.event || 'message', event.data])
  const began = process.cpuUsage()
  feed(chunks, onEvent)
  const used = process.cpuUsage(began)
  return {events, kept, seconds: (used.user + used.system) / 1e6}
}

for await (const line of createInterface({input: process.stdin})) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + '\n')
}
