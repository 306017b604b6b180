import type { Tasks, ToolConfig } from "holdfast";
import { text } from "../../kit/messages.ts";

/** Names of all four polling tools, of which two are there by default. */
export const fourTools = { answer: "task_answer", list: "task_list" } as const;

type Options = Pick<
  ToolConfig,
  "plain" | "plainDeadlineMs" | "joinCalls" | "outputSchema" | "task" | "annotations"
>;

/** A tool that runs until the test ends it, and counts its runs. */
export class Job {
  runs = 0;
  readonly begun = Promise.withResolvers<void>();
  readonly stopped = Promise.withResolvers<void>();
  readonly #gate = Promise.withResolvers<void>();

  readonly end = (): void => this.#gate.resolve();

  /** Registers the tool `job`, whose result says how many runs there were. */
  add(tasks: Pick<Tasks, "tool">, options: Options = {}): void {
    tasks.tool("job", options, async (_args, task) => {
      this.runs += 1;
      task.signal.addEventListener("abort", () => this.stopped.resolve());
      await task.status("half way");
      this.begun.resolve();
      await this.#gate.promise;
      return text(`run ${this.runs}`);
    });
  }
}

/** Registers the tool `confirm`, which asks once. */
export function addConfirm(tasks: Pick<Tasks, "tool">, options: Options = {}): void {
  tasks.tool("confirm", { ...options, requires: ["elicitation"] }, async (_args, task) => {
    const answer = await task.elicit("ok", {
      message: "Send 12 rows?",
      requestedSchema: {
        type: "object",
        properties: { note: { type: "string", description: "What to write above" } },
        required: ["note"],
      },
    });
    return text(answer.action === "accept" ? `sent: ${String(answer.content?.["note"])}` : answer.action);
  });
}

export interface Ticket {
  readonly text: string;
  readonly reference: string;
  readonly status: string;
  readonly data: Record<string, unknown>;
}

/** A ticket as a model and its host read it. */
export function ticketOf(result: Record<string, unknown> | undefined): Ticket {
  const [content] = (result?.["content"] ?? []) as { text: string }[];
  const data = (result?.["structuredContent"] ?? {}) as Record<string, unknown>;
  const { reference, status } = data;
  return { text: content?.text ?? "", reference: reference as string, status: status as string, data };
}
