import type { RequestId } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../generation/message.ts";
import type { Progress, TaskRecord, TaskSnapshot } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import { type Connection, type Reply, Undelivered } from "../connection/connection.ts";
import { type Attempt, firstAttempt, judgeReply, paramsFor, type Question } from "../connection/question.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { OnError } from "../faults.ts";
import { questionName } from "../../generation/extensions.ts";
import { untilStoreAnswers } from "../../runtime/observed-store.ts";
import { isStopping, HoldfastError } from "../../task/fault.ts";
import { type InputAnswer, type InputRequest, missingForInput } from "../../task/journal.ts";

export interface OutgoingNotification {
  readonly method: string;
  readonly params: JsonObject;
}

/** The permanent name of a question: its task, and its key there. */
export interface QuestionName {
  readonly wireId: string;
  readonly key: string;
}

/** The messages about a task that a generation sends without a request. Those that it does not have are left out. */
export interface NotificationFormat {
  /** The state of the task, which is sent when it differs from the last one. */
  state?(snapshot: TaskSnapshot): OutgoingNotification;
  /** Progress under the token of the request that became the task. */
  progress?(progressToken: string | number, progress: Progress, wireId: string): OutgoingNotification;
  /** A line of the task's log. */
  log?(line: LogText, task: Pick<TaskRecord, "tool" | "wireId">): OutgoingNotification;
  /** Asks a client; as `askClient`. */
  ask(question: Question, name: QuestionName): Promise<Reply>;
}

/** A request that is answered with the end of the task. */
export interface Waiter {
  readonly connection: Connection;
  readonly request: RequestId;
  readonly settled: PromiseWithResolvers<TaskSnapshot>;
  /** For progress on its stream. */
  readonly progressToken: string | number | undefined;
  /** False once its stream broke: a client may still resume it for the answer, but nothing is asked on it. */
  open: boolean;
}

/** A connection on which a task was created, or polled when no such connection could be reached. */
export interface Subscriber {
  readonly connection: Connection;
  readonly progressToken: string | number | undefined;
  /** True if the task came from another process, which may still report it to the same client. */
  readonly isTakenUp?: true;
  /** Whether its client has the id of the task by now. Until then, it would not know which task a question is of. */
  informed: boolean;
}

export interface SubscriptionSetup {
  readonly runtime: Runtime;
  readonly id: string;
  readonly wireId: string;
  readonly requiredScopes: readonly string[];
  readonly requestor: Requestor;
  readonly onError: OnError;
  readonly format: NotificationFormat;
  /** Called when no connection is subscribed any more. */
  readonly onEnd: () => void;
}

/** The subscribers of a task and the requests that wait for its end, and where to reach each. */
export class Subscribers {
  readonly waiters = new Set<Waiter>();
  readonly #task: Pick<TaskRecord, "requiredScopes">;
  readonly #followers = new Map<Connection, { readonly follower: Subscriber; readonly remove: () => void }>();

  constructor(task: Pick<TaskRecord, "requiredScopes">) {
    this.#task = task;
  }

  get followers(): Subscriber[] {
    return [...this.#followers.values()].map(({ follower }) => follower);
  }

  get empty(): boolean {
    return this.waiters.size === 0 && this.#followers.size === 0;
  }

  /** One per connection: if a call is repeated there, its newest progress token counts. */
  add(follower: Subscriber, remove: () => void): void {
    this.remove(follower.connection);
    this.#followers.set(follower.connection, { follower, remove });
  }

  remove(connection: Connection): void {
    this.#followers.get(connection)?.remove();
    this.#followers.delete(connection);
  }

  followerOn(connection: Connection): Subscriber | undefined {
    return this.#followers.get(connection)?.follower;
  }

  get connections(): Set<Connection> {
    return new Set([...this.#followers.keys(), ...[...this.waiters].map(({ connection }) => connection)]);
  }

  /** Whether some of them want progress. */
  get wantProgress(): boolean {
    return [...this.followers, ...this.waiters].some(({ progressToken }) => progressToken !== undefined);
  }

  /** Where a notification can reach the connection now, if anywhere. */
  routeTo(connection: Connection): { via: RequestId | undefined } | undefined {
    if (connection.isReached(this.#task)) return { via: undefined };
    for (const waiter of this.waiters) {
      if (waiter.connection === connection && waiter.open) return { via: waiter.request };
    }
    return undefined;
  }

  close(): void {
    for (const connection of this.#followers.keys()) this.remove(connection);
  }
}

/** How often one question may be open at clients, if all of its streams but the last broke. */
const mostOffers = 4;

interface Offer {
  readonly connection: Connection;
  readonly via: RequestId | undefined;
  readonly withdrawn: AbortController;
  /** Resolves once the answer is stored, or not needed any more. */
  readonly kept: Promise<void>;
  /** True once the client made a task of it, which outlives the stream. */
  isTask: boolean;
}

/**
 * Sends the open questions of a task to a client, in order, each on one stream at a time. A question whose stream broke is sent
 * again on the next; an answer to the first one still counts.
 */
export class PendingQuestions {
  readonly #setup: SubscriptionSetup;
  readonly #subscribers: Subscribers;
  readonly #readAgain: () => void;
  /** By key, the newest offer. */
  readonly #offers = new Map<string, Offer>();
  /** By key, the offers that may still be answered. */
  readonly #withdraw = new Map<string, Set<AbortController>>();
  /** By key, how a question is asked again. */
  readonly #attempts = new Map<string, Attempt>();
  /** By key, the storing of its answers: the one that came first is the first to reach the store. */
  readonly #answered = new Map<string, Promise<void>>();

  /** `readAgain` has the task read, and what is open then offered: another process may have an answer by now. */
  constructor(setup: SubscriptionSetup, subscribers: Subscribers, readAgain: () => void) {
    this.#setup = setup;
    this.#subscribers = subscribers;
    this.#readAgain = readAgain;
  }

  /** Withdraws questions that are no longer open, and sends those that can be sent. */
  offer(open: readonly InputRequest[]): void {
    const keys = new Set(open.map(({ key }) => key));
    for (const key of this.#withdraw.keys()) if (!keys.has(key)) this.#withdrawAll(key);
    for (const key of this.#answered.keys()) if (!keys.has(key)) this.#answered.delete(key);
    for (const key of this.#attempts.keys()) if (!keys.has(key)) this.#attempts.delete(key);
    for (const question of open) {
      const { key } = question;
      if (!this.#answered.has(key) && !this.#isAsked(question)) this.#send(question);
    }
  }

  /** A question that became a task of a client stays there, unless that client cannot be reached and another one can. */
  #isAsked(question: InputRequest): boolean {
    const offer = this.#offers.get(question.key);
    if (offer === undefined) return false;
    if (!offer.isTask || this.#subscribers.routeTo(offer.connection) !== undefined) return true;
    const outlet = this.#outletFor(question);
    return outlet === undefined || outlet.connection === offer.connection;
  }

  /** A stream broke: its questions are sent on another one, as soon as there is one. */
  lost(connection: Connection, via: RequestId | undefined): void {
    if (this.#offers.size === 0) return;
    for (const [key, offer] of this.#offers) {
      const stays = offer.isTask && !connection.closing.aborted;
      if (offer.connection === connection && offer.via === via && !stays) this.#offers.delete(key);
    }
    this.#readAgain();
  }

  close(): void {
    for (const key of this.#withdraw.keys()) this.#withdrawAll(key);
  }

  #withdrawAll(key: string): void {
    this.#offers.delete(key);
    const made = this.#withdraw.get(key) ?? [];
    this.#withdraw.delete(key);
    for (const controller of made) controller.abort();
  }

  #send(question: InputRequest): void {
    const outlet = this.#outletFor(question);
    if (outlet === undefined) return;
    const { key } = question;
    const kept = Promise.withResolvers<void>();
    const offer: Offer = { ...outlet, withdrawn: new AbortController(), kept: kept.promise, isTask: false };
    this.#offers.set(key, offer);
    const made = (this.#withdraw.get(key) ?? new Set()).add(offer.withdrawn);
    this.#withdraw.set(key, made);
    const [oldest] = made;
    if (made.size > mostOffers) oldest?.abort();
    this.#ask(question, offer)
      .catch((error: unknown) => {
        if (!offer.withdrawn.signal.aborted && !isStopping(error)) this.#setup.onError(error);
      })
      .finally(() => {
        kept.resolve();
        this.#withdraw.get(key)?.delete(offer.withdrawn);
      });
  }

  async #ask({ key, method, params, requiredScopes = [] }: InputRequest, offer: Offer): Promise<void> {
    const { runtime, format, wireId } = this.#setup;
    const parsed = JSON.parse(params) as JsonObject;
    const { connection, withdrawn } = offer;
    const attempt = this.#attempts.get(key) ?? firstAttempt;
    const put = { method, params: parsed, attempt };
    let reply: Reply;
    try {
      const question = {
        connection,
        method,
        params: paramsFor(put),
        mayBeTask: !attempt.plainly,
        via: () => this.#currentVia(offer),
        signal: withdrawn.signal,
        clock: runtime.clock,
        onTaskCreated: () => (offer.isTask = true),
        kept: offer.kept,
        requiredScopes: [...new Set([...this.#setup.requiredScopes, ...requiredScopes])],
      };
      reply = await format.ask(question, { wireId, key: questionName(key, attempt.refusals) });
    } catch (error) {
      if (!(error instanceof Undelivered)) throw error;
      if (this.#offers.get(key) === offer) this.#offers.delete(key); // sent again when a stream opens
      return;
    }
    const verdict = judgeReply(put, reply);
    if (verdict.kind === "again") return this.#askAgain(key, verdict.attempt, offer);
    const answer =
      verdict.kind === "error"
        ? { key, error: JSON.stringify(verdict.error) }
        : { key, value: JSON.stringify(verdict.value) };
    const earlier = this.#answered.get(key);
    const storing = (async () => {
      await earlier?.catch(() => undefined); // which is told to who waits for it
      await this.#storeOrFail(answer, withdrawn.signal);
    })();
    this.#answered.set(key, storing); // not asked again while the store fails
    await storing;
  }

  /** If the answer is refused, the question fails with the reason. */
  async #storeOrFail(answer: InputAnswer, signal: AbortSignal): Promise<void> {
    try {
      await this.#store(answer, signal);
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "invalid_params") throw error;
      const failed = JSON.stringify({ code: -32602, message: error.message });
      await this.#store({ key: answer.key, error: failed }, signal);
    }
  }

  #store(answer: InputAnswer, signal: AbortSignal): Promise<void> {
    const { runtime, id, requestor, onError } = this.#setup;
    const { clock } = runtime;
    return untilStoreAnswers(() => runtime.answer(id, requestor, [answer]), { clock, onError }, signal);
  }

  /** The question stays open in the journal. If it was sent on another stream meanwhile, that offer remains. */
  #askAgain(key: string, attempt: Attempt, offer: Offer): void {
    if (offer.withdrawn.signal.aborted) return;
    this.#attempts.set(key, attempt);
    if (this.#offers.get(key) === offer) this.#offers.delete(key);
    this.#readAgain();
  }

  #outletFor({ method, params }: InputRequest): Pick<Offer, "connection" | "via"> | undefined {
    const parsed = JSON.parse(params) as JsonObject;
    const canAnswer = ({ capabilities }: Connection): boolean =>
      missingForInput(method, parsed, capabilities) === undefined;
    for (const { connection, request, open } of this.#subscribers.waiters) {
      if (open && canAnswer(connection)) return { connection, via: request };
    }
    for (const { connection, informed } of this.#subscribers.followers) {
      const reached = informed && connection.isReached(this.#setup);
      if (reached && canAnswer(connection)) return { connection, via: undefined };
    }
    return undefined;
  }

  /** Later requests about the same question use a stream on which the connection can be reached by then. */
  #currentVia({ connection, via }: Offer): RequestId | undefined {
    const waiters = [...this.#subscribers.waiters].filter(
      (waiter) => waiter.open && waiter.connection === connection,
    );
    return waiters.some(({ request }) => request === via) ? via : waiters[0]?.request;
  }
}
