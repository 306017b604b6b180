import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import type { TestContext } from "vitest";
import * as z from "zod";

const requestedSchema = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };

/** A real server whose tool asks before its task and in it, and has an effect that must happen once. */
export class Office {
  readonly url: string;
  /** The months that were sent, one entry for each time. */
  readonly sent: string[];
  readonly #arrivals: Map<string, () => void>;

  private constructor(url: string, sent: string[], arrivals: Map<string, () => void>) {
    this.url = url;
    this.sent = sent;
    this.#arrivals = arrivals;
  }

  static async open(folder: string, { onTestFinished }: TestContext): Promise<Office> {
    const sent: string[] = [];
    const arrivals = new Map<string, () => void>();
    const tasks = createTasks({
      store: sqliteStore(join(folder, "tasks.db")),
      pollIntervalMs: 20,
      stopDeadlineMs: 1,
      rates: { pollsPerInterval: null, maxLoopDelayMs: null },
    });
    tasks.tool(
      "publish_report",
      {
        inputSchema: z.object({ month: z.string() }),
        prepare: async ({ month }, ask) => {
          arrivals.get(month)?.();
          return (await ask.elicit("recipient", { message: "Who gets it?", requestedSchema })).action;
        },
      },
      async ({ month }, task) => {
        const { action } = await task.elicit("approve", { message: `Send ${month}?`, requestedSchema });
        await task.step("send", () => sent.push(month));
        return { content: [{ type: "text", text: `${String(task.prepared)} ${action} ${month}` }] };
      },
    );
    const http = await serveHttp(
      tasks.server(() => new McpServer({ name: "office", version: "1.0.0" })),
      { port: 0 },
    );
    onTestFinished(async () => http.close());
    return new Office(http.url, sent, arrivals);
  }

  /** Resolves when a call for the month has reached the server and is not answered yet. */
  async arrival(month: string): Promise<void> {
    return new Promise((resolve) => this.#arrivals.set(month, resolve));
  }
}
