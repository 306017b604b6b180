import { setTimeout as pause } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";
import { flushTelemetry, telemetry, tracer } from "./telemetry.ts";

const tasks = createTasks({ store: sqliteStore("tasks.db"), telemetry });

tasks.tool(
  "ship",
  {
    description: "Packs and ships an order",
    inputSchema: z.object({ order: z.string(), parcels: z.number().int().positive().default(2) }),
    requires: ["elicitation"],
  },
  async ({ order, parcels }, task) => {
    for (let parcel = 1; parcel <= parcels; parcel++) {
      // A key that is a list names its span by its first member, so that there are few names.
      await task.step(["pack", parcel], () => pack(order, parcel));
    }
    const { action } = await task.elicit("approve", {
      message: `Ship ${parcels} parcels of ${order}?`,
      requestedSchema: { type: "object", properties: {} },
    });
    if (action === "accept") await task.step("hand over", { retries: 3 }, () => handOver(order));
    return { content: [{ type: "text", text: action === "accept" ? "shipped" : "kept" }] };
  },
);

async function pack(order: string, parcel: number): Promise<string> {
  return tracer.startActiveSpan("weigh", async (span) => {
    await pause(1_000);
    span.end();
    return `parcel ${parcel} of ${order}`;
  });
}

/** The carrier is not always there. */
function handOver(order: string): string {
  if (Math.random() < 0.3) throw new Error("the carrier does not answer");
  return `label of ${order}`;
}

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "shipping", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000), anonymous: "shared" },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => void http.close().then(flushTelemetry));
}
