import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { RpcError, type Rpc } from "./rpc.ts";

export interface EventToSend {
  readonly taskId: string;
  readonly name: string;
  readonly value: string;
  readonly dedupeId: string;
}

/** What became of an event: another word is the code of what it was refused with. */
export type SentEvent = "new" | "known" | (string & {});

/** Sends an event; resolves with undefined where nobody knows what became of it. */
export type Sender = (event: EventToSend) => Promise<SentEvent | undefined>;

export const eventNames = ["lasting", "short"] as const;

/** A task that takes events, and those that come for it: so many of each name, one after the other. */
interface EventStream {
  readonly args: { readonly count: number; readonly ms: number };
  readonly key: string;
  taskId?: string;
  /** How many were acknowledged, by name. */
  readonly sent: Record<string, number>;
  /** Those that may have been stored, since their answer was lost. */
  readonly unsure: Set<string>;
  ended?: string;
}

/** What comes from outside for tasks, through any number of servers that die: of each event it is known only what was acknowledged. */
export class EventStreams {
  readonly violations: string[] = [];
  readonly #streams: EventStream[] = [];
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  get open(): number {
    return this.#streams.filter(({ ended }) => ended === undefined).length;
  }

  /** How many events were taken by tasks that have ended. */
  get taken(): number {
    const ended = this.#streams.filter((stream) => stream.ended !== undefined);
    return ended.reduce((sum, { args }) => sum + args.count * eventNames.length, 0);
  }

  /** Until so many are open. */
  add(open: number): void {
    while (this.open < open) {
      const count = 1 + Math.floor(this.#random() * 10);
      const ms = [1, 10, 50, 1_500][Math.floor(this.#random() * 4)] ?? 1;
      this.#streams.push({ args: { count, ms }, key: randomUUID(), sent: {}, unsure: new Set() });
    }
  }

  /** Goes on with all until they have ended, or the server is gone. */
  async drive(rpc: Rpc, senders: readonly Sender[], signal: AbortSignal): Promise<void> {
    const open = this.#streams.filter(({ ended }) => ended === undefined);
    await Promise.all(open.map((stream) => this.#drive(stream, rpc, senders, signal)));
  }

  async #drive(
    stream: EventStream,
    rpc: Rpc,
    senders: readonly Sender[],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const taskId = stream.taskId ?? (await rpc.call("collects", stream.args, stream.key)).taskId;
      if (taskId === undefined) throw new RpcError(`No task was made of ${stream.key}`);
      stream.taskId = taskId;
      await Promise.all(eventNames.map((name) => this.#send(stream, taskId, name, senders, signal)));
      while (!signal.aborted) {
        const { status, result, error } = await rpc.get(taskId);
        if (status !== "working") {
          stream.ended = result?.content[0].text ?? JSON.stringify({ status, error });
          if (stream.ended !== expectedText(stream))
            this.violations.push(`${taskId} of ${JSON.stringify(stream.args)} ended as ${stream.ended}`);
          return;
        }
        await pause(10);
      }
    } catch (error) {
      // A server that is gone is what this is about; one that refuses is not.
      if (error instanceof RpcError) this.violations.push(error.message);
    }
  }

  /** One after the other: the next when the one before was acknowledged, which is sent again now and then all the same. */
  async #send(
    stream: EventStream,
    taskId: string,
    name: string,
    senders: readonly Sender[],
    signal: AbortSignal,
  ): Promise<void> {
    for (;;) {
      const n = stream.sent[name] ?? 0;
      if (n >= stream.args.count || signal.aborted) return;
      const send = senders[Math.floor(this.#random() * senders.length)];
      const dedupeId = `${name} ${n}`;
      const sent = await send?.({ taskId, name, value: valueOf(name, n), dedupeId });
      if (sent === undefined) stream.unsure.add(dedupeId);
      else if (sent === "new" || stream.unsure.has(dedupeId)) {
        stream.sent[name] = n + 1;
        if (!["new", "known", "finished"].includes(sent)) this.#wrong(taskId, dedupeId, sent);
        if (this.#random() < 0.2) {
          const again = await send?.({ taskId, name, value: "again", dedupeId });
          if (again === "new") this.#wrong(taskId, dedupeId, "new again");
        }
      } else {
        this.#wrong(taskId, dedupeId, sent);
        return;
      }
      await pause(this.#random() * 12);
    }
  }

  #wrong(taskId: string, dedupeId: string, sent: SentEvent): void {
    this.violations.push(`${dedupeId} of ${taskId} was ${sent}`);
  }
}

function valueOf(name: string, n: number): string {
  return `${name}-${n}`;
}

function expectedText({ args: { count } }: EventStream): string {
  return eventNames.flatMap((name) => Array.from({ length: count }, (_, n) => valueOf(name, n))).join(" ");
}
