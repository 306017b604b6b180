import type { TaskMessageQueue, TaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import { systemClock, type Clock } from "../runtime/clock.ts";
import { Ownership } from "../runtime/dispatch/ownership.ts";
import { Sweeper } from "../runtime/dispatch/sweeper.ts";
import { defaultSettings } from "../runtime/options.ts";
import { UnreadableTasks } from "../runtime/unreadable-tasks.ts";
import type { MessageQueues } from "../store/message-queues.ts";
import type { TaskStore as HoldfastStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import { DurableMessageQueue } from "./durable-message-queue.ts";
import { DurableTaskStore } from "./durable-task-store.ts";
import { resolveSdkV1Options, type SdkV1Options } from "./options.ts";
import { Inheritance } from "./inheritance.ts";

/** What a server on SDK v1 needs, shared by all its connections. */
export interface SdkV1Tasks {
  readonly taskStore: TaskStore;
  readonly taskMessageQueue: TaskMessageQueue;
  /** Resolves once all writes are done and the store is closed. Unfinished tasks stay unfinished. */
  close(): Promise<void>;
}

/** Opens the store. Until it is closed, takes over the tasks of lost processes, and deletes expired tasks. */
export async function openTasks(given: SdkV1Options, clock: Clock = systemClock): Promise<SdkV1Tasks> {
  const options = resolveSdkV1Options(given);
  const { store, onError } = options;
  const messages = queuesOf(store);
  const unreadable = new UnreadableTasks(onError);
  const sweeper = new Sweeper({ store, clock, unreadable, onError, options: defaultSettings });
  const inheritance = new Inheritance({ store, clock, sweeper, unreadable, onError }, options.onRestart);
  const ownership = new Ownership(
    { store, clock, unreadable, onError, options: defaultSettings },
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
  const services = { store, clock, sweeper, options };
  return {
    taskStore: new DurableTaskStore(services),
    taskMessageQueue: new DurableMessageQueue(messages),
    close: async () => {
      ownership.stop();
      await inheritance.stop();
      await sweeper.stop();
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
