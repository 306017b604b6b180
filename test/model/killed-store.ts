import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { CommandResult, TaskCommand } from "../../src/task/command.ts";
import type { StoreRequest } from "./store-process.ts";
import type { Look, View } from "./view.ts";

const program = fileURLToPath(new URL("./store-process.ts", import.meta.url));

export interface Life {
  /** What was there at first. */
  readonly found: View;
  /** The results of the groups that were answered before the end. */
  readonly answers: readonly (readonly CommandResult[])[];
}

/** What a store is given to do before it is killed. */
export interface Work {
  readonly groups: readonly (readonly TaskCommand[])[];
  /** It has up to this many groups to do at a time. */
  readonly ahead: number;
  /** It is killed once it has answered so many. */
  readonly awaited: number;
}

/**
 * One life of a store in a process of its own: it is looked at, given its work, and killed in the middle of
 * whatever it is doing.
 */
export async function liveAndDie(path: string, look: Look, work: Work): Promise<Life> {
  const awaited = Math.min(work.awaited, work.groups.length);
  const waiting = [...work.groups];
  const child = spawn(process.execPath, [program, path], { stdio: ["pipe", "pipe", "pipe"] });
  const closed = once(child, "close");
  const problems = text(child.stderr);
  // It may be gone before it has read all.
  child.stdin.on("error", () => undefined);
  const send = (request: StoreRequest): void => void child.stdin.write(`${JSON.stringify(request)}\n`);
  const lines: unknown[] = [];
  try {
    send({ look });
    for await (const line of wholeLines(child.stdout.setEncoding("utf8"))) {
      lines.push(JSON.parse(line));
      for (const commands of waiting.splice(0, lines.length === 1 ? work.ahead : 1)) send({ commands });
      if (lines.length === 1 + awaited) child.kill("SIGKILL");
    }
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
  if (lines.length < 1 + awaited) throw new Error(`The store's process ended by itself: ${await problems}`);
  const [found, ...answers] = lines as [View, ...(readonly CommandResult[])[]];
  return { found, answers };
}

/** A line that the kill cut off is no answer. */
async function* wholeLines(chunks: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
