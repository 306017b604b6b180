import type { StoredDelivery } from "../../task/delivery.ts";
import { retryPause, type StoreClock } from "../clock.ts";
import type { PostAnswer, Poster } from "./post.ts";
import { isLost } from "../../store/lost-store.ts";
import type { Outbox } from "../../store/outbox.ts";
import type { Services } from "../services.ts";
import { checkedLookup } from "../allowed-addresses.ts";
import { messageOf, type Webhook } from "./webhook-options.ts";

const hour = 3_600_000;
/** From 5 seconds to 6 hours: about 20 tries until a message is given up. */
const backoff = { firstMs: 5_000, factor: 4, maxMs: 6 * hour };
/** How long after a change its message is retried before it is given up. */
const triedForMs = 72 * hour;

/** What to do with a message: it was accepted, the webhook wants no more, or it is sent again at a time; null: never. */
export type Next =
  | { readonly is: "delivered" }
  | { readonly is: "stopped" | "failed"; readonly problem: string; readonly at: number | null };

/** What to do after an answer, or after a failure with its reason. */
function whatNext(
  delivery: StoredDelivery,
  answer: PostAnswer | { readonly problem: string },
  clock: StoreClock,
): Next {
  if ("status" in answer && answer.status >= 200 && answer.status < 300) return { is: "delivered" };
  const now = clock.now();
  const asked = "status" in answer ? askedPause(answer, now) : 0;
  const at = now + Math.max(retryPause(delivery.tries, clock, backoff), Math.min(asked, backoff.maxMs));
  const isStopped = "status" in answer && answer.status === 410;
  return {
    is: isStopped ? "stopped" : "failed",
    problem: problemOfAnswer(answer),
    at: at > clock.afterJumps(delivery.at + triedForMs, delivery.at) ? null : at,
  };
}

function problemOfAnswer(answer: PostAnswer | { readonly problem: string }): string {
  if ("problem" in answer) return answer.problem;
  const { status } = answer;
  return status >= 300 && status < 400 ? `HTTP ${status}: redirects are not followed` : `HTTP ${status}`;
}

/** The pause that `Retry-After` of a busy webhook asks for (ms): seconds, or a date. */
function askedPause({ status, retryAfter }: PostAnswer, now: number): number {
  if (retryAfter === undefined || (status !== 429 && status !== 503)) return 0;
  const text = retryAfter.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

/** How long after a message's time limit others may send it. */
const leaseBeyondMs = 10_000;
/** Maximum length of a timer, in case a jump of the clock was not noticed. */
const longestTimerMs = 60_000;
const pauseAfterErrorMs = 5_000;
/** Pauses between messages while a webhook fails, so that waiting messages do not flood it. */
const failingPause = { firstMs: 1_000, factor: 2, maxMs: 60_000 };

/**
 * How many messages are taken for each that is sent at a time: a claim waits for what else is written to the store, and a store under load
 * would slow down the messages.
 */
const takenPerSent = 16;

/** How many messages are made due in one write. */
const atOnce = 1_000;

type SenderServices = Pick<Services, "store" | "clock" | "onError" | "events">;

/**
 * Sends the due messages of one webhook, several at the same time, or one while it fails. It takes messages from the store ahead, until a
 * given time, so that another process sends them if this one dies; that one was sent is written while the next ones are sent.
 */
export class WebhookSender {
  readonly #hook: Webhook;
  readonly #outbox: Outbox;
  readonly #services: SenderServices;
  #poster: Promise<Poster> | undefined;
  readonly #underWay = new Set<Promise<void>>();
  /** Taken and not sent yet; others may send them from `until` on. */
  #taken: { readonly delivery: StoredDelivery; readonly until: number }[] = [];
  /** How many wait for an answer. */
  #sending = 0;
  readonly #stopped = new AbortController();
  #looking: Promise<void> | undefined;
  #looksAgain = false;
  /** Whether the clock was set back since the last look. */
  #setBack = false;
  #ends = false;
  /** In a row. */
  #failures = 0;
  /** When the pause of a webhook that fails ends, by the time elapsed. */
  #pausedUntil = 0;
  #cancelTimer: () => void = () => undefined;

  constructor(hook: Webhook, outbox: Outbox, services: SenderServices) {
    this.#hook = hook;
    this.#outbox = outbox;
    this.#services = services;
  }

  get name(): string {
    return this.#hook.name;
  }

  /** Something may be due; `isSetBack`: all that waits is. */
  look(isSetBack = false): void {
    this.#setBack ||= isSetBack;
    this.#looksAgain = true;
    this.#looking ??= this.#lookOn();
  }

  /** Takes no more messages, and gives back those that it has not begun to send. */
  drain(): void {
    this.#ends = true;
    this.#cancelTimer();
    this.#giveBack();
  }

  #giveBack(): void {
    for (const { delivery } of this.#taken.splice(0)) this.#track(this.#unlessLost(this.#return(delivery)));
  }

  /** Waits for messages being sent until `passed`, and leaves the rest to others. */
  async stop(passed: Promise<void>): Promise<void> {
    this.drain();
    await Promise.race([this.#idle(), passed]);
    this.#stopped.abort();
    await this.#idle();
    (await this.#poster)?.close();
  }

  async #idle(): Promise<void> {
    await this.#looking;
    await Promise.all(this.#underWay);
  }

  async #lookOn(): Promise<void> {
    try {
      while (this.#looksAgain && !this.#ends) {
        this.#looksAgain = false;
        await this.#take();
      }
    } catch (error) {
      if (!isLost(error)) this.#services.onError(error); // which is said once, and not here
      this.#lookAfter(pauseAfterErrorMs);
    } finally {
      this.#looking = undefined;
    }
  }

  async #take(): Promise<void> {
    const { store, clock } = this.#services;
    const { name: hook, timeoutMs } = this.#hook;
    const pause = this.#pausedUntil - clock.elapsed();
    if (pause <= 0) this.#sendTaken();
    if (this.#setBack) await this.#makeAllDue();
    if (this.#taken.length >= this.#slots) return pause > 0 ? this.#lookAfter(pause) : undefined; // the end of one looks again
    const due = await this.#outbox.nextDueAt(hook);
    const now = clock.now();
    if (due === null) return;
    const wait = Math.max(due - now, this.#pausedUntil - clock.elapsed());
    if (wait > 0) return this.#lookAfter(wait);
    const limit = this.#failures > 0 ? 1 - this.#sending : this.#slots * takenPerSent - this.#taken.length;
    if (this.#ends || limit <= 0) return;
    const until = now + timeoutMs + leaseBeyondMs;
    const claim = { type: "claim_deliveries", now, hook, limit, until } as const;
    const { deliveries } = await store.write<"claim_deliveries">(claim);
    for (const delivery of deliveries) this.#taken.push({ delivery, until });
    if (this.#ends) return this.drain();
    this.#sendTaken();
    if (deliveries.length > 0) this.#looksAgain = true;
    else this.#lookAfter(pauseAfterErrorMs); // others have it, or it cannot be read
  }

  async #makeAllDue(): Promise<void> {
    const { store, clock } = this.#services;
    const all = { type: "resend_deliveries", hook: this.#hook.name, limit: atOnce, waiting: true } as const;
    const now = clock.now(); // of all pages: what is due by then is not found again
    while ((await store.write<"resend_deliveries">({ ...all, now })).resent === atOnce && !this.#ends);
    this.#setBack = false;
  }

  /** How many are sent at a time. */
  get #slots(): number {
    return this.#failures > 0 ? 1 : this.#hook.concurrency;
  }

  /** One that others might send before its time limit is given back, and taken again. */
  #sendTaken(): void {
    const latest = this.#services.clock.now() + this.#hook.timeoutMs;
    while (this.#sending < this.#slots) {
      const next = this.#taken.shift();
      if (next === undefined) return;
      if (next.until <= latest) {
        this.#track(this.#unlessLost(this.#return(next.delivery)));
        continue;
      }
      this.#sending++;
      this.#track(this.#unlessLost(this.#deliver(next.delivery)));
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  /** One of those that are sent at a time has its answer. */
  #isAnswered(): void {
    this.#sending--;
    if (!this.#ends) this.look();
  }

  #lookAfter(ms: number): void {
    this.#cancelTimer();
    if (this.#ends) return;
    this.#cancelTimer = this.#services.clock.after(Math.min(ms, longestTimerMs), () => this.look());
  }

  async #deliver(delivery: StoredDelivery): Promise<void> {
    if (this.#hook.reports(delivery.event)) return this.#send(delivery);
    this.#isAnswered();
    await this.#end(delivery);
  }

  /** A message whose result is not stored is sent again when its claim expires. */
  async #unlessLost(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!isLost(error)) this.#services.onError(error);
    }
  }

  async #send(delivery: StoredDelivery): Promise<void> {
    const { clock, events } = this.#services;
    const answer = await this.#post(delivery);
    if (answer === "stopped") {
      this.#isAnswered();
      return this.#again(delivery, clock.now(), null);
    }
    const next = whatNext(delivery, answer, clock);
    const of = {
      webhook: this.#hook.name,
      taskId: delivery.taskId,
      status: delivery.event,
      tries: delivery.tries,
    };
    if (next.is === "delivered") {
      this.#failures = 0;
      this.#isAnswered();
      await this.#end(delivery);
      events?.emit({ type: "webhook.delivered", ...of });
      return;
    }
    this.#failures++;
    this.#pausedUntil = clock.elapsed() + retryPause(this.#failures, clock, failingPause);
    this.#giveBack();
    this.#isAnswered();
    const { problem, at } = next;
    if (next.is === "stopped" && !this.#ends) {
      this.drain(); // before others see what it has
      events?.emit({ type: "webhook.stopped", webhook: this.#hook.name });
    }
    await this.#again(delivery, at, problem);
    if (!this.#ends) this.look(); // it may be the next one that is due
    if (at === null) events?.emit({ type: "webhook.failed", ...of, problem });
    else events?.emit({ type: "webhook.retried", ...of, problem, until: at });
  }

  async #post(delivery: StoredDelivery): Promise<PostAnswer | { readonly problem: string } | "stopped"> {
    const { clock } = this.#services;
    const late = new AbortController();
    const cancelTimer = clock.after(this.#hook.timeoutMs, () => late.abort());
    const signal = AbortSignal.any([this.#stopped.signal, late.signal]);
    try {
      const poster = await (this.#poster ??= openPoster(this.#hook));
      return await poster.post(messageOf(delivery, this.#hook.keys, clock.now()), signal);
    } catch (error) {
      if (this.#stopped.signal.aborted) return "stopped";
      if (late.signal.aborted) return { problem: `no answer within ${this.#hook.timeoutMs} ms` };
      return { problem: problemOf(error) };
    } finally {
      if (!late.signal.aborted) cancelTimer();
    }
  }

  async #end({ seq, tries }: StoredDelivery): Promise<void> {
    const { store, clock } = this.#services;
    await store.write({ type: "end_delivery", now: clock.now(), seq, tries });
  }

  async #return({ seq, tries }: StoredDelivery): Promise<void> {
    const { store, clock } = this.#services;
    const now = clock.now();
    await store.write({ type: "retry_delivery", now, seq, tries, at: now, problem: null, unsent: true });
    if (!this.#ends) this.look();
  }

  async #again({ seq, tries }: StoredDelivery, at: number | null, problem: string | null): Promise<void> {
    const { store, clock } = this.#services;
    await store.write({ type: "retry_delivery", now: clock.now(), seq, tries, at, problem });
  }
}

/** Why a connection failed; with several addresses, for the first one. */
function problemOf(error: unknown): string {
  const of: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return of instanceof Error ? of.message : String(of);
}

/** `node:http` takes long to load, so only what sends does it. */
async function openPoster({ url, allowed, concurrency }: Webhook): Promise<Poster> {
  const { Poster: OpenPoster } = await import("./post.ts");
  return new OpenPoster(url, { lookup: checkedLookup(allowed), connections: concurrency });
}
