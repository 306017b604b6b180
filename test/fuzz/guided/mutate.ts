/** Numbers from 0 to below 1, which a seed repeats. */
export type Random = () => number;

const below = (random: Random, limit: number): number => Math.floor(random() * limit);

/** Between two places of `bytes`, in order. */
function span(random: Random, bytes: Buffer): readonly [from: number, to: number] {
  const from = below(random, bytes.length + 1);
  return [from, Math.min(bytes.length, from + 1 + below(random, 16))];
}

type Change = (random: Random, bytes: Buffer, other: Buffer, words: readonly Buffer[]) => Buffer;

const insert = (bytes: Buffer, at: number, what: Uint8Array): Buffer =>
  Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(at)]);

/** What fuzzers of bytes do: each makes a little of a difference. */
const changes: readonly Change[] = [
  (random, bytes) => {
    const changed = Buffer.from(bytes);
    if (changed.length > 0) changed[below(random, changed.length)] = below(random, 256);
    return changed;
  },
  (random, bytes) => insert(bytes, below(random, bytes.length + 1), Buffer.from([32 + below(random, 95)])),
  (random, bytes) => {
    const [from, to] = span(random, bytes);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  },
  (random, bytes) => {
    const [from, to] = span(random, bytes);
    return insert(bytes, to, bytes.subarray(from, to));
  },
  (random, bytes, other) => {
    const [from, to] = span(random, other);
    return insert(bytes, below(random, bytes.length + 1), other.subarray(from, to));
  },
  (random, bytes, other) =>
    Buffer.concat([
      bytes.subarray(0, below(random, bytes.length + 1)),
      other.subarray(below(random, other.length + 1)),
    ]),
  (random, bytes, _, words) =>
    insert(bytes, below(random, bytes.length + 1), words[below(random, words.length)] ?? Buffer.of()),
  (random, bytes, _, words) => {
    // One word in the place of another, so that JSON stays JSON.
    const from = words[below(random, words.length)] ?? Buffer.of();
    const at = bytes.indexOf(from);
    const to = words[below(random, words.length)] ?? Buffer.of();
    return at === -1 ? bytes : Buffer.concat([bytes.subarray(0, at), to, bytes.subarray(at + from.length)]);
  },
];

/** `bytes` after one to four changes, at most so long. */
export function mutate(
  random: Random,
  bytes: Buffer,
  other: Buffer,
  words: readonly Buffer[],
  maxBytes = 4_096,
): Buffer {
  let changed = bytes;
  for (let count = 1 + below(random, 4); count > 0; count--) {
    changed = changes[below(random, changes.length)]?.(random, changed, other, words) ?? changed;
  }
  return changed.subarray(0, maxBytes);
}
