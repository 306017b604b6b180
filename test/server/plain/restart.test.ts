import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp, type HttpOptions, type HttpServer } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { type Message, text } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { fourTools, ticketOf } from "./job.ts";

/** A server, and its restart on the same file. Its tool asks a question, which comes with the ticket. */
async function twoServers(http: HttpOptions): Promise<{
  readonly first: HttpServer;
  restart(): Promise<HttpServer>;
  readonly steps: number;
}> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-plain-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let steps = 0;
  const start = async (): Promise<HttpServer> => {
    const store = sqliteStore(join(folder, "tasks.db"));
    const tasks = createTasks({
      store,
      stopDeadlineMs: 50,
      plain: "ticket",
      plainDeadlineMs: 10_000,
      pollingTools: fourTools,
    });
    tasks.tool("report", {}, async (_args, task) => {
      const rows = await task.step("rows", () => ++steps);
      const answer = await task.elicit("send", {
        message: "Send?",
        requestedSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
      });
      return text(`${rows} ${String(answer.content?.["ok"])}`);
    });
    const server = await serveHttp(
      tasks.server(() => new McpServer({ name: "reports", version: "1" })),
      { port: 0, ...http },
    );
    onTestFinished(() => server.close());
    return server;
  };
  const first = await start();
  return {
    first,
    async restart() {
      await first.close();
      return start();
    },
    get steps() {
      return steps;
    },
  };
}

it("returns the result of a ticket after a restart of the server", async () => {
  const servers = await twoServers({ anonymous: "shared" });
  const without = { capabilities: {} };
  const { reference } = ticketOf(
    (await new StatelessClient(servers.first.url).call("report", {}, without)).result,
  );
  const peer = new StatelessClient((await servers.restart()).url);
  await peer.call("task_answer", { reference, answer: { ok: true } }, without);
  const { result } = await peer.call("task_result", { reference }, without);
  expect(result).toMatchObject(text("1 true"));
  expect(servers.steps).toBe(1);
});

it("continues the rounds of a call after a restart of the server", async () => {
  const servers = await twoServers({ anonymous: "shared" });
  const forms = { capabilities: { elicitation: {} } };
  const { result } = await new StatelessClient(servers.first.url).call("report", {}, forms);
  const peer = new StatelessClient((await servers.restart()).url);
  // The state that the first process sealed names the task.
  const params = { name: "report", arguments: {}, requestState: result?.["requestState"] };
  const inputResponses = { send: { action: "accept", content: { ok: true } } };
  expect(await peer.result("tools/call", { ...params, inputResponses }, forms)).toMatchObject(text("1 true"));
});

it("finds the task of a ticket when the session has ended with the server", async () => {
  const servers = await twoServers({});
  const call = async (peer: SessionClient, name: string, args = {}): Promise<Message> =>
    (await peer.call(name, args))["result"] as Message;
  const first = await SessionClient.open(servers.first.url, { capabilities: {} });
  const { text: said, reference } = ticketOf(await call(first, "report"));
  expect(said).toContain(reference);
  const second = await SessionClient.open((await servers.restart()).url, { capabilities: {} });
  await call(second, "task_answer", { reference, answer: { ok: false } });
  expect(await call(second, "task_result", { reference })).toEqual(text("1 false"));
});
