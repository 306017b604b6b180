import type { McpServer } from "@modelcontextprotocol/server";
import { HoldfastError } from "../task/fault.ts";

/** Names under `tasks/` that some generation has had: no author's own handler may take them. */
const reservedMethods: readonly string[] = [
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "tasks/list",
  "tasks/result",
  "tasks/delete",
];

/** The SDK would replace an author's handler without a word, or serve one that other versions will not. */
export function assertNothingReserved({ server }: McpServer): void {
  for (const method of reservedMethods) {
    try {
      server.assertCanSetRequestHandler(method);
    } catch (cause) {
      const message = `${method} belongs to tasks: leave its handler out of your server.`;
      throw new HoldfastError("configuration", message, { cause });
    }
  }
}
