import "./runtime/require-node.ts";
import { openTasks, type SdkV1Tasks } from "./sdk-v1/open-tasks.ts";
import type { SdkV1Options } from "./sdk-v1/options.ts";

/**
 * Makes the experimental tasks of `@modelcontextprotocol/sdk` 1.x durable: returns its `taskStore` and `taskMessageQueue` on a Holdfast
 * store. Rejects with `store_locked` or `store_unusable` if the store cannot be opened, and with `configuration` for invalid options or an
 * unsuitable store.
 *
 * ```ts
 * const durable = await openSdkV1Tasks({ store: sqliteStore("tasks.db") });
 *
 * const server = new McpServer(
 *   { name: "reports", version: "1.0.0" },
 *   {
 *     capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
 *     taskStore: durable.taskStore,
 *     taskMessageQueue: durable.taskMessageQueue,
 *   },
 * );
 * ```
 */
export function openSdkV1Tasks(options: SdkV1Options): Promise<SdkV1Tasks> {
  return openTasks(options);
}

export type { SdkV1Tasks } from "./sdk-v1/open-tasks.ts";
export type { SdkV1Options } from "./sdk-v1/options.ts";
export type { OnRestart, UnfinishedTask } from "./sdk-v1/restart.ts";
