import { connect, type CompletedTask, type ConnectOptions, type LogLine } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { ClientEvents } from "../../src/client/client-events.ts";
import { systemClock } from "../../src/client/clock.ts";
import { readLines } from "../../src/client/task/task-requests.ts";
import { taskResourceOf } from "../../src/server/task-resources.ts";
import { runMain } from "../cli/run-main.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";

/** A server with a tool that logs, waits for `goOn`, and logs again. */
async function logging() {
  const goOn = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("work", {}, async (_args, task) => {
        void task.log("info", "begins", { rows: 2 });
        await task.output("half");
        await task.step("wait", async () => {
          await task.log("debug", "waiting");
          await goOn.promise;
        });
        await task.log("notice", "ends");
        await task.output({ type: "image", data: "AAAA", mimeType: "image/png" });
        return text("done");
      });
    },
    http: { anonymous: "shared" },
    options: { pollIntervalMs: 10 },
  });
  return { url: http.url, goOn: goOn.resolve };
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

it.each<[string, ConnectOptions]>([
  ["2026-07-28", {}],
  ["2025-11-25", { protocolVersion: "2025-11-25" }],
  ["SEP-1686", { protocolVersion: "2025-06-18" }],
])("follows the log and the output of a task on %s until it ends", async (_, options) => {
  const { url, goOn } = await logging();
  const client = await connect(url, options);
  onTestFinished(() => client.close());
  const handle = await client.startTool("work");
  const lines: LogLine[] = [];
  for await (const line of handle.logs()) {
    lines.push(line);
    if (line.text === "waiting") goOn();
  }
  expect(lines).toEqual([
    { seq: 1, at: expect.any(String) as string, level: "info", text: "begins", data: { rows: 2 } },
    { seq: 2, at: expect.any(String) as string, level: "debug", text: "waiting", step: "wait" },
    { seq: 3, at: expect.any(String) as string, level: "notice", text: "ends" },
  ]);
  expect((await handle.result()).content).toEqual([{ type: "text", text: "done" }]);
  const parts = await allOf(handle.output());
  expect(parts.map(({ content }) => content)).toEqual([
    { type: "text", text: "half" },
    { type: "image", data: "AAAA", mimeType: "image/png" },
  ]);
});

it("reads what there is of a log without waiting, and ends with its signal", async () => {
  const { url, goOn } = await logging();
  const client = await connect(url);
  onTestFinished(() => client.close());
  const handle = await client.startTool("work");
  const textsNow = async (): Promise<string[]> =>
    (await allOf(handle.logs({ follow: false }))).map((line) => line.text);
  await expect.poll(textsNow).toEqual(["begins", "waiting"]);
  const left = new AbortController();
  const reason = new Error("enough");
  const following = allOf(handle.logs({ signal: left.signal }));
  left.abort(reason);
  await expect(following).rejects.toBe(reason);
  goOn();
});

it("is printed by the command line", async () => {
  const { url, goOn } = await logging();
  const client = await connect(url);
  onTestFinished(() => client.close());
  const handle = await client.startTool("work");
  const id = handle.taskId ?? "";
  goOn();
  const log = await runMain(["logs", id, "-f", "--server", url]);
  expect(log).toMatchObject({ code: 0 });
  const lines = log.stdout.trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/^\S+ /, ""))).toEqual([
    'info      begins {"rows":2}',
    "debug     waiting",
    "notice    ends",
  ]);
  const output = await runMain(["logs", id, "--output", "--server", url]);
  expect(output.stdout).toBe("half\n[image image/png, 3 bytes]\n");
  const json = await runMain(["logs", id, "--json", "--server", url]);
  expect(JSON.parse(json.stdout.split("\n")[0] ?? "")).toMatchObject({
    seq: 1,
    level: "info",
    text: "begins",
  });
});

it("names a task whose requestor chose an id with other characters than those of a URI", async () => {
  const read: string[] = [];
  const services = servicesOf((uri) => (read.push(uri), ""));
  expect(await allOf(readLines("log", services, endedTask(false), new AbortController().signal))).toEqual([]);
  expect(read).toEqual(["task://a%2Fb%3Fc%20%23d/log?after=0"]);
  expect(taskResourceOf("resources/read", { uri: read[0] })).toMatchObject({ task: "a/b?c #d", list: "log" });
});

const ended: CompletedTask = {
  taskId: "a/b?c #d",
  status: "completed",
  createdAt: "2026-01-01T00:00:00Z",
  lastUpdatedAt: "2026-01-01T00:00:00Z",
  ttlMs: null,
  result: { content: [] },
};

/** Of a server that ends each task, and has this text at each address. */
function servicesOf(textAt: (uri: string) => string): Parameters<typeof readLines>[1] {
  return {
    protocol: { cancel: async () => ({ kind: "value", value: undefined }) },
    clock: systemClock,
    events: new ClientEvents(undefined, systemClock),
    background: { run: () => undefined },
    readPlainly: async (uri) => ({ kind: "value", value: { contents: [{ uri, text: textAt(uri) }] } }),
  };
}

function endedTask(follow: boolean): Parameters<typeof readLines>[2] {
  const errorOf = (): never => expect.fail("It is known.");
  const ask = async () => ({ kind: "value" as const, value: ended });
  return { watch: { taskId: ended.taskId, ask, errorOf }, follow, onTrouble: () => undefined };
}

const at = "2026-10-01T00:00:00.000Z";
const line = { seq: 1, at, level: "info", text: "begins" };

it.each<["log" | "output", readonly unknown[]]>([
  ["log", [{ ...line, level: 7 }]],
  ["log", [{ ...line, text: null }]],
  ["log", [{ ...line, at: 0 }]],
  ["log", [line, line]],
  ["log", [{ ...line, seq: 0 }]],
  ["log", [{ seq: 1, at, content: { type: "text", text: "half" } }]],
  ["output", [{ seq: 1, at, content: { type: "text" } }]],
  ["output", [line]],
])("refuses lines of a server that are none, in the %s: %j", async (list, lines) => {
  const services = servicesOf(() => lines.map((each) => `${JSON.stringify(each)}\n`).join(""));
  const read = allOf(readLines(list, services, endedTask(true), new AbortController().signal));
  await expect(read).rejects.toMatchObject({ code: "protocol" });
});
