import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTasks, type Tasks } from "holdfast";
import type { Authenticate } from "holdfast/http";
import { postgresStore } from "holdfast/postgres";
import { sqliteStore } from "holdfast/sqlite";
import type { TaskStore } from "holdfast/store";
import { expect, it, onTestFinished } from "vitest";
import { FreshSchema } from "../postgres/test-database.ts";
import { type Message, text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { type EventStream, SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { Subscription } from "../kit/subscription.ts";

/** For a busy machine, and the waits of a worker that listens. */
const timeout = 60_000;

const authenticate: Authenticate = async () => "ann";

const stores = {
  async SQLite(): Promise<() => TaskStore> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-lines-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return () => sqliteStore(join(folder, "tasks.db"));
  },
  async Postgres(): Promise<() => TaskStore> {
    const fresh = await FreshSchema.inSharedDatabase();
    onTestFinished(() => fresh.drop());
    return () => postgresStore(fresh.url, { schema: fresh.schema });
  },
};

/** A tool that goes on each time when it is told to: it logs, puts out, and ends. */
function reporting() {
  const [logs, output, end] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const tools = (tasks: Tasks): void => {
    tasks.tool("report", {}, async (_, task) => {
      await logs?.promise;
      await task.log("notice", "half", { rows: 2 });
      await output?.promise;
      await task.output("page 1");
      await end?.promise;
      await task.log("debug", "ends");
      return text("done");
    });
  };
  return { tools, log: () => logs?.resolve(), output: () => output?.resolve(), end: () => end?.resolve() };
}

async function next(stream: EventStream, method: string): Promise<Message> {
  for (;;) {
    const message = await stream.message();
    if (message === undefined) throw new Error(`The stream ended without ${method}.`);
    if (message["method"] === method) return message["params"] as Message;
  }
}

it.each(["SQLite", "Postgres"] as const)(
  "followers on a node that runs no handlers hear of lines that another one appends, on %s",
  { timeout },
  async (kind) => {
    const store = await stores[kind]();
    const { tools, log, output, end } = reporting();
    const working = createTasks({ store: store(), roles: ["work"], stopDeadlineMs: 100 });
    tools(working);
    await working.start();
    onTestFinished(() => working.stop());
    const { http, errors } = await serve({
      tools,
      server: ({ server }) => server.registerCapabilities({ logging: {} }),
      http: { authenticate },
      options: { store: store(), roles: ["serve"], pollIntervalMs: 3_600_000 },
    });

    const session = await SessionClient.open(http.url);
    const stream = await session.listen();
    await session.request("logging/setLevel", { level: "info" });
    const _meta = { progressToken: "p" };
    const created = await session.request("tools/call", { name: "report", arguments: {}, task: {}, _meta });
    const { taskId } = (created["result"] as { task: { taskId: string } }).task;
    const uris = [`task://${taskId}/log`, `task://${taskId}/output`];
    for (const uri of uris) await session.request("resources/subscribe", { uri });
    log();
    const updated = "notifications/resources/updated";
    const heard = [await stream.message(), await stream.message(), await stream.message()];
    expect(heard).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ method: updated, params: { uri: uris[0] } }),
        expect.objectContaining({
          method: "notifications/message",
          params: {
            level: "notice",
            logger: "report",
            data: { text: "half", data: { rows: 2 } },
            _meta: expect.anything() as unknown,
          },
        }),
        expect.objectContaining({
          method: "notifications/progress",
          params: expect.objectContaining({
            progressToken: "p",
            progress: 0.001,
            message: "half",
          }) as unknown,
        }),
      ]),
    );
    output();
    expect(await next(stream, updated)).toEqual({ uri: uris[1] });

    const peer = new StatelessClient(http.url);
    const own = await peer.start("report"); // which has nothing to wait for
    const listener = await Subscription.to(http.url, { resourceSubscriptions: [`task://${own}/log`] });
    await listener.next();
    end();
    for (let last = ""; !last.includes("completed");) {
      expect(await listener.next()).toMatchObject({ method: updated, params: { uri: `task://${own}/log` } });
      last = JSON.stringify(await peer.send("tasks/get", { taskId: own }));
    }
    expect(errors).toEqual([]);
  },
);
