import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import type { TaskServer } from "../task-server.ts";
import type { Outgoing } from "./exchange.ts";
import type { FetchHandlerOptions, ProtectedResource } from "./http-options.ts";
import type { Sender } from "./identify.ts";
import { openRequestsLimits, type OpenRequestsLimits } from "./limits.ts";
import { PerPrincipal } from "../per-principal.ts";
import { tooManyOpen, tooManyStreams } from "./sessions/refusals.ts";
import { requestIds } from "./sessions/requests-in.ts";
import { isStream } from "./sse.ts";
import { watchedStream } from "./watched-stream.ts";
import { tooFastRequests } from "./too-many-requests.ts";

/** A request with a known sender and body. */
export interface Arrived {
  readonly isGet: boolean;
  /** The parsed JSON of a POST; undefined for other methods. */
  readonly body: unknown;
  readonly sender: Sender;
  /** Aborts when the client is gone. */
  readonly left: () => AbortSignal;
}

/** Answers a request that was let in. */
export type Respond = (admitted: Admitted) => Promise<Outgoing>;

/** A request that was let in. Only `Admission` makes one. */
export interface Admitted {
  /** The scopes that it needed of its sender's token. */
  readonly needed: readonly string[];
  /** The refusal of it, if it needs these scopes too. */
  readonly refusal: (more?: readonly string[]) => Response | undefined;
  /** Admits messages that the request stands for, as if its sender had sent them. */
  readonly admit: (messages: readonly JSONRPCRequest[], respond: Respond) => Promise<Outgoing>;
}

/** What is asked of each request once its sender and body are known: scopes, then rates, then room for it. */
export class Admission {
  readonly #server: TaskServer;
  readonly #resource: ProtectedResource | undefined;
  readonly #openRequests: OpenRequests;
  readonly #turns = new AnswerTurns();

  constructor(server: TaskServer, options: FetchHandlerOptions, resource: ProtectedResource | undefined) {
    this.#server = server;
    this.#resource = resource;
    this.#openRequests = new OpenRequests(openRequestsLimits(options));
  }

  /** What `respond` answers, or the refusal. The request counts as open until its answer has gone out. */
  async admit(arrived: Arrived, respond: Respond): Promise<Outgoing> {
    const turn = this.#turns.take();
    if (turn !== undefined) await turn;
    const { body, sender } = arrived;
    const { principal } = sender;
    const needed = [...(this.#resource?.needed(body, this.#server.isPollingTool) ?? [])];
    const beyond = this.#resource?.refusal(sender, needed);
    if (beyond !== undefined) return beyond;
    const limited = await this.#server.rates.refusal(body, principal);
    if (limited !== undefined) return tooFastRequests(body, this.#server.errorOf(limited));
    return this.#openRequests.serve(arrived, async () => {
      if (sender.access !== undefined) needed.push(...(await this.#server.scopesOfTasks(body, principal)));
      const refusal = (more: readonly string[] = []): Response | undefined =>
        this.#resource?.refusal(sender, [...needed, ...more]);
      const admit: Admitted["admit"] = (messages, answer) =>
        this.admit({ ...arrived, isGet: false, body: messages }, answer);
      return refusal() ?? respond({ needed, refusal, admit });
    });
  }
}

/**
 * The requests that each principal has open: from when they are understood until their answers have gone out; and the streams
 * that it opened by GET.
 */
class OpenRequests {
  readonly #limits: OpenRequestsLimits;
  /** Those of a batch are several. */
  readonly #requests = new PerPrincipal<object>();
  readonly #streams = new PerPrincipal<object>();

  constructor(limits: OpenRequestsLimits) {
    this.#limits = limits;
  }

  /** Answers a request with `respond`, or refuses it if its sender has too many open. */
  async serve({ isGet, body, sender, left }: Arrived, respond: () => Promise<Outgoing>): Promise<Outgoing> {
    const holder = sender.principal;
    const places = isGet ? [{}] : requestIds(body).map(() => ({}));
    // Anonymous callers are not counted, and a notification, such as a cancel, waits for no answer.
    if (holder === null || places.length === 0) return respond();
    const { maxRequests, maxStreams } = this.#limits;
    const open = isGet ? this.#streams : this.#requests;
    if (open.count(holder) + places.length > (isGet ? maxStreams : maxRequests)) {
      return isGet ? tooManyStreams(maxStreams) : tooManyOpen(body, "principal", maxRequests);
    }
    for (const place of places) open.add(holder, place);
    const end = (): void => {
      for (const place of places) open.remove(holder, place);
    };
    try {
      const answer = await respond();
      if (answer instanceof Response && answer.body !== null && isStream(answer)) {
        const { body: stream, status, headers } = answer;
        return new Response(watchedStream(stream, left(), end).readable, { status, headers });
      }
      end();
      return answer;
    } catch (error) {
      end();
      throw error;
    }
  }
}

/** How long requests are answered before the event loop turns, in ms. A large answer takes longer, and is then the only one. */
const turnMs = 8;

/** How often the event loop turns for each millisecond that was spent on answers: it accepts one connection at a time. */
const turnsPerMs = 2;

/**
 * Begins to answer requests as they arrive, as long as that is quick. When it has taken some milliseconds, what arrives waits until the event
 * loop has turned for a while: probes and connections of others are served meanwhile, and of large answers only a few are in memory.
 */
export class AnswerTurns {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  /** When the first request of this turn was begun; undefined: there was none. */
  #since: number | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Undefined if a request can be begun now, otherwise a promise that resolves when it can. */
  take(): Promise<void> | undefined {
    if (this.#since === undefined) {
      this.#since = this.#now();
      setImmediate(this.#turned);
      return undefined;
    }
    if (this.#waiting.length === 0 && this.#passed < turnMs) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  get #passed(): number {
    return this.#now() - (this.#since ?? 0);
  }

  readonly #turned = (): void => {
    if (this.#waiting.length === 0) this.#since = undefined;
    else this.#pause(turnMs);
  };

  #pause(spentMs: number): void {
    let turns = Math.ceil(spentMs * turnsPerMs);
    const turn = (): void => {
      if (--turns > 0) setImmediate(turn);
      else this.#begin(this.#now());
    };
    setImmediate(turn);
  }

  #begin(since: number): void {
    this.#since = since;
    this.#waiting.shift()?.();
    // When it is answered, or waits for the store: only then it is known how long that took.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (this.#waiting.length === 0) setImmediate(this.#turned);
        else if (this.#passed < turnMs) this.#begin(since);
        else this.#pause(this.#passed);
      }),
    );
  }
}
