import fc from "fast-check";
import { expect, it } from "vitest";
import { EventSize, readEvents, type ServerEvent } from "../../src/client/transport/server-sent-events.ts";

async function read(...chunks: string[]): Promise<ServerEvent[]> {
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new Uint8Array(Buffer.from(chunk)));
      controller.close();
    },
  });
  const events: ServerEvent[] = [];
  for await (const event of readEvents(body)) events.push(event);
  return events;
}

it("reads types, data, ids and retry, and ignores other fields", async () => {
  const text =
    ": hello\nid: 1\nevent: endpoint\nretry: 500\ndata: a\ndata:b\n\nwhat: else\ndata: c\nretry: soon\n\ndata: cut";
  expect(await read(text)).toEqual([
    { type: "endpoint", data: "a\nb", id: "1", retryMs: 500 },
    { type: "message", data: "c", id: "1", retryMs: 500 },
  ]);
});

it("reads the same events for any line endings and chunks", async () => {
  const lines = ["id: 1", "data: é", "data: b", "", "retry: 7", "data: c", "", ""];
  const expected = await read(lines.join("\n"));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom("\n", "\r", "\r\n"), fc.array(fc.nat(40)), async (end, cuts) => {
      const text = lines.join(end);
      const places = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
      const chunks = places.slice(1).map((place, index) => text.slice(places[index], place));
      expect(await read(...chunks)).toEqual(expected);
    }),
  );
});

it("counts the largest event for any line endings and chunks", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("\n", "\r", "\r\n"),
      fc.array(fc.array(fc.string({ unit: "grapheme-ascii", minLength: 1 }), { minLength: 1 }), {
        minLength: 1,
      }),
      fc.array(fc.nat(200)),
      (end, events, cuts) => {
        const texts = events.map((lines) => `${lines.join(end)}${end}${end}`);
        const bytes = Buffer.from(texts.join(""));
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const size = new EventSize();
        const sizes = places.slice(1).map((place, index) => size.after(bytes.subarray(places[index], place)));
        // Of CR LF, the LF after the empty line may be counted with the next event.
        const slack = end === "\r\n" ? 1 : 0;
        const largest = Math.max(...texts.map((text) => text.length));
        expect(Math.max(...sizes)).toBeGreaterThanOrEqual(largest - slack);
        expect(Math.max(...sizes)).toBeLessThanOrEqual(largest + slack);
      },
    ),
  );
});
