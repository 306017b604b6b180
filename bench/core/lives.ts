import { performance } from "node:perf_hooks";
import { statSync } from "node:fs";

/** What a life of a task costs. */
export interface Lives {
  readonly perSecond: number;
  /** Processor time per task of all threads, in ms. */
  readonly cpuMs: number;
  /** Bytes on disk per task. */
  readonly bytes: number;
  /** Commits, counted by task, before they are grouped. */
  readonly writes?: number;
}

/** Tasks of three steps: creates one and resolves once its result is durable. */
export type OneLife = () => Promise<void>;

const inFlight = 64;

/** Runs lives for a warm-up and a round; then the process ends. */
export async function measureLives(one: OneLife, file: string, writes?: () => number): Promise<Lives> {
  const [warmUpMs = 1_000, roundMs = 2_000] = process.argv.slice(3).map(Number);
  await run(one, warmUpMs);
  const [bytesBefore, writesBefore, cpuBefore] = [sizeOf(file), writes?.() ?? 0, process.cpuUsage()];
  const began = performance.now();
  const count = await run(one, roundMs);
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    perSecond: (count / ms) * 1_000,
    cpuMs: (user + system) / 1_000 / count,
    bytes: (sizeOf(file) - bytesBefore) / count,
    ...(writes && { writes: (writes() - writesBefore) / count }),
  };
}

async function run(one: OneLife, forMs: number): Promise<number> {
  const end = performance.now() + forMs;
  let count = 0;
  const lives = async (): Promise<void> => {
    while (performance.now() < end) {
      await one();
      count++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lives));
  return count;
}

/** The log is copied into the file over and over, and does not grow with the tasks. */
function sizeOf(file: string): number {
  return statSync(file).size;
}
