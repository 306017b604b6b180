import type { TaskCall } from "../../src/runtime/runtime.ts";

/** A call without arguments, of a caller who is not told apart from others. */
export function anonymousCall(tool: string): TaskCall {
  return {
    generation: "2026-07-28",
    tool,
    arguments: {},
    principal: null,
    origin: { capabilities: {} },
  };
}
