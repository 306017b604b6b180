import type { CallToolResult } from "@modelcontextprotocol/client";
import { randomUUID } from "node:crypto";
import type { InputResult } from "../client/question/input-request.ts";
import { isJsonObject } from "../generation/message.ts";
import { HoldfastError } from "../task/fault.ts";
import type { TaskSnapshot } from "../task/record.ts";
import { millisecondsOf } from "../task/time.ts";
import {
  type ConversationEvent,
  type Followed,
  FollowedCalls,
  type FollowingSetup,
  type OpenCall,
  openCall,
  unlessUnknown,
} from "./followed-calls.ts";
import type { HostQuestion, HostTool, ToolPolicy } from "./host-options.ts";
import { failed, modelName, resultOf, startedNotice } from "./for-models.ts";

// A call is a task of its conversation, which is its requestor, under the call's id as its idempotency key.
//
// - The same id is the same call: a framework that runs a turn again after a crash gets the result of the call that it had begun.
// - A result is kept until it is acknowledged, which deletes its task. Before that, it is in the inbox of every process that did not hand it to a
//   caller itself: whoever appends messages by the ids of their calls has each result exactly once.

/** Options of one call. */
export interface HostCallOptions {
  /** The id of the call in the conversation: the same id is the same call, also after a crash. Default: a new one. */
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

  constructor(id: string, setup: ConversationSetup) {
    this.id = id;
    this.#setup = setup;
    this.#calls = new FollowedCalls(id, setup);
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
    { id = randomUUID(), mode: asked, isApproved = false, signal }: HostCallOptions = {},
  ): Promise<HostCallResult> {
    signal?.throwIfAborted();
    await this.#calls.load();
    const { runtime, options } = this.#setup;
    const found = this.#setup.tools().find((each) => each.tool.name === name);
    if (found === undefined) {
      const result = failed(`There is no tool ${name}, or its server cannot be reached now.`);
      return { id, result, isBackground: false };
    }
    const { tool, registered } = found;
    const policy = this.policyOf(tool);
    const mode = asked ?? policy.mode ?? "wait";
    if (policy.approve === true && !isApproved && this.#calls.ofCall(id) === undefined) {
      const isAgreed = await options.approve?.({ conversation: this.id, tool, args });
      if (isAgreed !== true) {
        return { id, result: failed(`The call of ${name} was not approved.`), isBackground: false };
      }
    }
    const snapshot = await runtime.create({
      ...this.#calls.requestor,
      tool: registered,
      arguments: args,
      origin: { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } },
      idempotencyKey: id,
      keepAlive: true,
      ttlMs: options.keepMs,
      ...(mode === "background" && { promised: true }),
    });
    const followed = this.#calls.follow(snapshot);
    if (mode === "background") return { id, result: startedNotice(id), isBackground: true };
    followed.isTaken = true;
    const ended = await this.#endOf(followed, policy.foregroundMs, signal);
    if (ended !== undefined) {
      this.#calls.forget(followed); // the caller has it; it stays in the store until it is acknowledged
      return { id, result: resultOf(ended.outcome), isBackground: false };
    }
    await runtime.leave(followed.id, this.#calls.requestor, { stays: false, promised: true, cancelBy: null });
    followed.isTaken = false;
    this.#calls.look(followed);
    return { id, result: startedNotice(id), isBackground: true };
  }

  /**
   * The results that are not acknowledged, oldest first, then each that comes, until the signal aborts or the host closes. The end of the loop's body
   * acknowledges a message: one whose body throws or breaks, or whose process dies, comes again. It has to be safe to append a message twice: its
   * `id` says whether the conversation has it. Of several readers in this process, one gets a message.
   *
   * ```ts
   * for await (const message of conversation.inbox()) await chat.append(message);
   * ```
   */
  async *inbox({ untilIdle = false, signal }: InboxOptions = {}): AsyncGenerator<InboxMessage, void> {
    const calls = this.#calls;
    await calls.load();
    for (;;) {
      const next = await calls
        .until(() => calls.ended.at(0) ?? (untilIdle && calls.all.length === 0 ? "idle" : undefined), signal)
        .catch((error: unknown) => this.#unlessOver(error, signal));
      if (next === undefined || next === "idle") return;
      next.isTaken = true;
      try {
        const message = await this.#messageOf(next);
        if (message !== undefined) yield message;
        await calls.acknowledge(next.id).catch((error: unknown) => this.#unlessOver(error, signal));
      } finally {
        next.isTaken = false;
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

  /** Removes the result of a call, which the conversation has. Does nothing if it has not ended, or is acknowledged already. */
  async acknowledge(callId: string): Promise<void> {
    await this.#calls.load();
    const { runtime } = this.#setup;
    const known = this.#calls.ofCall(callId)?.id;
    const stored = known === undefined ? await runtime.withKeys(this.id, callId, 1) : [];
    const id = known ?? stored.find(({ key }) => key === callId)?.id;
    if (id !== undefined) await this.#calls.acknowledge(id);
  }

  /** All calls that are not acknowledged, oldest first: what is open after a restart. */
  async calls(): Promise<readonly OpenCall[]> {
    await this.#calls.load();
    return this.#calls.all.map(({ snapshot }) => openCall(snapshot.task));
  }

  /** Asks the server of a call to end it. Does nothing to a call that has ended. */
  async cancel(callId: string): Promise<void> {
    await this.#calls.load();
    const followed = this.#calls.ofCall(callId);
    if (followed !== undefined) await this.#setup.runtime.cancelNow(followed.id, this.#calls.requestor);
  }

  /** The questions that are open, for a user interface that answers them by itself. */
  async questions(): Promise<readonly HostQuestion[]> {
    await this.#calls.load();
    return this.#calls.all.flatMap(({ snapshot }) =>
      snapshot.inputs.map((input) => this.#calls.questionOf(snapshot.task, input)),
    );
  }

  /** Answers an open question of a call. Rejects with `invalid_params` if the answer does not fit. */
  async answer({ call, key }: Pick<HostQuestion, "call" | "key">, result: InputResult): Promise<void> {
    await this.#calls.load();
    const followed = this.#calls.ofCall(call);
    if (followed === undefined) throw new HoldfastError("unknown_task", `There is no open call ${call}.`);
    await this.#calls.answer(followed, key, result);
  }

  /**
   * Everything that happens: first a `started` for each call that is open, then events as they come. A slow reader misses steps of progress only.
   *
   * ```ts
   * for await (const event of conversation.events()) render(event);
   * ```
   */
  async *events({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<ConversationEvent, void> {
    await this.#calls.load();
    const queue: ConversationEvent[] = this.#calls.all.map(({ snapshot }) => ({
      type: "started",
      call: openCall(snapshot.task),
    }));
    for (const question of await this.questions()) queue.push({ type: "asks", question });
    const listener = (event: ConversationEvent): void => {
      const last = queue.at(-1);
      const isNewer =
        event.type === "progress" && last?.type === "progress" && last.call.id === event.call.id;
      queue.splice(isNewer ? -1 : queue.length, isNewer ? 1 : 0, event);
    };
    this.#calls.listeners.add(listener);
    try {
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

  /** Follows the calls of this conversation no more. */
  close(): void {
    this.#calls.close();
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
      return await this.#calls
        .until(() => {
          const { snapshot } = followed;
          if (snapshot.task.finishedAt !== null) return { snapshot };
          return isOver ? { snapshot: undefined } : undefined;
        }, signal)
        .then(({ snapshot }) => snapshot);
    } catch (error) {
      if (signal?.aborted === true) {
        await runtime.cancelNow(followed.id, this.#calls.requestor).catch(unlessUnknown);
        await this.#calls.acknowledge(followed.id);
      }
      throw error;
    } finally {
      stop?.();
    }
  }

  async #messageOf({ id, snapshot: { task, outcome } }: Followed): Promise<InboxMessage | undefined> {
    const request = await this.#setup.runtime.store.request(id);
    if (request === undefined) return undefined;
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
