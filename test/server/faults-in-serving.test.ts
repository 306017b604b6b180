import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { FaultsInServing } from "../../src/server/http/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { listenTo } from "../kit/subscription.ts";

function setup(factory: () => McpServer) {
  const errors: unknown[] = [];
  const tasks = createTasks({ store: memoryStore(), onError: (error) => errors.push(error) });
  const handler = createFetchHandler(tasks.server(factory), { allowedHosts: "any" });
  onTestFinished(() => handler.close());
  const send = (url: string, init: RequestInit): Promise<Response> => handler.fetch(new Request(url, init));
  return { errors, send, peer: new StatelessClient("http://reports.example/mcp", send) };
}

it("reports why a request was answered with an internal error", async () => {
  const { errors, peer } = setup(() => {
    const made = new McpServer({ name: "reports", version: "1" });
    const connect = (): Promise<never> => Promise.reject(new Error("This server cannot serve."));
    made.connect = connect;
    made.server.connect = connect;
    return made;
  });
  expect(await peer.send("server/discover")).toMatchObject({ status: 500, error: { code: -32_603 } });
  expect(errors).toHaveLength(1);
});

it("reports once what an author's factory throws", async () => {
  const failure = new Error("No more servers.");
  const { errors, peer } = setup(() => {
    throw failure;
  });
  expect(await peer.send("server/discover")).toMatchObject({ status: 500 });
  expect(errors).toEqual([failure]);
});

it("reports nothing that a client is told", async () => {
  const { errors, peer, send } = setup(() => new McpServer({ name: "reports", version: "1" }));
  expect((await peer.send("server/discover", {}, { headers: { "Mcp-Method": "tools/list" } })).status).toBe(
    400,
  );
  expect((await peer.send("no/such/method")).error).toBeDefined();
  expect((await listenTo("http://reports.example/mcp", "nothing", { fetch: send })).status).not.toBe(500);
  expect(errors).toEqual([]);
});

it("reports what fails outside of requests, and after their answers", async () => {
  const errors: unknown[] = [];
  const faults = new FaultsInServing((error) => errors.push(error));
  const [outside, late, told] = [new Error("outside"), new Error("late"), new Error("told")];
  faults.onSdkError(outside);
  const gate = Promise.withResolvers<void>();
  let after: Promise<void> | undefined;
  await faults.during(async () => {
    faults.onSdkError(told);
    after = gate.promise.then(() => faults.onSdkError(late));
    return new Response(null, { status: 400 });
  });
  gate.resolve();
  await after;
  expect(errors).toEqual([outside, late]);
});
