import type { RequestId } from "@modelcontextprotocol/server";
import type { Streams } from "../../streams.ts";

interface Unanswered {
  /** The number of the message or batch that it came with. */
  readonly arrival: number;
  /** Not one of a batch, so the stream is its own. */
  readonly alone: boolean;
  reachable: boolean;
  /** The unanswered questions of its handler. */
  readonly questions: Set<RequestId>;
  /** The scopes that it needed. */
  readonly needed: readonly string[];
  /** Called when the client resumed its broken stream, or does not have to any more. */
  returned: () => void;
}

/** Waits for a client to resume, and calls `lost` if it does not; returns a function that ends the wait. */
export type AwaitReturn = (lost: () => void) => () => void;

const nothing = (): void => undefined;

/** The state of a session's streams: the session reports changes, and senders read it and listen to it. */
export class SessionStreams implements Streams {
  readonly sessionId: string;
  /** A session begins with `initialize`. */
  readonly initialized = true;
  readonly #onStandalone = new Set<(open: boolean) => void>();
  readonly #onBroken = new Set<(request: RequestId) => void>();
  readonly #onLost = new Set<(request: RequestId) => void>();
  readonly #awaitReturn: AwaitReturn;
  readonly #unanswered = new Map<RequestId, Unanswered>();
  /** By question: the reply is acknowledged when this resolves. */
  readonly #kept = new Map<RequestId, Promise<void>>();
  /** By question: the scopes that the reply needs, if any. */
  readonly #replies = new Map<RequestId, readonly string[]>();
  /** The scopes with which the newest standalone stream was opened. */
  #standaloneScopes: readonly string[] | undefined;
  #arrivals = 0;
  /** How many are open: a client may open the next one before the server notices the end of the last one. */
  #standalone = 0;

  constructor(sessionId: string, awaitReturn: AwaitReturn) {
    this.sessionId = sessionId;
    this.#awaitReturn = awaitReturn;
  }

  get standaloneOpen(): boolean {
    return this.#standalone > 0;
  }

  get standaloneScopes(): readonly string[] | undefined {
    return this.#standaloneScopes;
  }

  onStandalone(listener: (open: boolean) => void): () => void {
    this.#onStandalone.add(listener);
    return () => void this.#onStandalone.delete(listener);
  }

  onBroken(listener: (request: RequestId) => void): () => void {
    this.#onBroken.add(listener);
    return () => void this.#onBroken.delete(listener);
  }

  onLost(listener: (request: RequestId) => void): () => void {
    this.#onLost.add(listener);
    return () => void this.#onLost.delete(listener);
  }

  acknowledgeAfter(question: RequestId, kept: Promise<void>): void {
    this.#kept.set(question, kept);
    void kept.finally(() => this.#kept.delete(question));
  }

  /** Resolves once the replies to all of `questions` are stored, or not needed any more. */
  async kept(questions: readonly RequestId[]): Promise<void> {
    for (const question of questions) await this.#kept.get(question);
  }

  replyNeeds(question: RequestId, scopes: readonly string[]): void {
    this.#replies.set(question, scopes);
  }

  /** The scopes that are needed to answer these questions, and to cancel these requests. */
  neededToEnd(questions: readonly RequestId[], requests: readonly RequestId[]): string[] {
    const asking = [...this.#unanswered.values()].filter((call) =>
      questions.some((question) => call.questions.has(question)),
    );
    return [
      ...questions.flatMap((question) => this.#replies.get(question) ?? []),
      ...asking.flatMap(({ needed }) => needed),
      ...requests.flatMap((request) => this.#unanswered.get(request)?.needed ?? []),
    ];
  }

  /** `scopes`: those of the request that opened it, if they decide what is sent on it. */
  standaloneOpened(scopes: readonly string[] | undefined): void {
    this.#standalone += 1;
    this.#standaloneScopes = scopes;
    for (const listener of this.#onStandalone) listener(true);
  }

  standaloneEnded(): void {
    if (--this.#standalone > 0) return;
    for (const listener of this.#onStandalone) listener(false);
  }

  received(requests: readonly RequestId[], needed: readonly string[]): void {
    const alone = requests.length === 1;
    this.#arrivals += 1;
    for (const request of requests) {
      // An id that is used again means the new request: what was sent on the old stream may never arrive.
      if (this.#unanswered.has(request)) this.#reportBroken(request);
      this.#forget(request);
      this.#unanswered.set(request, {
        arrival: this.#arrivals,
        alone,
        reachable: true,
        questions: new Set(),
        needed,
        returned: nothing,
      });
    }
  }

  /** How many messages or batches with requests have arrived. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** How many requests will be answered on a stream, which may be broken. */
  get unanswered(): number {
    return this.#unanswered.size;
  }

  /** The answer is being sent, or there will be none. */
  answered(request: RequestId): void {
    this.#forget(request);
  }

  /** The session is over. */
  end(): void {
    for (const request of this.#unanswered.keys()) this.#forget(request);
  }

  /** The handler of `call` asked the client; undefined: it did not say which call it serves. */
  asked(question: RequestId, call: RequestId | undefined = this.newest): void {
    if (call !== undefined) this.#unanswered.get(call)?.questions.add(question);
  }

  /** The client has answered, or does not have to any more. */
  settled(question: RequestId): void {
    this.#replies.delete(question);
    for (const { questions } of this.#unanswered.values()) questions.delete(question);
  }

  /** How many responses stay open until their client has answered a question. */
  get asking(): number {
    const all = [...this.#unanswered.values()];
    return all.filter(({ alone, reachable, questions }) => alone && reachable && questions.size > 0).length;
  }

  /** Whether `request` will be answered on a stream. */
  awaits(request: RequestId): boolean {
    return this.#unanswered.has(request);
  }

  /** Whether `request` will be answered on a stream of its own. */
  awaitsOnly(request: RequestId): boolean {
    return this.#unanswered.get(request)?.alone === true;
  }

  /** The newest request whose stream reaches the client. */
  get newest(): RequestId | undefined {
    return [...this.#unanswered].findLast(([, { reachable }]) => reachable)?.[0];
  }

  /**
   * The stream for the answers to `requests` broke, and the client may resume it. A request that came again after `arrivals`
   * is answered on a newer stream.
   */
  broken(requests: readonly RequestId[], arrivals: number): void {
    for (const request of requests) {
      const unanswered = this.#unanswered.get(request);
      if (unanswered === undefined || unanswered.arrival > arrivals) continue;
      unanswered.reachable = false;
      unanswered.returned();
      this.#reportBroken(request);
      unanswered.returned = this.#awaitReturn(() => {
        for (const listener of this.#onLost) listener(request);
      });
    }
  }

  /** The client resumed the stream for the answers to `requests`. */
  resumed(requests: readonly RequestId[]): void {
    for (const request of requests) this.#unanswered.get(request)?.returned();
  }

  #reportBroken(request: RequestId): void {
    for (const listener of this.#onBroken) listener(request);
  }

  #forget(request: RequestId): void {
    this.#unanswered.get(request)?.returned();
    this.#unanswered.delete(request);
  }
}
