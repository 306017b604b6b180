import { randomUUID } from "node:crypto";
import { longNapMs } from "./naps.ts";
import type { SeenTask } from "./rpc.ts";
import { answerable } from "./tools.ts";

/** With less, a client would hardly ever have answered by the end. */
const leastEagerness = 0.05;

/** Tools whose question waits for its answer for as long as that takes. */
export const asksWithoutLimit: ReadonlySet<string> = new Set(["asks", "beside", "hires"]);

/** A request that makes a task that waits go on (epoch ms): on its way since then, and until it was acknowledged, if it was. */
export interface Touch {
  /** The server's that it was sent to. */
  readonly url: string;
  readonly since: number;
  until: number;
}

/** One call of a client, and what the client knows of it. */
export interface Job {
  readonly tool: string;
  readonly args: object;
  /** Without one, a call whose answer was lost is made anew, and whatever came of the lost one is nobody's. */
  readonly key: string | undefined;
  readonly toBeCancelled: boolean;
  /** Made through 2025-11-25, and only there to be seen. */
  readonly core: boolean;
  /** There: whether its client waits for the result from the start. */
  readonly waits: boolean;
  /** Its client's answer: always the same, so that it does not matter which of several arrived. */
  readonly word: string;
  /** One of many that came at once. */
  readonly inBurst: boolean;
  /** How eagerly its client answers: the chance at each poll. */
  readonly eagerness: number;
  /** Before that time (epoch ms) it neither answers nor cancels: so long it leaves a task parked. */
  readonly respondsFrom: number;
  /** Its answers and cancels. */
  readonly touches: Touch[];
  /** Known once the server acknowledged the task. */
  taskId?: string;
  /** Known once an answer to its question was acknowledged. */
  answer?: string;
  cancelAcknowledged?: boolean;
  /** The one that was acknowledged. */
  cancel?: Touch;
  /** When the first was sent (epoch ms), whose answer may have been lost: the grace may have begun with that. */
  cancelSentAt?: number;
  /** In 2025-11-25 an answer is not acknowledged: it was sent, and then the question was seen to be closed. */
  replied?: boolean;
  /** Those replies, until their question is seen to be closed. */
  replies?: readonly Touch[];
  /** When (monotonic, in ms) and by whom the question was shown as answered. */
  answered?: { readonly at: number; readonly servers: Set<unknown> };
  /** Why its client last gave up on a server. */
  refused?: string;
  /** What `tasks/get` and `tasks/result` showed when the task had ended, or the direct answer; later reads have to be the same. */
  ended?: string;
}

/** `longNaps` is for the early ones, that the end of the run need not wait for them. */
export function anyJob(random: () => number, longNaps: boolean): Job {
  const count = 1 + Math.floor(random() * 12);
  // Some wait for so long that their frames are dropped.
  const ms = Math.floor(random() < 0.6 ? random() * 150 : 1_050 + random() * 2_000);
  const kinds: readonly (readonly [string, object])[] = [
    ["steps", { count }],
    ["steps", { count }],
    ["parallel", { count }],
    ["parallel", { count }],
    ["asks", {}],
    ["asks", {}],
    ["beside", { count }],
    ["beside", { count }],
    ["hires", {}],
    ["hires", {}],
    ["hires", {}],
    ["naps", { ms: longNaps && random() < 0.5 ? longNapMs : ms }],
    ["deadline", { ms }],
    ["deadline", { ms }],
    ["race", { ms }],
    ["late", { count }],
    ["once", {}],
    ["tries", {}],
    ["tries", {}],
  ];
  const [tool, args] = kinds[Math.floor(random() * kinds.length)] ?? ["once", {}];
  // Answered as it comes is only the one generation.
  const core = tool !== "late" && random() < 0.4;
  return {
    tool,
    args,
    // A call with a key has its record from the start, and is never answered directly.
    key: tool === "late" ? undefined : randomUUID(),
    toBeCancelled: random() < (tool === "hires" ? 0.6 : 0.1),
    core,
    waits: random() < 0.5,
    word: randomUUID(),
    inBurst: false,
    eagerness: Math.max(leastEagerness, random()),
    respondsFrom: Date.now() + (random() < 0.5 ? 0 : random() * 2_500),
    touches: [],
  };
}

export function smallJob(random: () => number): Job {
  const args = { count: 1 };
  const word = randomUUID();
  const small = {
    core: random() < 0.4,
    waits: false,
    word,
    toBeCancelled: false,
    inBurst: true,
    eagerness: 1,
    respondsFrom: 0,
    touches: [],
  };
  return { tool: "steps", args, key: randomUUID(), ...small };
}

/** Sends an answer or a cancel of a job's client, and keeps in mind when it was on its way. */
export async function touching<T>(
  job: Job,
  url: string,
  send: () => Promise<T>,
): Promise<readonly [T, Touch]> {
  const sent = touch(job, url);
  const answer = await send();
  sent.until = Date.now();
  return [answer, sent];
}

/** Keeps in mind that an answer or a cancel is on its way from now on: whoever learns of its arrival says so in `until`. */
export function touch(job: Job, url: string): Touch {
  const sent: Touch = { url, since: Date.now(), until: Number.POSITIVE_INFINITY };
  job.touches.push(sent);
  return sent;
}

/** Whether its client answers or cancels now. */
export function mayRespond({ tool, respondsFrom }: Job, { statusMessage }: SeenTask): boolean {
  return Date.now() >= respondsFrom && (tool !== "beside" || statusMessage === answerable);
}
