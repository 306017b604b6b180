import { randomUUID } from "node:crypto";
import type { InputResult } from "../client/question/ask-user.ts";
import type { JsonObject } from "../generation/message.ts";
import type { Settings } from "../options/options.ts";
import type { OnError } from "../runtime/error-reporter.ts";
import { LimitLine } from "../runtime/limits/limit-line.ts";
import type { Requestor, Runtime } from "../runtime/runtime.ts";
import { untilStoreAnswers } from "../runtime/observed-store.ts";
import { whenAborted } from "../runtime/wait-for.ts";
import { isUnknownTask } from "../task/fault.ts";
import { encodeJournalKey, type InputRequest } from "../task/journal.ts";
import type { Progress, TaskRecord, TaskSnapshot } from "../task/record.ts";
import type { LogText } from "../task/task-line.ts";
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
  | { readonly type: "asks"; readonly question: HostQuestion }
  /** A line of the log of a tool's own task, where its source keeps one, as those of programs do. */
  | { readonly type: "log"; readonly call: OpenCall; readonly line: LogText };

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
  task: TaskRecord;
  /** Its open questions. */
  inputs: readonly InputRequest[];
  /** How many here have its result, or wait for it: it is not in the inbox. */
  takers: number;
  /** Whether it is acknowledged, or deleted. */
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
  /** The ids of tasks whose results callers here have, and which are not acknowledged. */
  readonly #handedOver = new Set<string>();
  readonly #wakers = new Set<() => void>();
  readonly listeners = new Set<(event: ConversationEvent) => void>();
  #turns: LimitLine | undefined;

  constructor(conversation: string, setup: FollowingSetup) {
    this.#conversation = conversation;
    this.#setup = setup;
    this.requestor = { generation: "plain", principal: conversation };
  }

  get all(): readonly Followed[] {
    return [...this.#followed.values()];
  }

  /** Those that have ended, and that nobody here has or waits for. */
  get ended(): readonly Followed[] {
    return this.all.filter(({ task, takers }) => task.finishedAt !== null && takers === 0);
  }

  /** The call of this id, whoever has made it, unless it is acknowledged. */
  async ofCall(callId: string): Promise<Followed | undefined> {
    const known = this.all.find(({ task }) => task.idempotencyKey === callId);
    if (known !== undefined) return known;
    const { runtime } = this.#setup;
    const found = await runtime.withKeys(this.requestor.principal, callId, 1);
    const id = found.find(({ key }) => key === callId)?.id;
    const snapshot = id && (await runtime.get(id, this.requestor).catch(unlessUnknown));
    return snapshot && isOpen(snapshot.task) ? this.follow(snapshot) : undefined;
  }

  /** Follows what is not acknowledged, also what other processes have left. */
  async load(): Promise<void> {
    const { runtime, closing } = this.#setup;
    closing.throwIfAborted();
    const found: TaskRecord[] = [];
    for (let after: string | undefined; ;) {
      const page = { limit: pageSize, ...(after !== undefined && { after }) };
      const records = await runtime.list(this.requestor, page);
      found.push(...records.filter((task) => isOpen(task) && !this.#handedOver.has(task.id)));
      after = records.at(-1)?.id;
      if (records.length < pageSize) break;
    }
    for (const task of found.toReversed()) this.follow({ task, inputs: [] });
  }

  /** What may have changed since `known` was read is read at once. */
  follow(known: Pick<TaskSnapshot, "task" | "inputs">): Followed {
    const { task, inputs } = known;
    const { id } = task;
    const before = this.#followed.get(id);
    if (before !== undefined) return before;
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
    const followed: Followed = { id, task, inputs, takers: 0, isGone: false, asked: new Set(), unwatch };
    this.#followed.set(id, followed);
    this.#emit({ type: "started", call: openCall(task) });
    this.#look(followed);
    if (task.finishedAt === null) change();
    return followed;
  }

  async #read(followed: Followed): Promise<void> {
    const { runtime, closing, onError } = this.#setup;
    const before = followed.task;
    const ask = async (): Promise<TaskSnapshot> => runtime.get(followed.id, this.requestor);
    try {
      const { task, inputs } = await untilStoreAnswers(ask, { clock: runtime.clock, onError }, closing);
      Object.assign(followed, { task, inputs });
    } catch (error) {
      if (closing.aborted) return;
      if (!isUnknownTask(error)) throw error;
      this.forget(followed); // deleted
      return;
    }
    const now = followed.task;
    for (let from = before.logged; from < now.logged && this.listeners.size > 0; from += pageSize)
      for (const event of await this.logOf({ id: now.id, task: now }, from)) this.#emit(event);
    if (now.finishedAt !== null && before.finishedAt === null)
      this.#emit({ type: "ended", call: openCall(now) });
    else if (
      now.progress !== before.progress ||
      now.statusMessage !== before.statusMessage ||
      now.openInputs !== before.openInputs
    )
      this.#emit({ type: "progress", call: openCall(now) });
    if (isOpen(now)) this.#look(followed);
    else this.forget(followed); // acknowledged, perhaps in another process
  }

  /** The lines of its log behind this one, a page at most. */
  async logOf(
    { id, task }: Pick<Followed, "id" | "task">,
    after: number,
  ): Promise<readonly ConversationEvent[]> {
    if (after >= task.logged) return [];
    const { runtime, closing } = this.#setup;
    const limit = Math.min(task.logged - after, pageSize);
    const lines = await runtime
      .lines(id, this.requestor, { list: "log", after, limit })
      .catch((error: unknown) => (closing.aborted ? undefined : unlessUnknown(error)));
    // Where lines were dropped, later ones come in their place.
    return (lines ?? [])
      .filter(({ seq }) => seq <= after + limit)
      .map(({ body }) => ({ type: "log", call: openCall(task), line: JSON.parse(body) as LogText }));
  }

  /** Asks what was not asked yet, and wakes whoever waits. */
  #look(followed: Followed): void {
    for (const input of followed.inputs) {
      if (followed.asked.has(input.key)) continue;
      followed.asked.add(input.key);
      void this.#ask(followed, input).catch(this.#setup.onError);
    }
    this.wake();
  }

  async #ask(followed: Followed, input: InputRequest): Promise<void> {
    const { onInput } = this.#setup.options;
    const question = this.questionOf(followed.task, input);
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

  /**
   * Waits until no other reader of the inbox has a message, in any process on the store. Returns a function that lets the next one have its turn. The
   * turn of a process that has died is over.
   */
  async takeTurn(signal: AbortSignal | undefined): Promise<() => void> {
    const { runtime, closing, onError } = this.#setup;
    const { limits: store } = runtime.store;
    if (store === undefined) return () => undefined; // it has one process
    // No declared limit has a bracket in its name.
    const name = encodeJournalKey(["[inbox]", this.#conversation]);
    const { clock } = runtime;
    this.#turns ??= new LimitLine({
      name,
      concurrency: 1,
      perMinute: null,
      store,
      clock,
      onError,
      stopped: closing,
    });
    const turns = this.#turns;
    const holder = { taskId: name, entry: randomUUID(), token: "" };
    const permit = Promise.withResolvers<void>();
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      this.wake();
    };
    permit.promise.then(settle, settle);
    const told = { granted: permit.resolve, waits: () => undefined, failed: permit.reject };
    const stopWaiting = turns.wait({ ...holder, turnOf: "" }, told);
    const stopWatching = runtime.watch([name], () => turns.look());
    try {
      await this.until(() => isSettled || undefined, signal);
      await permit.promise;
    } catch (error) {
      turns.leave(holder);
      throw error;
    } finally {
      stopWaiting();
      stopWatching();
    }
    return () => turns.leave(holder);
  }

  /** A caller here has the result of the task, which is then in the inbox of later processes only. */
  handOver(id: string): void {
    this.#handedOver.add(id);
    const followed = this.#followed.get(id);
    if (followed !== undefined) this.forget(followed);
  }

  /**
   * The result is where it belongs. The task stays until its time is over, so that the same call is never made again; it is no longer in any inbox.
   */
  async acknowledge(followed: Followed): Promise<void> {
    const { runtime } = this.#setup;
    if (followed.task.finishedAt === null) return;
    const command = { type: "retrieve", now: runtime.clock.now(), id: followed.id, via: "inbox" } as const;
    await runtime.store.write(command);
    this.#handedOver.delete(followed.id);
    this.forget(followed);
  }

  forget(followed: Followed): void {
    if (followed.takers === 0 || followed.task.finishedAt === null) followed.isGone = true;
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

/** Whether nobody has acknowledged it. */
function isOpen({ retrieved }: TaskRecord): boolean {
  return retrieved === undefined;
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
