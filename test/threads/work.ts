import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { WorkerStepContext } from "../../src/worker.ts";

// What the tests run on threads. Files tell of them, and tell them to end.

/** Notes that it has begun. */
function began(file: string): void {
  appendFileSync(file, "begun\n");
}

export function same(input: unknown): unknown {
  return input;
}

export function greet({ name }: { readonly name: string }, { idempotencyKey }: WorkerStepContext): string {
  return `Hello ${name} (${idempotencyKey.slice(-6)})`;
}

export function throwing(message: string): never {
  throw Object.assign(new RangeError(message), { code: "E_OWN", data: { part: 1n } });
}

export function refusing(file: string): never {
  began(file);
  throw Object.assign(new Error("never again"), { name: "NonRetryableError" });
}

export function functions(file: string): unknown {
  began(file);
  return { list: [() => 1] };
}

/** Fails in this way until the file has this many lines. */
export async function crashing(input: {
  readonly file: string;
  readonly how: "exit" | "throw" | "reject" | "memory";
  readonly times: number;
}): Promise<string> {
  const { file, how, times } = input;
  const before = existsSync(file)
    ? (await import("node:fs")).readFileSync(file, "utf8").split("\n").length - 1
    : 0;
  began(file);
  if (before >= times) return `done after ${before}`;
  if (how === "exit") process.exit(7);
  if (how === "throw") setTimeout(() => fail("uncaught"), 1);
  if (how === "reject") void Promise.reject(new Error("unhandled"));
  const kept: unknown[] = [];
  while (how === "memory") kept.push(Array.from({ length: 100_000 }, (_, place) => ({ place })));
  return new Promise(() => undefined);
}

function fail(message: string): never {
  throw new Error(message);
}

/** Computes until the file `until` is there, or for ever. */
export function computing({ file, until }: { readonly file: string; readonly until?: string }): string {
  began(file);
  while (until === undefined || !existsSync(until));
  return "computed";
}

/** Ends when its signal says so. */
export async function waiting(file: string, { signal }: WorkerStepContext): Promise<void> {
  signal.addEventListener("abort", () => appendFileSync(file, `${(signal.reason as Error).message}\n`));
  began(file);
  await pause(3_600_000, undefined, { signal });
}

export async function reporting(_: undefined, step: WorkerStepContext): Promise<string> {
  void step.status("Reports");
  step.progress(2, 3, "two");
  void step.log("warning", "a line", { error: new TypeError("inner"), map: new Map([["a", 1]]) });
  void step.output({ type: "text", text: "a block" });
  await step.output("another");
  return "reported";
}

export const notAFunction = 1;
