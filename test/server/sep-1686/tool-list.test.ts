import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type DurableTool, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveHttp } from "holdfast/http";
import { expect, it, onTestFinished } from "vitest";
import { withTask } from "../../../src/generation/sep-1686.ts";
import { type Message, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { callAs, created } from "./sep.ts";

const method = "notifications/tools/list_changed";
const ofSep = {
  "an early revision": { version: "2025-06-18" },
  "2025-11-25, with tasks of its own": { capabilities: { tasks: { elicitation: { create: true } } } },
} as const;

interface Changed {
  readonly tool: DurableTool;
  /** What the client has been told of lists, and the tools that it finds. */
  readonly isTold: () => Promise<unknown>;
  readonly names: () => Promise<readonly unknown[]>;
}

/** What comes to a client of tools that come, change and go. */
async function changes(tasks: Tasks, { tool, isTold, names }: Changed): Promise<void> {
  let told = isTold();
  const late = tasks.tool("late", { plain: "wait" }, () => text("late"));
  await told;
  expect(await names()).toEqual(["add", "late"]);

  told = isTold();
  tool.disable();
  late.update({ description: "Came late" });
  await told; // once for both
  expect(await names()).toEqual(["late"]);

  told = isTold();
  late.remove();
  tool.enable();
  await told;
  expect(await names()).toEqual(["add"]);
}

const namesOf = ({ tools }: Message): readonly unknown[] =>
  (tools as readonly Message[]).map(({ name }) => name);

it.each(Object.entries(ofSep))(
  "tells a client on %s of tools that come, change and go",
  async (_, client) => {
    const made: DurableTool[] = [];
    const { server, tasks } = await startServer((own) => {
      made.push(own.tool("add", { plain: "wait" }, () => text("3")));
    });
    const [tool] = made;
    if (tool === undefined) throw new Error("There is no tool.");
    const session = await InMemorySession.open(server, client);
    await session.result(callAs(session, { taskId: "before" }, "add"));
    let heard = 0;
    await changes(tasks, {
      tool,
      isTold: async () => {
        const next = ++heard;
        await session.message(() => session.requests(method).length >= next);
      },
      names: async () => namesOf(await session.request("tools/list")),
    });
    expect(session.requests(method)).toHaveLength(3);
    const call = callAs(session, { taskId: "after" }, "add");
    await created(session, "after");
    expect(await session.result(call)).toMatchObject(text("3"));
  },
);

it.each(Object.entries(ofSep))("does so on the stream of a session over HTTP, on %s", async (_, client) => {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  const tool = tasks.tool("add", { plain: "wait" }, () => text("3"));
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "dynamic", version: "1.0.0" })),
    { port: 0 },
  );
  onTestFinished(() => http.close());
  const peer = await SessionClient.open(http.url, client);
  const stream = await peer.listen();
  const isTold = async (): Promise<void> => expect(await stream.message()).toMatchObject({ method });
  const names = async (): Promise<readonly unknown[]> =>
    namesOf((await peer.request("tools/list"))["result"] as Message);
  await changes(tasks, { tool, isTold, names });
  const called = await peer.request(
    "tools/call",
    withTask({ name: "add", arguments: {} }, { taskId: "mine" }),
  );
  expect(called["result"]).toMatchObject(text("3"));
});
