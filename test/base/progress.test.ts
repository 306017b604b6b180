import type { Tasks } from "holdfast";
import { connect } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { type Message, text, withoutTasks } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { EventStream, SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { making, serveDurable } from "../server/durable-server.ts";

/** Reports more often than anybody could read. */
const many = 10_000;

function tools(tasks: Tasks): void {
  tasks.tool("count", { task: "forbidden" }, (_, task) => {
    for (let n = 1; n <= many; n++) task.progress(n, many, `page ${n}`);
    return text("counted");
  });
  tasks.tool("pages", {}, async (_, task) => {
    task.progress(0.25, 1.5);
    await task.step("half", async () => undefined);
    task.progress(1.5, 1.5, "the last page");
    return text("read");
  });
}

function served(): Promise<Served> {
  return serve({ tools, http: { anonymous: "shared" }, options: { pollIntervalMs: 50 } });
}

const progressOf = (messages: readonly Message[]): Message[] =>
  messages.filter(({ method }) => method === "notifications/progress").map(({ params }) => params as Message);

/** The messages on the stream of a call of 2026-07-28. */
async function streamOf(url: string, name: string, token: unknown): Promise<Message[]> {
  const read = Promise.withResolvers<Message[]>();
  const peer = new StatelessClient(url, async (address, init) => {
    const response = await fetch(address, init);
    new EventStream(response).rest().then(read.resolve, read.reject);
    return Response.json({});
  });
  await peer.call(name, {}, { capabilities: withoutTasks, meta: { progressToken: token } });
  return read.promise;
}

it.each(["2025-11-25", "2026-07-28"])(
  "is told often, but not as often as a handler reports it, in %s [B-130 B-131 B-132 B-138 B-139]",
  async (version) => {
    const { http } = await served();
    const call = { name: "count", arguments: {}, _meta: { progressToken: 7 } };
    const messages =
      version === "2026-07-28"
        ? await streamOf(http.url, "count", 7)
        : await (await (await SessionClient.open(http.url)).begin("tools/call", call)).rest();
    expect(messages.at(-1)).toMatchObject({ result: text("counted") });
    const told = progressOf(messages.slice(0, -1));
    expect(told.length).toBeGreaterThan(1);
    expect(told.length).toBeLessThan(many / 10);
    for (const each of told) {
      const { progress } = each;
      expect(each).toEqual({ progressToken: 7, progress, total: many, message: `page ${String(progress)}` });
    }
    const numbers = told.map(({ progress }) => Number(progress));
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
    expect(numbers.at(-1)).toBe(many);
  },
);

it("is asked for by a string or an integer, and a call with anything else is refused [B-127]", async () => {
  const { http } = await served();
  const peer = await SessionClient.open(http.url, { capabilities: { tasks: {} } });
  for (const progressToken of [1.5, true, null, {}, []]) {
    for (const more of [{}, { task: {} }]) {
      const refused = await peer.request("tools/call", {
        name: "pages",
        arguments: {},
        _meta: { progressToken },
        ...more,
      });
      expect([progressToken, refused["error"]]).toMatchObject([
        progressToken,
        { code: expect.any(Number) as unknown },
      ]);
    }
    const newer = await new StatelessClient(http.url).call("pages", {}, { meta: { progressToken } });
    expect([progressToken, newer.status, typeof newer.error?.code]).toEqual([progressToken, 400, "number"]);
  }
  expect(await peer.request("tasks/list")).toMatchObject({ result: { tasks: [] } });
  for (const progressToken of ["", "a b", 0, -3, Number.MAX_SAFE_INTEGER]) {
    const params = { name: "count", arguments: {}, _meta: { progressToken } };
    const told = progressOf(await (await peer.begin("tools/call", params)).rest());
    expect(new Set(told.map((each) => each["progressToken"]))).toEqual(new Set([progressToken]));
  }
});

it("may have fractions, and neither total nor message [B-133 B-136]", async () => {
  const heard = Promise.withResolvers<void>();
  const makeServer = making((server) => {
    server.registerTool("parts", { task: "optional" }, async ({ mcpReq, task }) => {
      const report = (params: object): Promise<void> =>
        mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken: mcpReq._meta?.progressToken ?? "none", progress: 0, ...params },
        });
      await report({ progress: 0.25 });
      await heard.promise;
      await report({ progress: 0.5, total: 0.75, message: "nearly" });
      await task.sleep("long", 3_600_000);
      return text("done");
    });
  });
  const { url } = await serveDurable(makeServer);
  const peer = await SessionClient.open(url, { capabilities: { tasks: {} } });
  const listening = await peer.listen();
  const _meta = { progressToken: "half" };
  await peer.request("tools/call", { name: "parts", arguments: {}, task: {}, _meta });
  const told: Message[] = [];
  while (told.length < 2) {
    const message = await listening.message();
    if (message?.["method"] !== "notifications/progress") continue;
    told.push(message["params"] as Message);
    heard.resolve();
  }
  expect(told).toMatchObject([
    { progressToken: "half", progress: 0.25 },
    { progressToken: "half", progress: 0.5, total: 0.75, message: "nearly" },
  ]);
  expect(told[0]).not.toHaveProperty("total");
  expect(told[0]).not.toHaveProperty("message");
});

it("has a token of its own for each call of our client, which hears of its call alone [B-127 B-128 B-129 B-137]", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let begun = 0;
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("gated", { task: "forbidden" }, async (_, task) => {
        const mine = begun++;
        task.progress(mine + 1);
        if (begun === 2) for (const { resolve } of gates) resolve();
        await gates[mine]?.promise;
        task.progress(mine + 11);
        return text("through");
      }),
  });
  const tokens: unknown[] = [];
  const client = await connect(http.url, {
    protocolVersion: "2025-11-25",
    fetch: (url, init) => {
      const body: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : {};
      const { params } = body as { params?: { _meta?: { progressToken?: unknown } } };
      if (params?._meta?.progressToken !== undefined) tokens.push(params._meta.progressToken);
      return fetch(url, init);
    },
  });
  onTestFinished(() => client.close());
  const heard: number[][] = [[], []];
  await Promise.all(
    heard.map((own) => client.callTool("gated", {}, { onProgress: ({ progress }) => own.push(progress) })),
  );
  expect(heard.toSorted(([a = 0], [b = 0]) => a - b)).toEqual([
    [1, 11],
    [2, 12],
  ]);
  expect(new Set(tokens).size).toBe(2);
  for (const token of tokens) expect(token).toBeTypeOf("string");
  await client.callTool("gated", {}, {});
  expect(tokens).toHaveLength(2);
});
