import type { RequestId } from "@modelcontextprotocol/server";
import type { JsonObject, WireNotification } from "../../generation/message.ts";
import type { Progress, TaskRecord } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import { type Connection, type Reply, Undelivered } from "../connection/connection.ts";
import { type Attempt, firstAttempt, judgeReply, paramsFor, type Question } from "../connection/question.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { OnError } from "../faults.ts";
import { questionName } from "../../generation/extensions.ts";
import { untilStoreAnswers } from "../../runtime/observed-store.ts";
import { isStopping, HoldfastError } from "../../task/fault.ts";
import { type InputAnswer, type InputRequest, missingForInput } from "../../task/journal.ts";

/** The permanent name of a question: its task, and its key there. */
export interface QuestionName {
  readonly wireId: string;
  readonly key: string;
}

/** The messages about a task that a generation sends without a request. Those that it does not have are left out. */
export interface NotificationFormat {
  /** The state of the task, which is sent when it differs from the last one. */
  state?(task: TaskRecord): WireNotification;
  /** Progress under the token of the request that became the task. */
  progress?(
    progressToken: string | number,
    progress: Progress,
    task: Pick<TaskRecord, "wireId">,
  ): WireNotification;
  /** A line of the task's log. */
  log?(line: LogText, task: Pick<TaskRecord, "tool" | "wireId">): WireNotification;
  /** Asks a client; as `askClient`. */
  ask(question: Question, name: QuestionName): Promise<Reply>;
}

/** A request that is answered with what its task comes to. */
export interface Wait {
  readonly connection: Connection;
  readonly request: RequestId;
  /** For progress on its stream; left out: none is sent. */
  readonly progressToken?: string | number | undefined;
}

/**
 * Who gets what a task has to say: a request that waits for it, on its stream; or a connection on which it was created, or polled when no
 * such connection could be reached.
 */
export interface Subscriber extends Omit<Wait, "request"> {
  /** Undefined for a connection. */
  readonly request?: RequestId;
  /** True if the task came from another process, which may still report it to the same client. */
  readonly isTakenUp?: true;
  /**
   * Whether questions can be asked here: not before the client of a connection has the id of the task, which it would not know, nor once the
   * stream of a request broke, which a client may still resume for the answer.
   */
  takesQuestions: boolean;
  /** The last progress that it got, or has otherwise. */
  progress: number | undefined;
  /** Has a request read the task. */
  readonly wake?: () => void;
  /** It subscribes no longer. */
  readonly end: () => void;
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

/** The subscribers of a task, and where to reach each. */
export class Subscribers {
  readonly waiters = new Set<Subscriber>();
  /** One per connection: if a call is repeated there, its newest progress token counts. */
  readonly #followers = new Map<Connection, Subscriber>();
  readonly #task: Pick<TaskRecord, "requiredScopes">;

  constructor(task: Pick<TaskRecord, "requiredScopes">) {
    this.#task = task;
  }

  /** Requests first: questions are asked on their streams. */
  get all(): Subscriber[] {
    return [...this.waiters, ...this.#followers.values()];
  }

  get connections(): Set<Connection> {
    return new Set(this.all.map(({ connection }) => connection));
  }

  follow(follower: Subscriber): void {
    this.remove(follower.connection);
    this.#followers.set(follower.connection, follower);
  }

  /** The connection follows the task no longer. */
  remove(connection: Connection): void {
    this.#followers.get(connection)?.end();
    this.#followers.delete(connection);
  }

  followerOn(connection: Connection): Subscriber | undefined {
    return this.#followers.get(connection);
  }

  get someIsReached(): boolean {
    return [...this.#followers.keys()].some((connection) => connection.isReached(this.#task));
  }

  /** Where a notification can reach the connection now, if anywhere. */
  routeTo(connection: Connection): { via: RequestId | undefined } | undefined {
    if (connection.isReached(this.#task)) return { via: undefined };
    for (const waiter of this.waiters) {
      if (waiter.connection === connection && waiter.takesQuestions) return { via: waiter.request };
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

/** An open question. */
interface Pending {
  /** The newest offer; undefined: it is to be sent. */
  offer: Offer | undefined;
  /** Those that may still be answered. */
  readonly made: Set<Offer>;
  attempt: Attempt;
  /** The storing of its answers: the one that came first is the first to reach the store. */
  answered: Promise<void> | undefined;
}

/**
 * Sends the open questions of a task to a client, in order, each on one stream at a time. A question whose stream broke is sent
 * again on the next; an answer to the first one still counts.
 */
export class PendingQuestions {
  readonly #setup: SubscriptionSetup;
  readonly #subscribers: Subscribers;
  readonly #readAgain: () => void;
  /** By key. */
  readonly #pending = new Map<string, Pending>();

  /** `readAgain` has the task read, and what is open then offered: another process may have an answer by now. */
  constructor(setup: SubscriptionSetup, subscribers: Subscribers, readAgain: () => void) {
    this.#setup = setup;
    this.#subscribers = subscribers;
    this.#readAgain = readAgain;
  }

  /** Withdraws questions that are no longer open, and sends those that can be sent. */
  offer(open: readonly InputRequest[]): void {
    const keys = new Set(open.map(({ key }) => key));
    for (const [key, { made }] of this.#pending) {
      if (keys.has(key)) continue;
      this.#pending.delete(key);
      for (const { withdrawn } of made) withdrawn.abort();
    }
    for (const question of open) {
      const { key } = question;
      const pending = this.#pending.get(key) ?? {
        offer: undefined,
        made: new Set(),
        attempt: firstAttempt,
        answered: undefined,
      };
      this.#pending.set(key, pending);
      if (pending.answered === undefined && !this.#isAsked(question, pending)) this.#send(question, pending);
    }
  }

  /** A question that became a task of a client stays there, unless that client cannot be reached and another one can. */
  #isAsked(question: InputRequest, { offer }: Pending): boolean {
    if (offer === undefined) return false;
    if (!offer.isTask || this.#subscribers.routeTo(offer.connection) !== undefined) return true;
    const outlet = this.#outletFor(question);
    return outlet === undefined || outlet.connection === offer.connection;
  }

  /** A stream broke: its questions are sent on another one, as soon as there is one. */
  lost(connection: Connection, via: RequestId | undefined): void {
    let isLost = false;
    for (const pending of this.#pending.values()) {
      const { offer } = pending;
      if (offer === undefined) continue;
      isLost = true;
      const stays = offer.isTask && !connection.closing.aborted;
      if (offer.connection === connection && offer.via === via && !stays) pending.offer = undefined;
    }
    if (isLost) this.#readAgain();
  }

  #send(question: InputRequest, pending: Pending): void {
    const outlet = this.#outletFor(question);
    if (outlet === undefined) return;
    const kept = Promise.withResolvers<void>();
    const offer: Offer = { ...outlet, withdrawn: new AbortController(), kept: kept.promise, isTask: false };
    const { made } = pending;
    pending.offer = offer;
    made.add(offer);
    const [oldest] = made;
    if (made.size > mostOffers) oldest?.withdrawn.abort();
    this.#ask(question, offer, pending)
      .catch((error: unknown) => {
        if (!offer.withdrawn.signal.aborted && !isStopping(error)) this.#setup.onError(error);
      })
      .finally(() => {
        kept.resolve();
        made.delete(offer);
      });
  }

  async #ask(
    { key, method, params, requiredScopes = [] }: InputRequest,
    offer: Offer,
    pending: Pending,
  ): Promise<void> {
    const { runtime, format, wireId } = this.#setup;
    const { connection, withdrawn, kept } = offer;
    const { attempt } = pending;
    const put = { method, params: JSON.parse(params) as JsonObject, attempt };
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
        kept,
        requiredScopes: [...new Set([...this.#setup.requiredScopes, ...requiredScopes])],
      };
      reply = await format.ask(question, { wireId, key: questionName(key, attempt.refusals) });
    } catch (error) {
      if (!(error instanceof Undelivered)) throw error;
      if (pending.offer === offer) pending.offer = undefined; // sent again when a stream opens
      return;
    }
    const verdict = judgeReply(put, reply);
    if (verdict.kind === "again") {
      // The question stays open in the journal. If it was sent on another stream meanwhile, that offer remains.
      if (withdrawn.signal.aborted) return;
      pending.attempt = verdict.attempt;
      if (pending.offer === offer) pending.offer = undefined;
      this.#readAgain();
      return;
    }
    const answer =
      verdict.kind === "error"
        ? { key, error: JSON.stringify(verdict.error) }
        : { key, value: JSON.stringify(verdict.value) };
    const { answered: earlier } = pending;
    const storing = (async () => {
      await earlier?.catch(() => undefined); // which is told to who waits for it
      await this.#storeOrFail(answer, withdrawn.signal);
    })();
    pending.answered = storing; // not asked again while the store fails
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

  #outletFor({ method, params }: InputRequest): Pick<Offer, "connection" | "via"> | undefined {
    const parsed = JSON.parse(params) as JsonObject;
    const outlet = this.#subscribers.all.find(
      ({ connection, request, takesQuestions }) =>
        takesQuestions &&
        (request !== undefined || connection.isReached(this.#setup)) &&
        missingForInput(method, parsed, connection.capabilities) === undefined,
    );
    return outlet && { connection: outlet.connection, via: outlet.request };
  }

  /** Later requests about the same question use a stream on which the connection can be reached by then. */
  #currentVia({ connection, via }: Offer): RequestId | undefined {
    const open = [...this.#subscribers.waiters].filter(
      (waiter) => waiter.takesQuestions && waiter.connection === connection,
    );
    return open.some(({ request }) => request === via) ? via : open[0]?.request;
  }
}
