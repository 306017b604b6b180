import { sampleBytes } from "../kit/sample-bytes.ts";

const chunkBytes = 65_536;

const chunk = Buffer.from(sampleBytes(chunkBytes));

/** So many bytes, no two chunks of them alike, and always the same. */
export function* content(size: number): Generator<Uint8Array, void> {
  for (let at = 0; at < size; at += chunkBytes) {
    const next = Buffer.from(chunk);
    next.writeDoubleBE(at);
    yield next.subarray(0, Math.min(chunkBytes, size - at));
  }
}
