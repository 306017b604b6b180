import { randomUUID } from "node:crypto";
import { longNapMs } from "./naps.ts";

/** One call of a client, and what the client knows of it. */
export interface Job {
  readonly tool: string;
  readonly args: object;
  /** Without one, a call whose answer was lost is made anew, and whatever came of the lost one is nobody's. */
  readonly key: string | undefined;
  readonly toBeCancelled: boolean;
  /** One of many that came at once. */
  readonly inBurst: boolean;
  /** How eagerly its client answers: the chance at each poll. */
  readonly eagerness: number;
  /** Known once the server acknowledged the task. */
  taskId?: string;
  /** Known once an answer to its question was acknowledged. */
  answer?: string;
  cancelAcknowledged?: boolean;
  /** What `tasks/get` showed when the task had ended, or the direct answer; later reads have to be the same. */
  ended?: string;
}

/** `longNaps` is for the early ones, that the end of the run need not wait for them. */
export function anyJob(random: () => number, longNaps: boolean): Job {
  const count = 1 + Math.floor(random() * 12);
  const ms = Math.floor(random() * 150);
  const kinds: readonly (readonly [string, object])[] = [
    ["steps", { count }],
    ["steps", { count }],
    ["parallel", { count }],
    ["parallel", { count }],
    ["asks", {}],
    ["asks", {}],
    ["asks", {}],
    ["naps", { ms: longNaps && random() < 0.5 ? longNapMs : ms }],
    ["deadline", { ms }],
    ["race", { ms }],
    ["late", { count }],
    ["once", {}],
  ];
  const [tool, args] = kinds[Math.floor(random() * kinds.length)] ?? ["once", {}];
  return {
    tool,
    args,
    // A call with a key has its record from the start, and is never answered directly.
    key: tool === "late" ? undefined : randomUUID(),
    toBeCancelled: random() < 0.1,
    inBurst: false,
    eagerness: random(),
  };
}

export function smallJob(): Job {
  const args = { count: 1 };
  return { tool: "steps", args, key: randomUUID(), toBeCancelled: false, inBurst: true, eagerness: 1 };
}
