import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { EverythingServer } from "../conformance/everything-server.ts";
import { RawClient, withTasks } from "../conformance/raw-client.ts";
import { relatedTask } from "../../src/generation/sep-1686.ts";
import { EventStream, SessionClient } from "../kit/session-client.ts";

async function started(...options: ConstructorParameters<typeof EverythingServer>) {
  const server = new EverythingServer(...options);
  onTestFinished(async () => void (await server.stop("SIGKILL")));
  return { server, url: await server.url };
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-everything-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

const textOf = (text: unknown): object => ({ content: [{ type: "text", text }] });

describe("the everything server", { timeout: 60_000 }, () => {
  let server: EverythingServer;
  let client: RawClient;
  beforeAll(async () => {
    server = new EverythingServer();
    client = new RawClient(await server.url);
  });
  afterAll(async () => {
    const { code, stderr } = await server.stop();
    expect(code).toBe(0);
    // The one handler that outlives its task is told of.
    const errors = stderr.split(/^(?=holdfast: )/m).filter((error) => error !== "");
    expect(errors.filter((error) => !error.includes('Tool "ignores_cancel" has 1 handler'))).toEqual([]);
  });

  it("serves tasks of SEP-1686 too, resources and prompts among them [S-010]", async () => {
    const peer = await SessionClient.open(await server.url, { version: "2025-06-18" });
    const id = (name: string): string => `${name}-${peer.sessionId ?? ""}`;
    const asks = (taskId: string): object => ({ "modelcontextprotocol.io/task": { taskId } });
    const about = (taskId: string): object => ({ taskId, _meta: relatedTask(taskId) });
    const add = { name: "add", arguments: { a: 1, b: 2 }, _meta: asks(id("add")) };
    expect(await peer.request("tools/call", add)).toMatchObject({ result: textOf("3") });
    expect(await peer.request("tasks/get", about(id("add")))).toMatchObject({
      result: { status: "completed", keepAlive: 3_600_000, pollFrequency: 200 },
    });
    const greet = { name: "greet", arguments: { name: "Ann" }, _meta: asks(id("greet")) };
    expect(await peer.request("tools/call", greet)).toMatchObject({ result: textOf("Hello, Ann!") });
    expect(await peer.request("tasks/get", about(id("greet")))).toMatchObject({ error: { code: -32602 } });
    for (const [method, params] of [
      ["resources/read", { uri: "test://static-text" }],
      ["prompts/get", { name: "test_simple_prompt" }],
    ] as const) {
      const answer = await peer.request(method, { ...params, _meta: asks(id(method)) });
      expect(await peer.request("tasks/result", about(id(method)))).toMatchObject({
        result: answer["result"],
      });
    }
    const endless = { name: "never_ends", _meta: asks(id("endless")) };
    const stream = new EventStream(await peer.post({ id: "i", method: "tools/call", params: endless }));
    expect(await stream.message()).toMatchObject({ method: "notifications/tasks/created" });
    const cancelled = { requestId: "i", _meta: relatedTask(id("endless")) };
    await peer.post({ method: "notifications/cancelled", params: cancelled });
    const isCancelled = async (): Promise<void> => {
      const task = await peer.request("tasks/get", about(id("endless")));
      expect(task).toMatchObject({ result: { status: "cancelled" } });
    };
    await vi.waitFor(isCancelled, { timeout: 20_000 });
  });

  it("marks every task tool but one as idempotent, and describes all", async () => {
    const { result } = await client.request("tools/list");
    const tools = result?.["tools"] as { name: string; description?: string; annotations?: object }[];
    expect(tools.filter(({ description }) => description === undefined)).toEqual([]);
    expect(JSON.stringify(tools)).not.toContain("taskSupport");
    const marked = tools.filter(({ annotations }) => annotations !== undefined);
    expect(marked.map(({ annotations }) => annotations)).toEqual(
      marked.map(() => ({ idempotentHint: true })),
    );
    expect(marked.map(({ name }) => name).toSorted()).toEqual([
      "add",
      "append_lines",
      "ask_model",
      "big_result",
      "confirm_delete",
      "failing_job",
      "greet",
      "ignores_cancel",
      "multi_input",
      "never_ends",
      "progress_to",
      "protocol_error_job",
      "slow_compute",
      "test_tool_with_task",
    ]);
    expect(tools.map(({ name }) => name)).toContain("not_idempotent");
  });

  it("lists required tools to those who declare the extension", async () => {
    const lists = [client, new RawClient(await server.url, {})].map(async (each) => {
      const { result = {} } = await each.request("tools/list");
      const names = (result["tools"] as { name: string }[]).map(({ name }) => name);
      const required = ["failing_job", "test_tool_with_task"].filter((name) => names.includes(name));
      return [required, names.includes("add"), result["cacheScope"]];
    });
    expect(await Promise.all(lists)).toEqual([
      [["failing_job", "test_tool_with_task"], true, "private"],
      [[], true, "private"],
    ]);
  });

  it("never makes a task of greet", async () => {
    const { result } = await client.call("greet", { name: "Ada" });
    expect(result).toMatchObject({ resultType: "complete", ...textOf("Hello, Ada!") });
  });

  it.each([
    ["add", { a: 2, b: 3 }, "5"],
    ["slow_compute", { seconds: 0, label: "nothing" }, "nothing: computed for 0 s"],
    ["progress_to", { total: 2, delayMs: 0 }, "counted to 2"],
    ["ignores_cancel", { ms: 1 }, "worked for 1 ms"],
  ])("answers %s with a task, and directly who has none", async (name, args, text) => {
    const task = await client.until(await client.start(name, args));
    expect(task).toMatchObject({
      status: "completed",
      result: textOf(text),
      pollIntervalMs: 200,
      ttlMs: 3_600_000,
    });
    const plain = new RawClient(await server.url, {});
    expect((await plain.call(name, args)).result).toMatchObject(textOf(text));
  });

  it("shows progress in the status message", async () => {
    const id = await client.start("progress_to", { total: 3, delayMs: 300 });
    await vi.waitUntil(
      async () => String((await client.get(id))["statusMessage"]).includes("counted 2"),
      10_000,
    );
    await client.cancel(id);
  });

  it("completes failing_job with an error result, and fails protocol_error_job", async () => {
    const failing = await client.until(await client.start("failing_job"));
    expect(failing).toMatchObject({ status: "completed", result: { isError: true } });
    const error = { code: 4001, message: "deliberate failure", data: { fixture: true } };
    expect(await client.until(await client.start("protocol_error_job"))).toMatchObject({
      status: "failed",
      error,
    });
    expect((await new RawClient(await server.url, {}).call("protocol_error_job")).error).toMatchObject(error);
  });

  it.each([
    [{ action: "accept", content: { confirm: true } }, "Would delete a.txt."],
    [{ action: "accept", content: { confirm: false } }, "Kept a.txt."],
    [{ action: "decline" }, "Kept a.txt: the question was answered with decline."],
  ])("asks before it would delete: %j", async (confirm, text) => {
    const id = await client.start("confirm_delete", { filename: "a.txt" });
    const { inputRequests } = await client.until(id, ["input_required"]);
    await client.update(id, { [Object.keys(inputRequests as object)[0] ?? ""]: confirm });
    expect(await client.until(id)).toMatchObject({ status: "completed", result: textOf(text) });
  });

  it.each(["together", "last one first"])("takes the answers of multi_input %s", async (how) => {
    const id = await client.start("multi_input");
    const asked = async () => Object.keys((await client.get(id))["inputRequests"] ?? {});
    await vi.waitUntil(async () => (await asked()).length === 2, 10_000);
    const [first = "", second = ""] = await asked();
    const name = { action: "accept", content: { name: "Ada" } };
    const confirm = { action: "accept", content: { confirm: true } };
    if (how === "together") await client.update(id, { [first]: name, [second]: confirm });
    else {
      await client.update(id, { [second]: confirm });
      expect(await asked()).toEqual([first]);
      await client.update(id, { [first]: name });
    }
    expect(await client.until(id)).toMatchObject({ result: textOf("name: Ada, confirm: true") });
  });

  it("asks the model", async () => {
    const id = await client.start("ask_model", { prompt: "Why?" });
    const { inputRequests } = await client.until(id, ["input_required"]);
    const [key = ""] = Object.keys(inputRequests as object);
    expect(inputRequests).toMatchObject({
      [key]: {
        method: "sampling/createMessage",
        params: { messages: [{ content: { type: "text", text: "Why?" } }] },
      },
    });
    const content = { type: "text", text: "Because." };
    await client.update(id, { [key]: { role: "assistant", model: "none", content } });
    expect(await client.until(id)).toMatchObject({ result: textOf("Because.") });
  });

  it("asks on the call of test_tool_with_task, and then makes it a task", async () => {
    const { result } = await client.call("test_tool_with_task");
    expect(result).toMatchObject({
      resultType: "input_required",
      inputRequests: { user_name: { method: "elicitation/create" } },
    });
    const { requestState } = result ?? {};
    const inputResponses = { user_name: { action: "accept", content: { name: "Ada" } } };
    const id = await client.start("test_tool_with_task", {}, { inputResponses, requestState });
    expect(await client.until(id)).toMatchObject({ status: "completed", result: textOf("Hello, Ada!") });
    const declined = { inputResponses: { user_name: { action: "decline" } }, requestState };
    expect((await client.call("test_tool_with_task", {}, declined)).result).toMatchObject({ isError: true });
  });

  it.each([
    ["confirm_delete", { filename: "a.txt" }, "elicitation"],
    ["multi_input", {}, "elicitation"],
    ["ask_model", { prompt: "Why?" }, "sampling"],
    ["test_tool_with_task", {}, "extensions"],
    ["failing_job", {}, "extensions"],
  ])("refuses %s without what it needs", async (name, args, capability) => {
    const { [capability as keyof typeof withTasks]: _, ...capabilities } = withTasks;
    const { error, httpStatus } = await new RawClient(await server.url, capabilities).call(name, args);
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { [capability]: {} } } });
    expect(httpStatus).toBe(400);
  });

  it("writes a line in each step", async () => {
    const path = join(await folder(), "lines");
    const task = await client.until(await client.start("append_lines", { path, count: 3, delayMs: 0 }));
    expect(task).toMatchObject({ result: textOf("done 3") });
    expect(await readFile(path, "utf8")).toMatch(/^1 (\d+)\n2 \1\n3 \1\n$/);
  });

  it("stops never_ends at once, and takes what ignores_cancel returns within the grace", async () => {
    const never = await client.start("never_ends");
    await client.cancel(never);
    expect(await client.until(never)).toMatchObject({ status: "cancelled" });
    const ignoring = await client.start("ignores_cancel", { ms: 200 });
    await client.cancel(ignoring);
    expect(await client.until(ignoring)).toMatchObject({ status: "completed" });
  });

  it("cancels ignores_cancel when its grace is over", async () => {
    const id = await client.start("ignores_cancel", { ms: 8_000 });
    const before = performance.now();
    await client.cancel(id);
    expect(await client.until(id)).toMatchObject({ status: "cancelled" });
    expect(performance.now() - before).toBeGreaterThan(4_500);
  });

  it("returns six mebibytes", async () => {
    const bytes = 6 * 1024 * 1024;
    const { result } = await client.until(await client.start("big_result", { bytes }));
    expect(JSON.stringify(result).length).toBeGreaterThan(bytes);
  });
});

describe("the everything server of 2025-11-25 and before", { timeout: 60_000 }, () => {
  let server: EverythingServer;
  beforeAll(() => {
    server = new EverythingServer();
  });
  afterAll(async () => {
    expect(await server.stop()).toMatchObject({ code: 0, stderr: "" });
  });

  it("has what only those revisions have, and nothing that only later ones have", async () => {
    const peer = await SessionClient.open(await server.url);
    const { result } = await peer.request("tools/list");
    const tools = result as { tools: { name: string; description?: string }[] };
    const names = tools.tools.map(({ name }) => name);
    const earlier = ["test_tool_with_logging", "test_sampling", "test_elicitation", "test_reconnection"];
    expect(names).toEqual(expect.arrayContaining(earlier));
    expect(names.filter((name) => /input_required|missing_capability|trigger|header/.test(name))).toEqual([]);
    expect(tools.tools.filter(({ description }) => description === undefined)).toEqual([]);
    const newest = await new RawClient(await server.url).request("tools/list");
    for (const name of earlier) expect(JSON.stringify(newest.result)).not.toContain(`"${name}"`);
  });

  it("tells who watches test://watched-resource that it changed", async () => {
    const peer = await SessionClient.open(await server.url);
    const stream = await peer.listen();
    const uri = "test://watched-resource";
    expect(await peer.request("resources/subscribe", { uri })).toMatchObject({ result: {} });
    expect(await stream.message()).toMatchObject({
      method: "notifications/resources/updated",
      params: { uri },
    });
    expect(await peer.request("resources/unsubscribe", { uri })).toMatchObject({ result: {} });
    await peer.request("resources/subscribe", { uri: "test://static-text" });
    await peer.request("resources/subscribe", { uri });
    expect(await stream.message()).toMatchObject({ params: { uri } });
    expect(await peer.request("resources/read", { uri })).toMatchObject({
      result: { contents: [{ text: "Subscribed 3 times." }] },
    });
  });

  it("closes the stream of test_reconnection, and answers to who comes back", async () => {
    const peer = await SessionClient.open(await server.url);
    const call = await peer.begin("tools/call", { name: "test_reconnection", arguments: {} });
    const opened = await call.any();
    expect(await call.any()).toBeUndefined();
    const resumed = await peer.listen(opened?.id);
    expect(await resumed.rest()).toMatchObject([{ result: textOf("Reconnection test completed.") }]);
  });

  it.each([
    ["test_elicitation", { message: "Who?" }, { username: "ada", email: "a@b.c" }],
    ["test_elicitation_sep1034_defaults", {}, { name: "Ada" }],
    ["test_elicitation_sep1330_enums", {}, { titledMulti: ["value1", "value3"] }],
  ])("asks in %s on the stream of the call", async (name, args, content) => {
    const peer = await SessionClient.open(await server.url);
    const call = await peer.begin("tools/call", { name, arguments: args });
    const question = await call.message();
    expect(question).toMatchObject({ method: "elicitation/create", params: { requestedSchema: {} } });
    await peer.post({ id: question?.["id"], result: { action: "accept", content } });
    expect(await call.message()).toMatchObject({
      result: textOf(`User response: action=accept, content=${JSON.stringify(content)}`),
    });
  });

  it.each(["2024-11-05", "2025-03-26", "2025-06-18"])("serves the plain tools in %s", async (version) => {
    const peer = await SessionClient.open(await server.url, { version });
    expect(await peer.call("test_simple_text")).toMatchObject({
      result: textOf("This is a simple text response for testing."),
    });
    expect(await peer.call("greet", { name: "Ada" })).toMatchObject({ result: textOf("Hello, Ada!") });
  });
});

describe("a run of the everything server", { timeout: 60_000 }, () => {
  it("prints its URL alone, says that it serves, and stops in time whatever is going on", async () => {
    const { server, url } = await started();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    expect((await fetch(new URL("/healthz", url))).status).toBe(200);
    expect((await fetch(new URL("/readyz", url))).status).toBe(200);
    const client = new RawClient(url);
    await client.start("ignores_cancel", { ms: 60_000 });
    await client.start("never_ends");
    const listening = await client.send("subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    const heard = listening.text();
    const stream = await (await SessionClient.open(url)).listen();
    await client.call("test_trigger_tool_change");
    const before = performance.now();
    expect(await server.stop()).toEqual({ code: 0, stdout: `${url}\n`, stderr: "" });
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(await heard).toMatch(/acknowledged[^]*tools\/list_changed[^]*"result"/);
    expect(await stream.rest()).toEqual([]); // a session ends with its streams, in order
  });

  it("goes on after a crash where it was, and does not repeat what it could not", async () => {
    const path = await folder();
    const env = { HOLDFAST_STORE: `sqlite:${join(path, "tasks.db")}` };
    const [lines, single] = [join(path, "lines"), join(path, "once")];
    const first = await started({ env });
    const before = new RawClient(first.url);
    const going = await before.start("append_lines", { path: lines, count: 20, delayMs: 100 });
    const unsafe = await before.start("not_idempotent", { path: single, delayMs: 60_000 });
    await vi.waitUntil(async () => /^2 /m.test(await readFile(lines, "utf8").catch(() => "")), 10_000);
    await vi.waitUntil(async () => (await readFile(single, "utf8").catch(() => "")) !== "", 10_000);
    await first.server.stop("SIGKILL");
    const after = new RawClient((await started({ env })).url);
    expect(await after.until(going)).toMatchObject({ status: "completed", result: textOf("done 20") });
    const written = (await readFile(lines, "utf8")).trim().split("\n");
    const numbers = written.map((line) => Number.parseInt(line, 10));
    expect([...new Set(numbers)]).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    // The step that was under way may have run twice; those that had ended did not.
    expect(numbers.length).toBeLessThanOrEqual(21);
    expect(new Set(written.map((line) => line.split(" ")[1])).size).toBe(2);
    expect(await after.until(unsafe)).toMatchObject({ status: "failed" });
    expect((await readFile(single, "utf8")).split("\n")).toHaveLength(2);
  });

  it("tells callers apart by their tokens", async () => {
    const { url } = await started({ env: { EVERYTHING_TOKENS: "a1==alice,b2=bob,b3=bob" } });
    for (const headers of [{}, { authorization: "Bearer other" }, { authorization: "Basic a1=" }]) {
      const refused = await new RawClient(url, withTasks, headers).send("server/discover");
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
    expect((await fetch(new URL("/healthz", url))).status).toBe(200);
    const caller = (token: string) => new RawClient(url, withTasks, { authorization: `Bearer ${token}` });
    const id = await caller("b2").start("add", { a: 1, b: 2 });
    expect(await caller("b3").until(id)).toMatchObject({ status: "completed" });
    const foreign = await caller("a1=").request("tasks/get", { taskId: id }, id);
    const unknown = await caller("a1=").request("tasks/get", { taskId: "none" }, "none");
    expect(foreign.error).toEqual(unknown.error);
    expect(foreign.error).toMatchObject({ code: -32602 });
  });

  it("speaks MCP alone on stdio, and ends with its input", async () => {
    const server = new EverythingServer({ args: ["--stdio"] });
    onTestFinished(async () => void (await server.stop("SIGKILL")));
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { name: "greet", arguments: { name: "Ada" }, _meta };
    server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`);
    expect(JSON.parse(await server.firstLine)).toMatchObject({ id: 1, result: textOf("Hello, Ada!") });
    server.stdin.end();
    expect(await server.ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("says in one line why it cannot start, and no secret", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    onTestFinished(() => void holder.close());
    const address = holder.address();
    const PORT = String(typeof address === "object" ? address?.port : undefined);
    const cases: [env: Record<string, string>, message: RegExp][] = [
      [{ PORT }, new RegExp(`^Port ${PORT} on 127\\.0\\.0\\.1 is in use by another program\\..*\\n$`)],
      [{ PORT: "http" }, /^PORT is "http"\..*\n$/],
      [{ HOLDFAST_STORE: "redis://me:secret@host" }, /^"redis:\/\/…@host" is not the URL of a store\..*\n$/],
      [{ HOLDFAST_STORE: "sqlite:" }, /^"sqlite:" is not the URL of a store\..*\n$/],
      [{ EVERYTHING_TOKENS: "" }, /^EVERYTHING_TOKENS: entry 1 is not token=principal\..*\n$/],
      [{ EVERYTHING_TOKENS: "t=a,secret" }, /^EVERYTHING_TOKENS: entry 2 is not (?!.*secret).*\n$/],
      [{ EVERYTHING_TOKENS: "secret=a,secret=b" }, /^EVERYTHING_TOKENS: entry 2 repeats (?!.*secret).*\n$/],
    ];
    for (const [env, message] of cases) {
      const { code, stdout, stderr } = await new EverythingServer({ env }).ended;
      expect(stderr).toMatch(message);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    }
  });
});
