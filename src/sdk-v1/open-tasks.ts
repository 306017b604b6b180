import type {
  TaskMessageQueue,
  TaskStore,
  QueuedMessage,
} from "@modelcontextprotocol/sdk/experimental/tasks";
import { StoreClock, systemClock, type Clock } from "../runtime/clock.ts";
import { Lease } from "../runtime/dispatch/lease.ts";
import { Ownership } from "../runtime/dispatch/ownership.ts";
import { Sweeper } from "../runtime/dispatch/sweeper.ts";
import { defaultSettings } from "../runtime/options.ts";
import { Retrievals } from "../runtime/own-record.ts";
import { UnreadableTasks } from "../runtime/observed-store.ts";
import type { MessageQueues } from "../store/session-store.ts";
import type { TaskStore as HoldfastStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import { assertMessage } from "./check-arguments.ts";
import { DurableTaskStore } from "./durable-task-store.ts";
import { resolveSdkV1Options, type SdkV1Options } from "./options.ts";
import { askOnRestart, takeOver, type OnRestart, type TakenTasks, type TakeOverServices } from "./restart.ts";

/** What a server on SDK v1 needs, shared by all its connections. */
export interface SdkV1Tasks {
  readonly taskStore: TaskStore;
  readonly taskMessageQueue: TaskMessageQueue;
  /** Resolves once all writes are done and the store is closed. Unfinished tasks stay unfinished. */
  close(): Promise<void>;
}

/** Opens the store. Until it is closed, takes over the tasks of lost processes, and deletes expired tasks. */
export async function openTasks(given: SdkV1Options, machine: Clock = systemClock): Promise<SdkV1Tasks> {
  const clock = new StoreClock(machine);
  const options = resolveSdkV1Options(given);
  const { store, onError } = options;
  const messages = queuesOf(store);
  const unreadable = new UnreadableTasks(onError);
  const sweeper = new Sweeper({ store, clock, unreadable, onError, options: defaultSettings });
  clock.onJump((setBackMs) => sweeper.look(setBackMs > 0));
  const inheritance = new Inheritance({ store, clock, sweeper, unreadable, onError }, options.onRestart);
  const ownership = new Ownership(
    { store, lease: new Lease(store), clock, unreadable, onError, options: defaultSettings },
    sweeper,
    inheritance.look,
  );
  // No handlers: the store does not hand out the work on these tasks.
  await store.open({ id: clock.uniqueName(), handlers: [] });
  try {
    await ownership.start();
    await inheritance.start();
  } catch (error) {
    ownership.stop();
    await store.close();
    throw error;
  }
  // Not awaited: many tasks may have expired while the server was down, and each read ends an expired
  // task by itself.
  void sweeper.start();
  const retrievals = new Retrievals({ store, clock, onError });
  const services = { store, clock, sweeper, retrievals, options };
  return {
    taskStore: new DurableTaskStore(services),
    taskMessageQueue: new DurableMessageQueue(messages),
    close: async () => {
      ownership.stop();
      await inheritance.stop();
      await sweeper.stop();
      await retrievals.settled();
      await store.close();
    },
  };
}

/** Throws `configuration` for a store without queues, which the SDK uses for the questions of tasks. */
function queuesOf({ messages }: HoldfastStore): MessageQueues {
  if (messages !== undefined) return messages;
  throw new HoldfastError(
    "configuration",
    "This store does not keep messages, which tasks of SDK v1 need. Use a store that does, such as sqliteStore(path).",
  );
}

/**
 * The SDK's `TaskMessageQueue`, kept in a Holdfast store. Deleting a task deletes its queue. Session ids are
 * ignored, as in the SDK's own queue: the SDK checks the access to a task before it takes messages.
 */
export class DurableMessageQueue implements TaskMessageQueue {
  readonly #queues: MessageQueues;

  constructor(queues: MessageQueues) {
    this.#queues = queues;
  }

  /** Throws `queue_full` beyond `maxSize`, and `unknown_task` if the task does not exist. */
  async enqueue(
    taskId: string,
    message: QueuedMessage,
    _sessionId?: string,
    maxSize?: number,
  ): Promise<void> {
    // Requests and responses are useless to another process: the code that waits for them is in this one.
    assertMessage(message, maxSize);
    const bound = message.type !== "notification";
    const body = JSON.stringify(message);
    const put = await this.#queues.put(taskId, { body, bound }, maxSize ?? null);
    if (put.ok) return;
    if (put.reason === "unknown") {
      throw new HoldfastError("unknown_task", `Task with ID ${taskId} not found`);
    }
    throw new HoldfastError(
      "queue_full",
      `Task message queue overflow: queue size (${maxSize}) exceeds maximum (${maxSize})`,
    );
  }

  async dequeue(taskId: string, _sessionId?: string): Promise<QueuedMessage | undefined> {
    const [first] = await this.#take(taskId, 1);
    return first;
  }

  async dequeueAll(taskId: string, _sessionId?: string): Promise<QueuedMessage[]> {
    return this.#take(taskId, null);
  }

  async #take(id: string, limit: number | null): Promise<QueuedMessage[]> {
    const bodies = await this.#queues.take(id, limit);
    return bodies.map((body) => JSON.parse(body) as QueuedMessage);
  }
}

const pauseAfterErrorMs = 5000;

interface InheritanceServices extends TakeOverServices {
  readonly onError: (error: unknown) => void;
}

/** Takes over the tasks of lost processes, at the start and whenever there may be some. */
export class Inheritance {
  readonly #services: InheritanceServices;
  readonly #onRestart: OnRestart;
  readonly #taken: TakenTasks = new Map();
  #takingOver: Promise<void> | undefined;
  /** Whether there may be more than the last or current look finds. */
  #again = false;
  #cancelTimer: (() => void) | undefined;
  #open = false;

  constructor(services: InheritanceServices, onRestart: OnRestart) {
    this.#services = services;
    this.#onRestart = onRestart;
  }

  /** Resolves when all leftover tasks are taken over; rejects with what `onRestart` throws. */
  async start(): Promise<void> {
    this.#again = false;
    await takeOver(this.#services, this.#onRestart, this.#taken);
    this.#open = true;
    if (this.#again) this.look();
  }

  /** Call this when other processes may have left tasks. */
  readonly look = (): void => {
    this.#again = true;
    if (this.#open) this.#takingOver ??= this.#takeOver();
  };

  async stop(): Promise<void> {
    this.#open = false;
    this.#cancelTimer?.();
    await this.#takingOver;
  }

  async #takeOver(): Promise<void> {
    try {
      while (this.#again && this.#open) {
        this.#again = false;
        await takeOver(this.#services, this.#decide, this.#taken);
      }
    } catch (error) {
      this.#services.onError(error);
      this.#cancelTimer?.();
      this.#cancelTimer = this.#services.clock.after(pauseAfterErrorMs, this.look);
    }
    this.#takingOver = undefined;
  }

  /** At the start, the author sees what `onRestart` throws. Later nobody would, and the task must not wait forever. */
  readonly #decide: OnRestart = async (task) => {
    if (typeof this.#onRestart === "string") return this.#onRestart;
    try {
      return await askOnRestart(this.#onRestart, task);
    } catch (error) {
      this.#services.onError(error);
      return "fail";
    }
  };
}
