import { ProtocolError } from "@modelcontextprotocol/server";
import type { TaskContext, Tasks } from "holdfast";
import * as z from "zod";
import { form, greets } from "../server/prepare-caller.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { Recorder } from "./recorder.ts";

/** A server, a client whose messages are recorded, and what a scenario needs to lead both. */
export interface Stage {
  readonly url: string;
  readonly recorder: Recorder;
  readonly wire: StatelessClient;
  /** Polls off the record, as nobody knows how often it has to. */
  readonly aside: StatelessClient;
  /** The task of the tool `render`, once it runs. */
  readonly rendering: Promise<TaskContext>;
  /** Ends the call of `render`. */
  readonly rendered: (pages: number) => void;
  /** Stops the server in order. */
  readonly close: () => Promise<void>;
}

export async function setStage(): Promise<Stage> {
  const running = Promise.withResolvers<TaskContext>();
  const end = Promise.withResolvers<number>();
  const tools = (tasks: Tasks): void => {
    const inputSchema = z.object({ reportId: z.string() });
    tasks.tool("render", { inputSchema, task: "required" }, async ({ reportId }, task) => {
      running.resolve(task);
      const cancelled = new Promise<never>((_, reject) => {
        task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
      });
      const pages = await Promise.race([end.promise, cancelled]);
      return { ...text(`${reportId}: ${pages} pages`), structuredContent: { pages } };
    });
    otherTools(tasks);
  };
  const { http } = await serve({ tools });
  const recorder = new Recorder();
  return {
    url: http.url,
    recorder,
    wire: new StatelessClient(http.url, recorder.fetch),
    aside: new StatelessClient(http.url),
    rendering: running.promise,
    rendered: end.resolve,
    close: () => http.close(),
  };
}

function otherTools(tasks: Tasks): void {
  greets(tasks);
  tasks.tool("refuse", {}, () => ({ ...text("Template not found"), isError: true }));
  tasks.tool("break", {}, () => {
    throw new ProtocolError(-32050, "Renderer unreachable", { printer: "p1", tries: 3 });
  });
  tasks.tool("ask", { requires: ["elicitation"] }, async (_, task) => {
    const { action, content } = await task.elicit("size", form("Which paper size?"));
    return text(`${action} ${String(content?.["name"])}`);
  });
  const requires = ["elicitation", "sampling", "roots"] as const;
  tasks.tool("ask_all", { requires }, async (_, task) => {
    const [name, model, { roots }] = await Promise.all([
      task.elicit("size", form("Which paper size?")),
      task.sample("summary", {
        messages: [{ role: "user", content: { type: "text", text: "Summarise" } }],
        maxTokens: 50,
      }),
      task.roots("folders"),
    ]);
    return text([name.action, model.model, roots.length].join(" "));
  });
  tasks.tool("hurry", { ttlMs: 1 }, (_, task) => {
    return new Promise((_resolve, reject) => {
      task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
    });
  });
}
