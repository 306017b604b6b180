import { expect, test } from "vitest";
import { JsonWithBytes } from "../../src/server/request.ts";
import { sampleBytes } from "../kit/sample-bytes.ts";

test.each([0, 1, 2, 3, 49_151, 49_152, 49_153, 150_000])(
  "%i bytes are written as they are in the text of the whole",
  (size) => {
    const data = Buffer.from(sampleBytes(size));
    const value = { contents: [{ uri: 'é"blob":""', blob: "", mimeType: "a/b" }] };
    const text = JsonWithBytes.blobIn(value, data).within('{"é":', "}");
    const written = Buffer.concat([...text.pieces()]);
    expect(written.length).toBe(text.bytes);
    expect(written.toString()).toBe(String(text));
    expect(JSON.parse(String(text))).toEqual({
      é: { contents: [{ uri: 'é"blob":""', blob: data.toString("base64"), mimeType: "a/b" }] },
    });
  },
);
