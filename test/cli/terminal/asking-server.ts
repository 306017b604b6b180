import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type ElicitParams } from "holdfast";
import { serveHttp, type HttpServer } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

/** What a server sends that wants to own a terminal: a title, a cleared screen, another line's text, hidden words. */
export const hostile = "\u001b]0;owned\u0007\u001b[2J\u001b[1;1Hbelieve\rme\u202e\u009b31m\u200b";

type Form = Extract<ElicitParams, { requestedSchema: unknown }>["requestedSchema"];

/** Every kind of field, and a default and a title that are hostile. */
const everyField: Form = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", minLength: 2, maxLength: 10 },
    mail: { type: "string", format: "email", default: "ann@example.com" },
    age: { type: "integer", minimum: 18, maximum: 120 },
    colour: {
      type: "string",
      title: `Colour ${hostile}`,
      oneOf: [
        { const: "#f00", title: "Red" },
        { const: "#0f0", title: "Green" },
      ],
    },
    days: { type: "array", items: { type: "string", enum: ["mon", "tue", "wed"] }, minItems: 1, maxItems: 2 },
    sure: { type: "boolean", title: "Are you sure?" },
    note: { type: "string", description: "whatever else there is" },
  },
  required: ["name", "age", "colour", "days", "sure"],
};

/** A server on a free port, with tools that ask. */
export async function askingServer(): Promise<HttpServer> {
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 100 });
  const requires = ["elicitation"] as const;
  const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });

  tasks.tool("survey", { inputSchema: z.object({}), requires }, async (_args, task) =>
    text(await task.elicit("all", { message: `Who are you?\n${hostile}`, requestedSchema: everyField })),
  );
  tasks.tool("two", { inputSchema: z.object({}), requires }, async (_args, task) => {
    const ask = async (name: string) =>
      task.elicit(name, {
        message: `The ${name} question`,
        requestedSchema: { type: "object", properties: { answer: { type: "string" } } },
      });
    return text(await Promise.all([ask("first"), ask("second")]));
  });
  tasks.tool("visit", { inputSchema: z.object({}), requires }, async (_args, task) =>
    text(
      await task.elicit("go", {
        mode: "url",
        message: "Please sign in.",
        url: "https://bücher.example/sign-in?state=1",
        elicitationId: "e1",
      }),
    ),
  );
  tasks.tool("shout", { inputSchema: z.object({}) }, async (_args, task) => {
    await task.status(hostile);
    await task.sleep("on", 3_600_000);
    return text("done");
  });
  return serveHttp(
    tasks.server(() => new McpServer({ name: "asking", version: "1.0.0" })),
    { port: 0 },
  );
}
