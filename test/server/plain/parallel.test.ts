import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tasks, ToolConfig } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { rest } from "../../../src/testing/clocks.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { serve, startServer } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { form } from "../prepare-caller.ts";
import { fourTools, ticketOf } from "./job.ts";

const without = { capabilities: {} };

/** The tool `job`: each run waits for `end` and returns the id of its task. */
class Runs {
  readonly ids: string[] = [];
  readonly #gate = Promise.withResolvers<void>();

  readonly add = (tasks: Tasks, config: Pick<ToolConfig, "joinCalls" | "annotations"> = {}): void => {
    tasks.tool("job", { onCrash: "resume", ...config }, async (_args, task) => {
      this.ids.push(task.id);
      await this.#gate.promise;
      return text(task.id);
    });
  };

  end(): void {
    this.#gate.resolve();
  }

  async begun(count: number): Promise<void> {
    while (this.ids.length < count) await new Promise(setImmediate);
  }
}

function idIn(result: unknown): string {
  return (result as { content: [{ text: string }] }).content[0].text;
}

it("runs the same call as often as it is made at the same time, over HTTP", async () => {
  const runs = new Runs();
  const { http } = await serve({ tools: runs.add, http: { anonymous: "shared" } });
  const peer = new StatelessClient(http.url);
  const calls = [peer.call("job", {}, without), peer.call("job", {}, without), peer.call("job", {}, without)];
  await runs.begun(3);
  runs.end();
  const ended = await Promise.all(calls);
  expect(new Set(ended.map(({ result }) => idIn(result)))).toEqual(new Set(runs.ids));
  expect(new Set(runs.ids).size).toBe(3);
});

it.each([
  { annotations: { idempotentHint: true } },
  { annotations: { readOnlyHint: true } },
  { joinCalls: true },
])("runs it once for a tool with %j", async (config) => {
  const runs = new Runs();
  const { server } = await startServer((tasks) => runs.add(tasks, config));
  const session = await InMemorySession.open(server);
  const calls = [session.call("job"), session.call("job")];
  await runs.begun(1);
  // Requests on one pipe are read in order: by then the second call has its task.
  await session.request("tools/list");
  await new Promise(setImmediate);
  runs.end();
  for (const call of calls) expect(idIn(await session.result(call))).toBe(runs.ids[0]);
  expect(runs.ids).toHaveLength(1);
});

it("joins the call whose connection broke, and not the one that its caller waits for", async () => {
  const runs = new Runs();
  const { server } = await startServer(runs.add);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { streams });
  const kept = session.call("job");
  await runs.begun(1);
  const lost = session.call("job");
  await runs.begun(2);
  streams.break(lost);
  const retry = session.call("job");
  const another = session.call("job");
  await runs.begun(3);
  runs.end();
  const ids: string[] = [];
  for (const call of [kept, lost, retry, another]) ids.push(idIn(await session.result(call)));
  const [first, second, third] = runs.ids;
  expect(ids).toEqual([first, second, second, third]);
});

it("joins the call whose connection broke while another principal waits for the same call", async () => {
  const runs = new Runs();
  const { server } = await startServer(runs.add);
  const streams = new FakeStreams();
  const bob = await InMemorySession.open(server, { principal: "bob", streams });
  const lost = bob.call("job");
  await runs.begun(1);
  streams.break(lost);
  const ann = await InMemorySession.open(server, { principal: "ann" });
  const others = ann.call("job");
  await runs.begun(2);
  const retry = bob.call("job");
  await bob.request("tools/list");
  await rest();
  runs.end();
  const [ofBob, ofAnn] = runs.ids;
  expect(idIn(await ann.result(others))).toBe(ofAnn);
  expect(idIn(await bob.result(retry))).toBe(ofBob);
  expect(runs.ids).toHaveLength(2);
});

it("joins each of several same calls once after a restart", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-parallel-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const start = async (runs: Runs): Promise<{ session: InMemorySession; stop: () => Promise<void> }> => {
    const { server } = await startServer(runs.add, {
      store: sqliteStore(join(folder, "tasks.db")),
      stopDeadlineMs: 1,
    });
    return { session: await InMemorySession.open(server), stop: () => server.stop() };
  };
  const before = new Runs();
  const first = await start(before);
  for (const name of ["job", "job"]) first.session.call(name);
  await before.begun(2);
  await first.stop();

  const after = new Runs();
  const { session } = await start(after);
  after.end();
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.push(idIn(await session.result(session.call("job"))));
  expect(new Set(ids.slice(0, 2))).toEqual(new Set(before.ids));
  expect(before.ids).not.toContain(ids[2]);
});

it("joins a call with a ticket, unless its caller waits in task_result", async () => {
  const runs = new Runs();
  const { server } = await startServer(
    (tasks) => {
      tasks.tool("asks", {}, async (_args, task) => {
        runs.ids.push(task.id);
        await task.elicit("sure", form("Sure?"));
        await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
        return text("stopped");
      });
    },
    { plain: "ticket", pollingTools: fourTools },
  );
  const session = await InMemorySession.open(server, { capabilities: {} });
  const call = async (name: string, args = {}): Promise<string> =>
    ticketOf(await session.result(session.call(name, args))).reference;
  const reference = await call("asks");
  expect(await call("asks")).toBe(reference); // its model lost the ticket
  await call("task_answer", { reference, answer: { name: "Ann" } });
  session.call("task_result", { reference });
  await rest();
  const other = await call("asks");
  expect([other === reference, runs.ids.length]).toEqual([false, 2]);
  for (const each of [reference, other]) await call("task_cancel", { reference: each });
});
