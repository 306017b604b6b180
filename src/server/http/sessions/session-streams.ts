import type { RequestId } from "@modelcontextprotocol/server";
import type { Streams } from "../../streams.ts";

interface Unanswered {
  /** Which arrival of requests it came with. */
  readonly arrival: number;
  /** Not one of a batch, so the stream is its own. */
  readonly alone: boolean;
  reachable: boolean;
  /** What its handler asked the client and has no answer to. */
  readonly questions: Set<RequestId>;
  /** The scopes that it needed. */
  readonly needed: readonly string[];
  /** To be called when a client whose stream was gone is there again, or needs not come back any more. */
  returned: () => void;
}

/** Waits for a client to come back, and calls `lost` if it does not; returns the way to end the wait. */
export type AwaitReturn = (lost: () => void) => () => void;

const nothing = (): void => undefined;

/** What a session knows of its streams. Told by the session; heard by whoever sends on them. */
export class SessionStreams implements Streams {
  readonly sessionId: string;
  /** A session begins with the request in which the client says who it is. */
  readonly initialized = true;
  readonly #onStandalone = new Set<(open: boolean) => void>();
  readonly #onBroken = new Set<(request: RequestId) => void>();
  readonly #onLost = new Set<(request: RequestId) => void>();
  readonly #awaitReturn: AwaitReturn;
  readonly #unanswered = new Map<RequestId, Unanswered>();
  /** What has to happen first, by the question whose reply is acknowledged after it. */
  readonly #kept = new Map<RequestId, Promise<void>>();
  /** The scopes that a reply needs, by the question of a task that needs any. */
  readonly #replies = new Map<RequestId, readonly string[]>();
  /** What the newest standalone stream was opened with. */
  #standaloneScopes: readonly string[] | undefined;
  #arrivals = 0;
  /** A client may open the next stream before the end of the last one is noticed. */
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

  /** Resolves once the replies to all of `questions` are kept, or are not wanted any more. */
  async kept(questions: readonly RequestId[]): Promise<void> {
    for (const question of questions) await this.#kept.get(question);
  }

  replyNeeds(question: RequestId, scopes: readonly string[]): void {
    this.#replies.set(question, scopes);
  }

  /** The scopes of those calls and tasks whose questions are answered, or whose requests are cancelled. */
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

  /** `scopes`: what it was opened with, where that decides what is sent on it. */
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
      // An id that is used again means the new request: what went out on the stream of the old one may never arrive.
      if (this.#unanswered.has(request)) this.#tellBroken(request);
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

  /** How often requests have arrived so far. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** How many requests have a stream to be answered on, be it there or gone. */
  get unanswered(): number {
    return this.#unanswered.size;
  }

  /** The answer is on its way, or there will be none. */
  answered(request: RequestId): void {
    this.#forget(request);
  }

  /** The session is over. */
  end(): void {
    for (const request of this.#unanswered.keys()) this.#forget(request);
  }

  /** The handler of `call` waits for the client; undefined: it did not say which call it serves. */
  asked(question: RequestId, call: RequestId | undefined = this.newest): void {
    if (call !== undefined) this.#unanswered.get(call)?.questions.add(question);
  }

  /** The client has answered, or needs not any more. */
  settled(question: RequestId): void {
    this.#replies.delete(question);
    for (const { questions } of this.#unanswered.values()) questions.delete(question);
  }

  /** How many responses that a client reads stay open until it has answered a question. */
  get asking(): number {
    const all = [...this.#unanswered.values()];
    return all.filter(({ alone, reachable, questions }) => alone && reachable && questions.size > 0).length;
  }

  /** Whether `request` is to be answered on a stream. */
  awaits(request: RequestId): boolean {
    return this.#unanswered.has(request);
  }

  /** Whether the stream of `request` waits for its answer alone. */
  awaitsOnly(request: RequestId): boolean {
    return this.#unanswered.get(request)?.alone === true;
  }

  /** The newest request whose stream reaches the client. */
  get newest(): RequestId | undefined {
    return [...this.#unanswered].findLast(([, { reachable }]) => reachable)?.[0];
  }

  /**
   * The stream for the answers to `requests` is gone. They may still be sent: the client can come back for them. A request
   * that came again after `arrivals` is answered on a newer stream.
   */
  broken(requests: readonly RequestId[], arrivals: number): void {
    for (const request of requests) {
      const unanswered = this.#unanswered.get(request);
      if (unanswered === undefined || unanswered.arrival > arrivals) continue;
      unanswered.reachable = false;
      unanswered.returned();
      this.#tellBroken(request);
      unanswered.returned = this.#awaitReturn(() => {
        for (const listener of this.#onLost) listener(request);
      });
    }
  }

  /** The client came back for the answers to `requests`. */
  resumed(requests: readonly RequestId[]): void {
    for (const request of requests) this.#unanswered.get(request)?.returned();
  }

  #tellBroken(request: RequestId): void {
    for (const listener of this.#onBroken) listener(request);
  }

  #forget(request: RequestId): void {
    this.#unanswered.get(request)?.returned();
    this.#unanswered.delete(request);
  }
}
