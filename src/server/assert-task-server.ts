import { HoldfastError } from "../task/fault.ts";
import type { TaskServer } from "./task-server.ts";

/** Throws `configuration`, with the right form, where a caller was given something else than what `tasks.server` returns. */
export function assertTaskServer(caller: string, server: unknown): asserts server is TaskServer {
  if (typeof server === "object" && server !== null && "create" in server && "errorOf" in server) return;
  throw new HoldfastError(
    "configuration",
    `${caller} takes what tasks.server returns: ${caller}(tasks.server(() => new McpServer({ name, version }))).`,
  );
}
