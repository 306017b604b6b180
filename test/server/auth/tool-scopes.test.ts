import { expect, it } from "vitest";
import { memoryStore } from "holdfast/memory";
import type { GenerationName } from "../../../src/task/record.ts";
import { withTask } from "../../../src/generation/sep-1686.ts";
import { text } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { protectedServer, type ProtectedServer } from "./protected-server.ts";

const scope = "mcp send";

/** What makes a task of the tool `slow` in one of the ways that there are. */
const ways: readonly [GenerationName, (server: ProtectedServer) => Promise<unknown>][] = [
  ["2026-07-28", async ({ url, as }) => new StatelessClient(url).start("slow", {}, await as("ann", scope))],
  [
    "plain",
    async ({ url, as }) =>
      new StatelessClient(url).call("slow", {}, { capabilities: {}, ...(await as("ann", scope)) }),
  ],
  [
    "2025-11-25",
    async ({ session }) => (await session("ann", scope)).request("tools/call", { name: "slow", task: {} }),
  ],
  [
    "sep-1686",
    async ({ url, as }) => {
      const peer = await SessionClient.open(url, { version: "2025-06-18", ...(await as("ann", scope)) });
      const call = await peer.begin("tools/call", withTask({ name: "slow" }, { taskId: "t" }));
      return call.message();
    },
  ],
];

it.each(ways)(
  "keeps with a task which scopes the tools need that it may call: %s",
  async (generation, start) => {
    const store = memoryStore();
    const server = await protectedServer(
      { scopes: { required: ["mcp"], tools: { send: ["send"], erase: ["erase", "send"], unknown: ["x"] } } },
      {
        options: { store, plain: "ticket", plainDeadlineMs: 20 },
        tools: (tasks) => {
          for (const name of ["send", "erase", "free"]) tasks.tool(name, {}, () => text(name));
          tasks.tool("slow", {}, async (_, task) => (await task.sleep("long", 3_600_000), text("slow")));
        },
      },
    );
    await start(server);
    const [task] = await store.list({ generation }, null, 1, Date.now());
    const request = await store.request(task?.id ?? "none");
    expect(request?.origin.toolScopes).toEqual({
      send: ["send"],
      erase: ["erase", "send"],
      unknown: ["x"], // a tool that may still come
    });
    expect(request?.origin.caller?.scopes).toEqual(["mcp", "send"]);
  },
);

it("keeps nothing where no tool needs anything", async () => {
  const store = memoryStore();
  const server = await protectedServer({}, { options: { store } });
  await new StatelessClient(server.url).start("waits", {}, await server.as("ann", "mcp"));
  const [task] = await store.list({ generation: "2026-07-28" }, null, 1, Date.now());
  expect((await store.request(task?.id ?? "none"))?.origin).not.toHaveProperty("toolScopes");
});

it("holds calls of tools by tools to the scopes of the token that made the first task", async () => {
  const server = await protectedServer(
    { scopes: { required: ["mcp"], tools: { send: ["send"] } } },
    {
      tools: (tasks) => {
        const send = tasks.tool("send", {}, (_, { caller }) => text(`sent for ${caller.principal}`));
        tasks.tool("between", {}, (_, task) => task.call("send", send, {}));
        tasks.tool("root", {}, (_, task) => task.call("between", "between"));
      },
    },
  );
  const peer = new StatelessClient(server.url);
  const endFor = async (scopes: string): Promise<Record<string, unknown>> => {
    const ann = await server.as("ann", scopes);
    const taskId = await peer.start("root", {}, ann);
    for (;;) {
      const task = await peer.get(taskId, ann);
      if (task["status"] !== "working") return task;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const sent = await endFor("mcp send");
  expect(sent).toMatchObject({
    status: "completed",
    result: { content: [{ text: expect.stringMatching(/sent for .*ann/) as string }] },
  });
  expect(await endFor("mcp")).toMatchObject({
    status: "completed",
    result: {
      isError: true,
      content: [{ text: expect.stringContaining('"send", which needs the scopes send') as string }],
    },
  });
});
