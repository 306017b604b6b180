import type { RequestId } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../generation/json-object.ts";
import { questionName } from "../../generation/question-key.ts";
import { untilStoreAnswers } from "../../runtime/until-store-answers.ts";
import { HoldfastError } from "../../task/fault.ts";
import { missingForInput, type InputAnswer, type InputRequest } from "../../task/input.ts";
import type { Reply } from "../connection/asked.ts";
import { firstManner, judgeReply, paramsFor, type Manner } from "../connection/manner.ts";
import { Undelivered, type Connection } from "../connection/connection.ts";
import type { Audience } from "./audience.ts";
import { isStopping } from "../stopping.ts";
import type { TaskLineSetup } from "./task-party.ts";

/** How often one question may be with a client at a time, on streams of which only one is still there. */
const mostAskings = 4;

interface Offer {
  readonly connection: Connection;
  readonly via: RequestId | undefined;
  readonly withdrawn: AbortController;
  /** Resolves once the answer is in the store, or is not wanted any more. */
  readonly kept: Promise<void>;
  /** True once the client made a task of it: it has the question, whatever becomes of the stream. */
  taken: boolean;
}

/**
 * The open questions of a task on their way to a client: in their order, each on one stream at a time. A
 * question whose stream broke goes out again on the next; an answer to the first asking still counts.
 */
export class OpenQuestions {
  readonly #setup: TaskLineSetup;
  readonly #audience: Audience;
  #open: readonly InputRequest[] = [];
  /** By key, the offer that the answer is expected on. */
  readonly #offers = new Map<string, Offer>();
  /** By key, all that were ever made and may still be answered. */
  readonly #withdraw = new Map<string, Set<AbortController>>();
  /** By key, how a question is put that is put again. */
  readonly #manners = new Map<string, Manner>();
  /** Keys whose answer is here and on its way to the store. */
  readonly #answered = new Set<string>();

  constructor(setup: TaskLineSetup, audience: Audience) {
    this.#setup = setup;
    this.#audience = audience;
  }

  /** Takes back what is no longer open and sends what can be sent. */
  offer(open: readonly InputRequest[]): void {
    this.#open = open;
    const keys = new Set(open.map(({ key }) => key));
    for (const key of this.#withdraw.keys()) if (!keys.has(key)) this.#takeBack(key);
    for (const key of this.#answered) if (!keys.has(key)) this.#answered.delete(key);
    for (const key of this.#manners.keys()) if (!keys.has(key)) this.#manners.delete(key);
    for (const question of open) {
      const { key } = question;
      if (!this.#answered.has(key) && !this.#isAsked(question)) this.#send(question);
    }
  }

  /** What a client took as a task stays with it, unless it cannot be reached any more and another one can. */
  #isAsked(question: InputRequest): boolean {
    const offer = this.#offers.get(question.key);
    if (offer === undefined) return false;
    if (!offer.taken || this.#audience.routeTo(offer.connection) !== undefined) return true;
    const outlet = this.#outletFor(question);
    return outlet === undefined || outlet.connection === offer.connection;
  }

  /** A stream is gone: what went out on it goes out on another, as soon as there is one. */
  lost(connection: Connection, via: RequestId | undefined): void {
    for (const [key, offer] of this.#offers) {
      const stays = offer.taken && !connection.closing.aborted;
      if (offer.connection === connection && offer.via === via && !stays) this.#offers.delete(key);
    }
    this.offer(this.#open);
  }

  close(): void {
    this.#open = [];
    for (const key of this.#withdraw.keys()) this.#takeBack(key);
  }

  #takeBack(key: string): void {
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
    const offer: Offer = { ...outlet, withdrawn: new AbortController(), kept: kept.promise, taken: false };
    this.#offers.set(key, offer);
    const made = (this.#withdraw.get(key) ?? new Set()).add(offer.withdrawn);
    this.#withdraw.set(key, made);
    const [oldest] = made;
    if (made.size > mostAskings) oldest?.abort();
    this.#ask(question, offer)
      .catch((error: unknown) => {
        if (!offer.withdrawn.signal.aborted && !isStopping(error)) this.#setup.onError(error);
      })
      .finally(() => {
        kept.resolve();
        this.#withdraw.get(key)?.delete(offer.withdrawn);
      });
  }

  async #ask({ key, method, params }: InputRequest, offer: Offer): Promise<void> {
    const { runtime, voice, wireId } = this.#setup;
    const parsed = JSON.parse(params) as JsonObject;
    const { connection, withdrawn } = offer;
    const manner = this.#manners.get(key) ?? firstManner;
    const put = { method, params: parsed, manner };
    let reply: Reply;
    try {
      const question = {
        connection,
        method,
        params: paramsFor(put),
        mayBeTask: !manner.plainly,
        via: () => this.#currentVia(offer),
        signal: withdrawn.signal,
        clock: runtime.clock,
        onTaken: () => (offer.taken = true),
        kept: offer.kept,
        requiredScopes: this.#setup.requiredScopes,
      };
      reply = await voice.ask(question, { wireId, key: questionName(key, manner.refusals) });
    } catch (error) {
      if (!(error instanceof Undelivered)) throw error;
      if (this.#offers.get(key) === offer) this.#offers.delete(key); // asked again when a stream opens
      return;
    }
    const verdict = judgeReply(put, reply);
    if (verdict.kind === "again") return this.#putAgain(key, verdict.manner, offer);
    this.#answered.add(key); // nobody is asked again while the store cannot take it
    const { signal } = withdrawn;
    const answer =
      verdict.kind === "error"
        ? { error: JSON.stringify(verdict.error) }
        : { value: JSON.stringify(verdict.value) };
    try {
      await this.#take({ key, ...answer }, signal);
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "invalid_params") throw error;
      await this.#take({ key, error: JSON.stringify({ code: -32602, message: error.message }) }, signal);
    }
  }

  #take(answer: InputAnswer, signal: AbortSignal): Promise<void> {
    const { runtime, id, requestor, onError } = this.#setup;
    const { clock } = runtime;
    return untilStoreAnswers(() => runtime.answer(id, requestor, [answer]), { clock, onError }, signal);
  }

  /** The question stays open in the journal meanwhile. Where it went out once more since, that asking goes on. */
  #putAgain(key: string, manner: Manner, offer: Offer): void {
    if (offer.withdrawn.signal.aborted) return;
    this.#manners.set(key, manner);
    if (this.#offers.get(key) === offer) this.#offers.delete(key);
    this.offer(this.#open);
  }

  #outletFor({ method, params }: InputRequest): Pick<Offer, "connection" | "via"> | undefined {
    const parsed = JSON.parse(params) as JsonObject;
    const canAnswer = ({ capabilities }: Connection): boolean =>
      missingForInput(method, parsed, capabilities) === undefined;
    for (const { connection, request, open } of this.#audience.waiters) {
      if (open && canAnswer(connection)) return { connection, via: request };
    }
    for (const { connection, informed } of this.#audience.followers) {
      const reached = informed && connection.hears(this.#setup);
      if (reached && canAnswer(connection)) return { connection, via: undefined };
    }
    return undefined;
  }

  /** Later requests about the same question go where the connection can be reached by then. */
  #currentVia({ connection, via }: Offer): RequestId | undefined {
    const waiters = [...this.#audience.waiters].filter(
      (waiter) => waiter.open && waiter.connection === connection,
    );
    return waiters.some(({ request }) => request === via) ? via : waiters[0]?.request;
  }
}
