import { ProtocolError } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";

/** A thrown `ProtocolError` is the JSON-RPC error of the call, and as a task it is what the task failed with. */
export function addProtocolErrorJob(tasks: Tasks): void {
  tasks.tool(
    "protocol_error_job",
    {
      description: "Fails with a JSON-RPC error of its own",
      annotations: { idempotentHint: true },
    },
    () => {
      throw new ProtocolError(4001, "deliberate failure", { fixture: true });
    },
  );
}
