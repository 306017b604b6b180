import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../generation/json-object.ts";
import { questionKeyOf } from "../../generation/question-key.ts";
import { unlessAborted } from "../unless-aborted.ts";
import type { InputResult } from "../question/input-request.ts";
import type { Reply } from "../reply/reply.ts";
import type { OpenQuestion } from "../task/remote-task.ts";
import type { RawRequestOptions } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/** One arrival of a question, to be answered in the session that it came in. */
interface Arrival {
  readonly id: RequestId;
  readonly session: number;
}

interface Asking {
  /** The same object for as long as it is open: another one under its key was asked after the answer. */
  readonly question: OpenQuestion;
  arrivals: Arrival[];
  /** Resolves at the next arrival. */
  next: PromiseWithResolvers<void>;
}

/** What a message about the task is to be sent with. */
type InSession = () => Pick<RawRequestOptions, "headers">;

/** A result that says which task it is of. */
export type Relate = (result: JsonObject, taskId: string) => JsonObject;

/**
 * The questions that a server has asked for one task and that are not answered. A server asks again where a stream or
 * a session broke before the answer: then it is the same question, which nobody is asked twice. Its name tells, where
 * the server gives names, and else its words.
 */
export class TaskAskings {
  readonly #taskId: string;
  readonly #requester: RawRequester;
  readonly #relate: Relate;
  readonly #inSession: InSession;
  readonly #askings = new Map<string, Asking>();

  constructor(taskId: string, requester: RawRequester, relate: Relate, inSession: InSession = () => ({})) {
    this.#taskId = taskId;
    this.#requester = requester;
    this.#relate = relate;
    this.#inSession = inSession;
  }

  get size(): number {
    return this.#askings.size;
  }

  open(): Readonly<Record<string, OpenQuestion>> {
    return Object.fromEntries([...this.#askings].map(([key, { question }]) => [key, question] as const));
  }

  /** Takes a question in; true if it is a new one. */
  ask({ id, method, params = {} }: JSONRPCRequest): boolean {
    const { session } = this.#requester;
    const arrival = { id, session };
    const question = { method, params };
    const name = questionKeyOf(params);
    const asking = name === undefined ? this.#alike(question) : this.#askings.get(name);
    if (asking !== undefined) {
      asking.arrivals.push(arrival);
      asking.next.resolve();
      asking.next = Promise.withResolvers();
      return false;
    }
    const key = name ?? (session === 0 ? String(id) : `${session}/${String(id)}`);
    this.#askings.set(key, { question, arrivals: [arrival], next: Promise.withResolvers() });
    return true;
  }

  /** The server takes an arrival back; true if nothing of its question is left. */
  withdraw(id: unknown): boolean {
    for (const [key, asking] of this.#askings) {
      if (!this.#current(asking).some((arrival) => arrival.id === id)) continue;
      asking.arrivals = asking.arrivals.filter((arrival) => arrival.id !== id);
      return asking.arrivals.length === 0 && this.#askings.delete(key);
    }
    return false;
  }

  /** Drops what was asked in a session that is gone and is not asked in this one. */
  dropLost(): void {
    for (const [key, asking] of this.#askings) {
      if (this.#current(asking).length === 0) this.#askings.delete(key);
    }
  }

  clear(): void {
    this.#askings.clear();
  }

  /** Answers wherever the question was asked; waits for it to be asked again if that is nowhere now. */
  async answer(key: string, result: InputResult, signal: AbortSignal): Promise<Reply<undefined>> {
    const asking = this.#askings.get(key);
    if (asking === undefined) return done;
    const message = { jsonrpc: "2.0" as const, result: this.#relate({ ...result }, this.#taskId) };
    let told = false;
    for (;;) {
      signal.throwIfAborted();
      const [arrival] = this.#current(asking);
      if (arrival === undefined && told) {
        this.#askings.delete(key);
        return done;
      }
      if (arrival === undefined) {
        await unlessAborted(asking.next.promise, signal);
        continue;
      }
      const reply = await this.#requester.tell({ ...message, id: arrival.id }, this.#inSession());
      const isLost = arrival.session !== this.#requester.session;
      if (reply.kind !== "value" && !isLost) return reply;
      told ||= reply.kind === "value";
      asking.arrivals = asking.arrivals.filter((other) => other !== arrival);
    }
  }

  /** Two without names that are alike at once are taken for one that is asked again, and get the one answer. */
  #alike(question: OpenQuestion): Asking | undefined {
    for (const asking of this.#askings.values())
      if (isDeepStrictEqual(asking.question, question)) return asking;
    return undefined;
  }

  #current({ arrivals }: Asking): Arrival[] {
    return arrivals.filter(({ session }) => session === this.#requester.session);
  }
}

const done: Reply<undefined> = { kind: "value", value: undefined };
