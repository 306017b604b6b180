import type { TaskMessageQueue, TaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import { openSdkV1Tasks } from "../../src/sdk-v1.ts";
import { sqliteStore } from "../../src/sqlite.ts";

// What the SDK's example servers get in place of its in-memory module: classes of the same names, on a file.

const durable = await openSdkV1Tasks({
  store: sqliteStore(process.env["TASKS_DATABASE"] ?? ""),
  // They tell no callers apart: the id is the key, in whatever session.
  owner: () => undefined,
});

export class InMemoryTaskStore implements TaskStore {
  createTask(...args: Parameters<TaskStore["createTask"]>) {
    return durable.taskStore.createTask(...args);
  }
  getTask(...args: Parameters<TaskStore["getTask"]>) {
    return durable.taskStore.getTask(...args);
  }
  storeTaskResult(...args: Parameters<TaskStore["storeTaskResult"]>) {
    return durable.taskStore.storeTaskResult(...args);
  }
  getTaskResult(...args: Parameters<TaskStore["getTaskResult"]>) {
    return durable.taskStore.getTaskResult(...args);
  }
  updateTaskStatus(...args: Parameters<TaskStore["updateTaskStatus"]>) {
    return durable.taskStore.updateTaskStatus(...args);
  }
  listTasks(...args: Parameters<TaskStore["listTasks"]>) {
    return durable.taskStore.listTasks(...args);
  }
}

export class InMemoryTaskMessageQueue implements TaskMessageQueue {
  enqueue(...args: Parameters<TaskMessageQueue["enqueue"]>) {
    return durable.taskMessageQueue.enqueue(...args);
  }
  dequeue(...args: Parameters<TaskMessageQueue["dequeue"]>) {
    return durable.taskMessageQueue.dequeue(...args);
  }
  dequeueAll(...args: Parameters<TaskMessageQueue["dequeueAll"]>) {
    return durable.taskMessageQueue.dequeueAll(...args);
  }
}
