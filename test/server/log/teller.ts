import type { Tasks } from "holdfast";
import type { ToolConfig } from "../../../src/runtime/tool/tool.ts";
import type { LogLevel } from "../../../src/task/task-line.ts";
import { text } from "../../kit/messages.ts";

/** A line of the log, a report of progress, a short sleep, or the end. */
interface Say {
  (level: LogLevel, text: string, data?: unknown): void;
  (progress: number, total?: number, message?: string): void;
  (end: "end" | "sleep"): void;
}

/** A tool `tell` that says what a test has it say, in the order in which that comes. */
export interface Teller {
  readonly tools: (tasks: Tasks) => void;
  readonly say: Say;
  /** Resolves when so many lines are stored. */
  readonly said: (lines: number) => Promise<void>;
}

type Said = readonly [string | number, unknown?, unknown?];

/** One task at a time: what was said and not heard waits for the next one. */
export function teller(config: ToolConfig<undefined> = {}): Teller {
  const waiting: Said[] = [];
  let wake = (): void => undefined;
  let stored = 0;
  let onStored = (): void => undefined;
  const next = async (): Promise<Said> => {
    for (;;) {
      const said = waiting.shift();
      if (said !== undefined) return said;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  return {
    tools: (tasks) =>
      tasks.tool("tell", config, async (_, context) => {
        for (;;) {
          const [first, second, third] = await next();
          if (first === "end") return text("told");
          if (first === "sleep") {
            await context.sleep("short", 1);
            continue;
          }
          if (typeof first === "number") {
            context.progress(first, second as number | undefined, third as string | undefined);
            continue;
          }
          await context.log(first as LogLevel, String(second), third);
          stored++;
          onStored();
        }
      }),
    say(...said: [string | number, unknown?, unknown?]) {
      waiting.push(said);
      wake();
    },
    async said(lines) {
      while (stored < lines) await new Promise<void>((resolve) => (onStored = resolve));
    },
  };
}
