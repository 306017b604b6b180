import { seededRandom } from "../../crash/random.ts";
import type { Coverage } from "./coverage.ts";
import { mutate } from "./mutate.ts";

export interface Fuzzing {
  readonly target: (bytes: Buffer) => void | Promise<void>;
  readonly coverage: Coverage;
  /** Inputs to begin with. */
  readonly seeds: readonly string[];
  /** What inputs of this kind are made of. */
  readonly words: readonly string[];
  readonly executions: number;
  readonly seed: number;
}

export interface Fuzzed {
  readonly executions: number;
  /** Ways through functions that were seen, with the seeds alone and in the end. */
  readonly ways: { readonly ofSeeds: number; readonly inAll: number };
  readonly corpus: number;
  readonly failure?: { readonly input: string; readonly error: unknown };
}

/** Changes inputs, and keeps those that took a way through some function that none had taken before. */
export async function fuzz({ target, coverage, seeds, words, executions, seed }: Fuzzing): Promise<Fuzzed> {
  const random = seededRandom(seed);
  const dictionary = words.map((word) => Buffer.from(word));
  const corpus: Buffer[] = [];
  const ways = new Set<string>();
  let ofSeeds = 0;
  const any = (): Buffer => corpus[Math.floor(random() * corpus.length)] ?? Buffer.of();
  // The newest are the furthest.
  const next = (): Buffer => (random() < 0.5 ? (corpus.at(-1 - Math.floor(random() * 8)) ?? any()) : any());
  for (let count = 0; count < executions; count++) {
    const given = seeds[count];
    const bytes = given === undefined ? mutate(random, next(), any(), dictionary) : Buffer.from(given);
    try {
      await target(bytes);
    } catch (error) {
      const failure = { input: bytes.toString("base64"), error };
      return { executions: count + 1, ways: { ofSeeds, inAll: ways.size }, corpus: corpus.length, failure };
    }
    const before = ways.size;
    for (const way of coverage.take()) ways.add(way);
    if (given !== undefined || ways.size > before) corpus.push(bytes);
    if (given !== undefined) ofSeeds = ways.size;
  }
  return { executions, ways: { ofSeeds, inAll: ways.size }, corpus: corpus.length };
}
