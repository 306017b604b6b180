import type { InputResult } from "../client/question/input-request.ts";
import type { JsonObject } from "../generation/message.ts";
import type { Settings } from "../options/options.ts";
import type { OnError } from "../runtime/error-reporter.ts";
import type { Requestor, Runtime } from "../runtime/runtime.ts";
import { whenAborted } from "../runtime/wait-for.ts";
import { isUnknownTask } from "../task/fault.ts";
import type { InputRequest } from "../task/journal.ts";
import type { Progress, TaskRecord, TaskSnapshot } from "../task/record.ts";
import { modelName } from "./for-models.ts";
import type { HostOptions, HostQuestion } from "./host-options.ts";

/** A call that is not acknowledged yet. */
export interface OpenCall {
  readonly id: string;
  readonly tool: string;
  readonly state: "running" | "asking" | "ended";
  /** What the server says of its work. */
  readonly statusMessage?: string;
  readonly progress?: Progress;
  /** Whether the model was told that it runs in the background. */
  readonly isBackground: boolean;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** What happens in a conversation. */
export type ConversationEvent =
  | { readonly type: "started" | "progress" | "ended"; readonly call: OpenCall }
  | { readonly type: "asks"; readonly question: HostQuestion };

/** What the calls of a conversation need of its host. */
export interface FollowingSetup {
  readonly runtime: Runtime;
  readonly options: Pick<Settings<HostOptions, "onInput" | "approve">, "onInput" | "approve" | "keepMs">;
  readonly onError: OnError;
  /** Aborts when the host closes. */
  readonly closing: AbortSignal;
}

/** A call that is followed here. */
export interface Followed {
  readonly id: string;
  snapshot: TaskSnapshot;
  /** Whether a caller here waits for the result. */
  isTaken: boolean;
  /** Whether another process has acknowledged it. */
  isGone: boolean;
  /** The keys of the questions that were asked here. */
  readonly asked: Set<string>;
  readonly unwatch: () => void;
}

/** A page of the tasks of a conversation. */
const pageSize = 100;

/** The tasks of one conversation that are not acknowledged, as this process follows them. */
export class FollowedCalls {
  readonly #conversation: string;
  readonly #setup: FollowingSetup;
  readonly requestor: Requestor;
  /** By the ids of their tasks, oldest first. */
  readonly #followed = new Map<string, Followed>();
  readonly #wakers = new Set<() => void>();
  readonly listeners = new Set<(event: ConversationEvent) => void>();
  #loaded: Promise<void> | undefined;

  constructor(conversation: string, setup: FollowingSetup) {
    this.#conversation = conversation;
    this.#setup = setup;
    this.requestor = { generation: "plain", principal: conversation };
  }

  get all(): readonly Followed[] {
    return [...this.#followed.values()];
  }

  /** Those that have ended, and that no caller here waits for. */
  get ended(): readonly Followed[] {
    return this.all.filter(({ snapshot, isTaken }) => snapshot.task.finishedAt !== null && !isTaken);
  }

  ofCall(callId: string): Followed | undefined {
    return this.all.find(({ snapshot }) => snapshot.task.idempotencyKey === callId);
  }

  /** Follows what earlier processes have left, once. */
  async load(): Promise<void> {
    const load = async (): Promise<void> => {
      const { runtime } = this.#setup;
      const found: TaskRecord[] = [];
      for (let after: string | undefined; ;) {
        const page = await runtime.list(this.requestor, {
          limit: pageSize,
          ...(after !== undefined && { after }),
        });
        found.push(...page);
        after = page.at(-1)?.id;
        if (page.length < pageSize) break;
      }
      for (const { id } of found.toReversed()) {
        const snapshot = await runtime.get(id, this.requestor).catch(unlessUnknown);
        if (snapshot !== undefined) this.follow(snapshot);
      }
    };
    this.#loaded ??= load().catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    });
    await this.#loaded;
  }

  follow(snapshot: TaskSnapshot): Followed {
    const { id } = snapshot.task;
    const known = this.#followed.get(id);
    if (known !== undefined) return known;
    let isReading = false;
    let isChanged = false;
    const read = async (): Promise<void> => {
      isReading = true;
      try {
        while (isChanged) {
          isChanged = false;
          await this.#read(followed);
        }
      } finally {
        isReading = false;
      }
    };
    const change = (): void => {
      isChanged = true;
      if (!isReading) void read().catch(this.#setup.onError);
    };
    const unwatch = this.#setup.runtime.watch([id], change);
    const followed: Followed = { id, snapshot, isTaken: false, isGone: false, asked: new Set(), unwatch };
    this.#followed.set(id, followed);
    this.#emit({ type: "started", call: openCall(snapshot.task) });
    this.look(followed);
    change(); // since the snapshot was taken
    return followed;
  }

  async #read(followed: Followed): Promise<void> {
    const before = followed.snapshot.task;
    try {
      followed.snapshot = await this.#setup.runtime.get(followed.id, this.requestor);
    } catch (error) {
      if (this.#setup.closing.aborted) return;
      if (!isUnknownTask(error)) throw error;
      followed.isGone = true;
      this.forget(followed);
      return;
    }
    const now = followed.snapshot.task;
    if (now.finishedAt !== null && before.finishedAt === null)
      this.#emit({ type: "ended", call: openCall(now) });
    else if (now.progress !== before.progress || now.statusMessage !== before.statusMessage)
      this.#emit({ type: "progress", call: openCall(now) });
    this.look(followed);
  }

  /** Asks what was not asked yet, and wakes whoever waits. */
  look(followed: Followed): void {
    for (const input of followed.snapshot.inputs) {
      if (followed.asked.has(input.key)) continue;
      followed.asked.add(input.key);
      void this.#ask(followed, input).catch(this.#setup.onError);
    }
    this.wake();
  }

  async #ask(followed: Followed, input: InputRequest): Promise<void> {
    const { onInput } = this.#setup.options;
    const question = this.questionOf(followed.snapshot.task, input);
    this.#emit({ type: "asks", question });
    if (onInput === undefined) return;
    await this.answer(followed, input.key, await onInput(question, this.#setup.closing));
  }

  questionOf({ idempotencyKey, id, tool }: TaskRecord, { key, method, params }: InputRequest): HostQuestion {
    const parsed = JSON.parse(params) as JsonObject;
    return {
      conversation: this.#conversation,
      call: idempotencyKey ?? id,
      tool: modelName(tool),
      key,
      method,
      params: parsed,
    };
  }

  #emit(event: ConversationEvent): void {
    for (const listener of this.listeners) listener(event);
    this.wake();
  }

  /** What `find` finds, now or after a change. Rejects when the signal aborts or the host closes. */
  async until<T>(find: () => T | undefined, signal: AbortSignal | undefined): Promise<T> {
    const { closing } = this.#setup;
    for (;;) {
      signal?.throwIfAborted();
      closing.throwIfAborted();
      const found = find();
      if (found !== undefined) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wakers.add(resolve);
      const stops = [closing, signal].map((each) => each && whenAborted(each, resolve));
      await promise;
      for (const stop of stops) stop?.();
      this.#wakers.delete(resolve);
    }
  }

  async acknowledge(id: string): Promise<void> {
    const left = await this.#setup.runtime.delete(id, this.requestor).catch(unlessUnknown);
    const followed = this.#followed.get(id);
    if (left === undefined && followed !== undefined) this.forget(followed);
  }

  forget(followed: Followed): void {
    followed.unwatch();
    this.#followed.delete(followed.id);
    this.wake();
  }

  wake(): void {
    for (const wake of this.#wakers) wake();
  }

  async answer(followed: Followed, key: string, result: InputResult): Promise<void> {
    const answers = [{ key, value: JSON.stringify(result) }];
    await this.#setup.runtime.answer(followed.id, this.requestor, answers);
  }

  /** Follows them no more. */
  close(): void {
    for (const { unwatch } of this.#followed.values()) unwatch();
    this.#followed.clear();
  }
}

export function openCall(task: TaskRecord): OpenCall {
  const { id, idempotencyKey, tool, finishedAt, openInputs, statusMessage, progress, promised, createdAt } =
    task;
  const running = openInputs > 0 ? "asking" : "running";
  return {
    id: idempotencyKey ?? id,
    tool: modelName(tool),
    state: finishedAt === null ? running : "ended",
    ...(statusMessage !== null && { statusMessage }),
    ...(progress !== null && { progress }),
    isBackground: promised,
    startedAt: createdAt,
  };
}

export function unlessUnknown(error: unknown): undefined {
  if (!isUnknownTask(error)) throw error;
}
