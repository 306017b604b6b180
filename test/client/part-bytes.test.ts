import { expect, test } from "vitest";
import { PartBytes } from "../../src/client/artifact/part-bytes.ts";
import { sampleBytes } from "../kit/sample-bytes.ts";

const data = Buffer.from(sampleBytes(100));

const answerWith = (blob: string): string =>
  `{"result":{"contents":[{"uri":"task://1/artifact/a","text":"\\"blob\\":\\"AAAA","blob":${blob},"mimeType":"a/b"}]},"id":1}`;

/** An answer in chunks of this size. */
function inChunks(text: string, size: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  const all = new TextEncoder().encode(text);
  const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, place) =>
    all.slice(place * size, (place + 1) * size),
  );
  return ReadableStream.from(chunks);
}

test("the bytes of a part are taken out of its answer, however that is cut", async () => {
  const bytes = new PartBytes(100);
  const base64 = data.toString("base64");
  const forms = [base64, base64.replaceAll("/", String.raw`\/`), base64.replace(/=+$/, "")];
  for (const form of forms) {
    for (let size = 1; size <= 300; size += 7) {
      const rest = await new Response(bytes.from(inChunks(answerWith(`"${form}"`), size))).text();
      expect([size, JSON.parse(rest)]).toEqual([size, JSON.parse(answerWith('""'))]);
      expect(bytes.taken?.equals(data)).toBe(true);
    }
  }
});

test("an answer in which they are not found is passed on as it is", async () => {
  const bytes = new PartBytes(100);
  for (const answer of ["", "{", answerWith("null"), answerWith('"AAAA"').replace('"blob":"', '"blob": "')]) {
    await new Response(bytes.from(inChunks(answerWith('"AAAA"'), 50))).text();
    expect(await new Response(bytes.from(inChunks(answer, 3))).text()).toBe(answer);
    expect(bytes.taken).toBeUndefined();
  }
});

test("more bytes than were asked for are a fault of the server", async () => {
  const bytes = new PartBytes(99);
  const read = new Response(bytes.from(inChunks(answerWith(`"${data.toString("base64")}"`), 64))).text();
  await expect(read).rejects.toMatchObject({
    code: "protocol",
    message: expect.stringContaining("The server sent more of an artifact than it was asked for") as string,
  });
});
