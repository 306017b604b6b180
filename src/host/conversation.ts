import type { CallToolResult } from "@modelcontextprotocol/client";
import { randomUUID } from "node:crypto";
import type { InputResult } from "../client/question/ask-user.ts";
import { isJsonObject } from "../generation/message.ts";
import type { TaskCall } from "../runtime/runtime.ts";
import { HoldfastError } from "../task/fault.ts";
import type { TaskSnapshot } from "../task/record.ts";
import { millisecondsOf } from "../task/time.ts";
import {
  type ConversationEvent,
  type Followed,
  type FollowedCalls,
  type FollowingSetup,
  type OpenCall,
  openCall,
  unlessUnknown,
} from "./followed-calls.ts";
import type { HostQuestion, HostTool, ToolPolicy } from "./host-options.ts";
import { failed, modelName, resultOf, startedNotice } from "./for-models.ts";

// A call is a task of its conversation, which is its requestor, under the call's id as its idempotency key.
//
// - The same id is the same call, until the task's time is over: a framework that runs a turn again after a crash gets the results of the calls that it
//   had begun.
// - A result is in the inbox until it is acknowledged (the task is `retrieved`), but not of a process that handed it to a waiting caller itself. Whoever
//   appends messages by the ids of their calls has each result exactly once.
// - What the caller was told, that a call goes on or its result, is what the inbox says (`promised`).

/** Options of one call. */
export interface HostCallOptions {
  /** The id of the call in the conversation: the same id is the same call, also after a crash. Default, and for an empty one: a new one. */
  readonly id?: string | undefined;
  /** Instead of that of the tool's policy. */
  readonly mode?: ToolPolicy["mode"];
  /** Whether somebody has agreed to the call already, as its policy demands. */
  readonly isApproved?: boolean | undefined;
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How a call was answered. */
export interface HostCallResult {
  /** The id of the call. */
  readonly id: string;
  /** For the model. Of a call in the background, a text that says so. */
  readonly result: CallToolResult;
  /** Whether the call goes on, and its result comes to the inbox. */
  readonly isBackground: boolean;
}

/** A result that nobody has acknowledged. */
export interface InboxMessage {
  /** The id of the call. Append the message to the conversation unless it has one for this id. */
  readonly id: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /**
   * Whether the model was told that the call runs in the background, so that this is a new message. False: its process ended before the model
   * got the result, which belongs to the call itself.
   */
  readonly isBackground: boolean;
  readonly result: CallToolResult;
}

/** Options of `inbox`. */
export interface InboxOptions {
  /** Whether it ends once it has no result. Default false. */
  readonly untilEmpty?: boolean | undefined;
  /** Whether it ends once no call is open. Default false. */
  readonly untilIdle?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A tool, and its name at the tasks of this process. */
export interface RegisteredTool {
  readonly registered: string;
  readonly tool: HostTool;
}

/** What a conversation needs of its host. */
export interface ConversationSetup extends FollowingSetup {
  readonly tools: () => readonly RegisteredTool[];
  readonly policyOf: (tool: HostTool) => ToolPolicy;
}

/** The calls of one conversation, and the inbox of their results. */
export class Conversation {
  readonly id: string;
  readonly #setup: ConversationSetup;
  readonly #calls: FollowedCalls;

  constructor(id: string, setup: ConversationSetup, calls: FollowedCalls) {
    this.id = id;
    this.#setup = setup;
    this.#calls = calls;
  }

  /** The tools of all servers that can be reached, for a model. */
  get tools(): readonly HostTool[] {
    return this.#setup.tools().map(({ tool }) => tool);
  }

  policyOf(tool: HostTool): ToolPolicy {
    return this.#setup.policyOf(tool);
  }

  /**
   * Calls a tool, and resolves with its result, or with a text that says that it goes on in the background. A call that fails is a result with
   * `isError`. Rejects with the signal's reason; with `idempotency_conflict` if the conversation has another call with this id; and with `stopping`
   * when the host closes: the call goes on when it is there again.
   *
   * ```ts
   * const { result, isBackground } = await host.conversation("chat-17").call("build__compile", { target: "web" }, { id: toolCallId });
   * ```
   */
  async call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { id: given = "", mode: asked, isApproved = false, signal }: HostCallOptions = {},
  ): Promise<HostCallResult> {
    const id = given === "" ? randomUUID() : given; // some models name none
    signal?.throwIfAborted();
    this.#setup.closing.throwIfAborted();
    const { runtime, options } = this.#setup;
    const found = this.#setup.tools().find((each) => each.tool.name === name);
    if (found === undefined) {
      const result = failed(`There is no tool ${name}, or its server cannot be reached now.`);
      return { id, result, isBackground: false };
    }
    const { tool, registered } = found;
    const policy = this.policyOf(tool);
    const mode = asked ?? policy.mode ?? "wait";
    const isKnown = policy.approve === true && (await this.#isKnown(id));
    if (policy.approve === true && !isApproved && !isKnown) {
      const isAgreed = await options.approve?.({ conversation: this.id, tool, args });
      if (isAgreed !== true) {
        return { id, result: failed(`The call of ${name} was not approved.`), isBackground: false };
      }
    }
    const call: TaskCall = {
      ...this.#calls.requestor,
      tool: registered,
      arguments: args,
      origin: { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } },
      idempotencyKey: id,
      keepAlive: true,
      ttlMs: options.keepMs,
      ...(mode === "background" && { promised: true }),
    };
    const snapshot = await runtime.create(call).catch(refusalOf);
    if ("refused" in snapshot) return { id, result: failed(snapshot.refused), isBackground: false };
    const { task, outcome } = snapshot;
    if (task.retrieved !== undefined) return { id, result: resultOf(outcome), isBackground: false };
    const isPromised = task.promised;
    if (!isPromised && outcome !== null) return this.#handedOver(id, snapshot);
    const followed = this.#calls.follow(snapshot);
    if (isPromised) return { id, result: startedNotice(id), isBackground: true };
    const { requestor } = this.#calls;
    followed.takers++;
    try {
      if (mode === "wait") {
        const ended = await this.#endOf(followed, policy.foregroundMs, signal);
        if (ended !== undefined) return this.#handedOver(id, ended);
      }
      await runtime.leave(followed.id, requestor, { stays: false, promised: true, cancelBy: null });
      // The inbox says what the caller was told: that it goes on.
      Object.assign(followed, { task: (await runtime.get(followed.id, requestor)).task });
      return { id, result: startedNotice(id), isBackground: true };
    } finally {
      followed.takers--;
      this.#calls.wake();
    }
  }

  async #isKnown(id: string): Promise<boolean> {
    const found = await this.#setup.runtime.withKeys(this.id, id, 1);
    return found.some(({ key }) => key === id);
  }

  /** What a caller gets who waited; it stays in the store, and in the inboxes of later processes, until it is acknowledged. */
  #handedOver(id: string, { task, outcome }: TaskSnapshot): HostCallResult {
    this.#calls.handOver(task.id);
    return { id, result: resultOf(outcome), isBackground: false };
  }

  /**
   * The results that are not acknowledged, oldest first, then each that comes, until the signal aborts or the host closes. The end of the loop's body
   * acknowledges a message: one whose body throws or breaks, or whose process dies, comes again. It has to be safe to append a message twice: its
   * `id` says whether the conversation has it. Of several readers, in all processes on the store, one has a message at a time.
   *
   * ```ts
   * for await (const message of conversation.inbox()) await chat.append(message);
   * ```
   */
  async *inbox({ untilEmpty, untilIdle, signal }: InboxOptions = {}): AsyncGenerator<InboxMessage, void> {
    const calls = this.#calls;
    try {
      await calls.load();
    } catch (error) {
      return this.#unlessOver(error, signal);
    }
    for (;;) {
      const isOver = (): boolean => untilEmpty === true || (untilIdle === true && calls.all.length === 0);
      const endTurn = await calls
        .until(() => (calls.ended.length > 0 ? "read" : isOver() ? "over" : undefined), signal)
        .then(async (next) => (next === "over" ? undefined : calls.takeTurn(signal)))
        .catch((error: unknown) => this.#unlessOver(error, signal));
      if (endTurn === undefined) return;
      const next = calls.ended.at(0); // another reader may have had what there was
      if (next !== undefined) next.takers++;
      try {
        if (next === undefined) continue;
        const message = await this.#messageOf(next);
        if (message === undefined) calls.forget(next);
        else {
          yield message;
          await calls.acknowledge(next);
        }
      } catch (error) {
        this.#unlessOver(error, signal);
      } finally {
        if (next !== undefined) next.takers--;
        endTurn();
        calls.wake();
      }
    }
  }

  /** The results that are in the inbox now. They stay there until they are acknowledged. */
  async results(): Promise<readonly InboxMessage[]> {
    await this.#calls.load();
    const messages = await Promise.all(this.#calls.ended.map((each) => this.#messageOf(each)));
    return messages.filter((message) => message !== undefined);
  }

  /**
   * Says that the conversation has the result of a call, which is in no inbox from then on. Does nothing if it has not ended, or is acknowledged
   * already.
   */
  async acknowledge(callId: string): Promise<void> {
    const followed = await this.#calls.ofCall(callId);
    if (followed !== undefined) await this.#calls.acknowledge(followed);
  }

  /** All calls that go on, or whose results nobody has, oldest first: what is open after a restart. */
  async calls(): Promise<readonly OpenCall[]> {
    await this.#calls.load();
    return this.#calls.all.map(({ task }) => openCall(task));
  }

  /** Asks the server of a call to end it. Does nothing to a call that has ended. */
  async cancel(callId: string): Promise<void> {
    const followed = await this.#calls.ofCall(callId);
    if (followed !== undefined) await this.#setup.runtime.cancelNow(followed.id, this.#calls.requestor);
  }

  /** The questions that are open, for a user interface that answers them by itself. */
  async questions(): Promise<readonly HostQuestion[]> {
    await this.#calls.load();
    const { runtime } = this.#setup;
    const running = this.#calls.all.filter(({ task }) => task.finishedAt === null);
    const read = running.map(async ({ id }) => runtime.get(id, this.#calls.requestor).catch(unlessUnknown));
    const found = (await Promise.all(read)).filter((each) => each !== undefined);
    return found.flatMap(({ task, inputs }) => inputs.map((input) => this.#calls.questionOf(task, input)));
  }

  /** Answers an open question of a call. Rejects with `invalid_params` if the answer does not fit. */
  async answer({ call, key }: Pick<HostQuestion, "call" | "key">, result: InputResult): Promise<void> {
    const followed = await this.#calls.ofCall(call);
    if (followed === undefined) throw new HoldfastError("unknown_task", `There is no open call ${call}.`);
    await this.#calls.answer(followed, key, result);
  }

  /**
   * Everything that happens: first a `started` for each call that is open, with its questions and the end of its log, then events as they come. A slow
   * reader misses steps of progress only.
   *
   * ```ts
   * for await (const event of conversation.events()) render(event);
   * ```
   */
  async *events({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<ConversationEvent, void> {
    await this.#calls.load();
    const calls = this.#calls;
    const queue: ConversationEvent[] = [];
    const open = calls.all.map((followed) => ({ ...followed })); // as they are now
    const listener = (event: ConversationEvent): void => {
      const last = queue.at(-1);
      const isNewer =
        event.type === "progress" && last?.type === "progress" && last.call.id === event.call.id;
      queue.splice(isNewer ? -1 : queue.length, isNewer ? 1 : 0, event);
    };
    this.#calls.listeners.add(listener);
    try {
      for (const followed of open) {
        const { task, inputs } = followed;
        yield { type: "started", call: openCall(task) };
        yield* await calls.logOf(followed, Math.max(0, task.logged - 100));
        for (const input of inputs) yield { type: "asks", question: calls.questionOf(task, input) };
      }
      for (;;) {
        const event = await this.#calls
          .until(() => queue.shift(), signal)
          .catch((error: unknown) => this.#unlessOver(error, signal));
        if (event === undefined) return;
        yield event;
      }
    } finally {
      this.#calls.listeners.delete(listener);
    }
  }

  /** The end of a call; undefined once it was waited for that long. Cancels the call when the signal aborts. */
  async #endOf(
    followed: Followed,
    foregroundMs: ToolPolicy["foregroundMs"],
    signal: AbortSignal | undefined,
  ): Promise<TaskSnapshot | undefined> {
    const { runtime } = this.#setup;
    let isOver = false;
    const stop =
      foregroundMs === undefined
        ? undefined
        : runtime.clock.after(millisecondsOf(foregroundMs), () => {
            isOver = true;
            this.#calls.wake();
          });
    try {
      const hasEnded = await this.#calls.until(() => {
        if (followed.isGone) throw new HoldfastError("unknown_task", "The call was deleted.");
        return followed.task.finishedAt !== null ? "ended" : isOver ? "over" : undefined;
      }, signal);
      return hasEnded === "ended" ? await runtime.get(followed.id, this.#calls.requestor) : undefined;
    } catch (error) {
      if (signal?.aborted === true) {
        await runtime.cancelNow(followed.id, this.#calls.requestor).catch(unlessUnknown);
        await runtime.delete(followed.id, this.#calls.requestor).catch(unlessUnknown);
        this.#calls.forget(followed);
      }
      throw error;
    } finally {
      stop?.();
    }
  }

  /** Undefined if it was deleted or acknowledged meanwhile. */
  async #messageOf({ id }: Followed): Promise<InboxMessage | undefined> {
    const { runtime } = this.#setup;
    const snapshot = await runtime.get(id, this.#calls.requestor).catch(unlessUnknown);
    const request = snapshot && (await runtime.store.request(id));
    if (snapshot === undefined || request === undefined) return undefined;
    const { task, outcome } = snapshot;
    if (task.retrieved !== undefined) return undefined;
    const args: unknown = JSON.parse(request.arguments);
    return {
      id: task.idempotencyKey ?? id,
      tool: modelName(task.tool),
      args: isJsonObject(args) ? args : {},
      isBackground: task.promised,
      result: resultOf(outcome),
    };
  }

  /** Whoever reads until the host closes, or their signal aborts, is at the end then. */
  #unlessOver(error: unknown, signal: AbortSignal | undefined): undefined {
    if (signal?.aborted !== true && !this.#setup.closing.aborted) throw error;
  }
}

/** Why a call did not become a task, for the model: it is too large, or there are too many. */
function refusalOf(error: unknown): { readonly refused: string } {
  const isRefused =
    error instanceof HoldfastError && (error.code === "limit_reached" || error.code === "invalid_params");
  if (!isRefused) throw error;
  return { refused: `The call failed: ${error.message}` };
}
