import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { createTasks, serveTransport, type TasksOptions, type TransportOptions } from "holdfast";
import { connect } from "holdfast/client";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../../kit/messages.ts";

function makeServer(options: Partial<TasksOptions> = {}) {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100, ...options });
  tasks.tool("whose", {}, (_args, task) => text(task.caller.principal ?? "nobody's"));
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
  onTestFinished(() => server.stop());
  return { tasks, server };
}

it("serves a client over a transport of memory, in tasks and without [B-040]", async () => {
  const { server } = makeServer();
  const [near, far] = InMemoryTransport.createLinkedPair();
  const connection = await serveTransport(server, far, { identity: "ann" });
  const client = await connect(near);
  const handle = await client.startTool("whose");
  expect(handle.reference).toMatchObject({ generation: "2025-11-25" });
  expect(await handle.result()).toMatchObject(text("ann"));
  const closed = new Promise<void>((resolve) => {
    near.onclose = resolve;
  });
  await connection.close();
  await closed;

  const [plainNear, plainFar] = InMemoryTransport.createLinkedPair();
  await serveTransport(server, plainFar);
  const plain = new Client({ name: "plain", version: "1" });
  await plain.connect(plainNear);
  expect(await plain.callTool({ name: "whose" })).toMatchObject(text("nobody's"));
  await plain.close();
});

const authInfo = { token: "t", clientId: "app", scopes: [] };

it.each<[string, TransportOptions, RegExp]>([
  ["both ways to say who calls", { authInfo, identity: "ann" }, /authInfo or identity/],
  ["a token without a subject", { authInfo }, /no subject/],
  ["a principal without a name", { identity: "" }, /without a principal/],
  ["a principal that no task can have", { identity: "é".repeat(501) }, /principal of 1002 bytes.*a hash/],
  ["no open requests", { maxOpenRequests: 0 }, /maxOpenRequests must be a whole number of at least 1/],
  ["an unknown option", { principle: "ann" } as TransportOptions, /no option "principle"/],
])("refuses %s", async (_, options, message) => {
  const [, far] = InMemoryTransport.createLinkedPair();
  const refused = serveTransport(makeServer().server, far, options);
  await expect(refused).rejects.toMatchObject({ code: "configuration" });
  await expect(refused).rejects.toThrow(message);
});
