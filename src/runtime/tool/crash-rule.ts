import type { ToolConfig } from "./tool.ts";

/** Whether a tool says of itself that it may run twice for one call. */
export function isRepeatable({
  annotations,
}: {
  readonly annotations?: ToolConfig["annotations"] | undefined;
}): boolean {
  return annotations?.idempotentHint === true || annotations?.readOnlyHint === true;
}

/** Whether the author of a tool has said what a crash does to a handler that has no entry in the journal yet. */
export function saysWhatCrashDoes({
  onCrash,
  retry,
  annotations,
}: Pick<ToolConfig, "onCrash" | "retry" | "annotations">): boolean {
  return onCrash !== undefined || retry !== undefined || isRepeatable({ annotations });
}

/** How long a handler works without an entry until that is worth a word (ms): what is shorter is hardly ever hit. */
export const longWithoutEntryMs = 10_000;

/** Says what a crash does, and how to choose. */
export function crashWarning(name: string): string {
  return `The handler of tool "${name}" worked for more than ${longWithoutEntryMs / 1_000} seconds without a step. If the server stops or dies meanwhile, its task fails: nobody knows what the handler has done. Put what it does into steps (task.step), and it goes on after the last of them. To run it again from the top, set onCrash: "resume", or mark the tool with idempotentHint or readOnlyHint. To keep it so, set onCrash: "auto".`;
}
