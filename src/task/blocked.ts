/**
 * Tasks that the code which met them cannot continue, although other code could: a deploy changed what they depend on.
 * - A blocked task has not failed. What its handler did, and what clients and others send it meanwhile, is kept.
 * - It is tried again when a process starts, or gets a tool; by an operator; and after pauses that grow.
 * - It stays blocked while it is tried, until its handler does something new, or it ends.
 */

import { cutText } from "./stored-text.ts";
import { storable } from "./time.ts";

/**
 * What stood in the way. `replay`: the handler does something else under a key of its journal. `arguments`: they were accepted once, and
 * the tool refuses them now. `version`: no process has the version of the tool with which the task began. `tool`: no process has the tool.
 */
export type BlockReason = "replay" | "arguments" | "version" | "tool";

export const blockReasons: Readonly<Record<BlockReason, true>> = {
  replay: true,
  arguments: true,
  version: true,
  tool: true,
};

/** Why one process could not continue a task. The texts are for people, and may contain words of users. */
export interface Block {
  readonly reason: BlockReason;
  /** The whole reason, as a sentence. */
  readonly problem: string;
  /** The key in the journal, if one is in the way. */
  readonly key: string | null;
  /** What the task began with. */
  readonly was: string | null;
  /** What the code has now. */
  readonly is: string | null;
  /** The version of the tool in the process that met the task; null if it has none. */
  readonly version: number | null;
  /** The deploy of that process (`deploy` in its options); null if it has no name. */
  readonly deploy: string | null;
}

/** The last such meeting, and how many there were. */
export interface Blocked extends Block {
  /** When the first one was (epoch ms). */
  readonly since: number;
  readonly tries: number;
}

/** The commands that block a task, and try it again. */
export interface BlockCommands {
  /**
   * The code of this process cannot continue the task, which is tried again at `until` (epoch ms). `unbegun`: the handler did not begin in
   * this attempt, which then counts for nothing.
   */
  block: {
    readonly id: string;
    readonly token: string;
    readonly until: number;
    readonly block: Block;
    readonly unbegun?: true;
  };
  /** Blocks a queued task whose tool no process has. Refused as `state` while a living owner has a handler for it. */
  orphan: { readonly id: string; readonly until: number; readonly block: Block };
  /** Makes a blocked queued task claimable. Refused as `state` if it is not blocked. */
  unblock: { readonly id: string };
}

const longest = 1_000;

const shortestPauseMs = 10_000;
const longestPauseMs = 10 * 60_000;

/** The state of a task once more code could not continue it. */
export function blockedBy(block: Block, before: Blocked | undefined, now: number): Blocked {
  const { problem, was, is } = block;
  return {
    ...block,
    problem: cutText(problem, longest),
    was: was === null ? null : cutText(was, longest),
    is: is === null ? null : cutText(is, longest),
    since: before?.since ?? now,
    tries: (before?.tries ?? 0) + 1,
  };
}

/** When it is tried again by itself, with the last try at `lastAt` (epoch ms). */
export function nextTryAt({ tries }: Pick<Blocked, "tries">, now: number, lastAt: number): number {
  const pause = Math.min(shortestPauseMs * 2 ** Math.min(tries - 1, 10), longestPauseMs);
  return storable(Math.max(now, Math.min(now + pause, lastAt)));
}

/** The status text for clients, in place of the task's own until it continues. */
export const blockedText =
  "The server was changed and cannot continue this task at the moment. Nothing is lost: the task continues when a version of the server that fits is running.";

/** Why a task failed that was blocked for too long. */
export function blockedFailure({ problem, since, tries }: Blocked, now: number): string {
  const days = (now - since) / 86_400_000;
  const long =
    days >= 1 ? `${Math.round(days * 10) / 10} days` : `${Math.round((now - since) / 1_000)} seconds`;
  const tried = tries === 1 ? "once" : `${tries} times`;
  return `Gave up: since ${new Date(since).toISOString()}, for ${long}, no version of the server could continue this task, which was tried ${tried}. ${problem}`;
}
