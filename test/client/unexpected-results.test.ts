import { connect } from "holdfast/client";
import { describe, expect, it, onTestFinished } from "vitest";
import type { TaskClient } from "../../src/client/task-client.ts";
import { request } from "../../src/cli/server/with-server.ts";
import { acknowledged, approval, asking, created, sampling, taskId } from "./answers.ts";
import { setUpCore, task } from "./2025-11-25/core-peer.ts";
import { setUpSep } from "./sep-1686/sep-peer.ts";
import { discovered, ScriptedServer } from "./scripted-server.ts";
import { FakeClock } from "./fake-clock.ts";
import { connectTo, setUp } from "./setup.ts";

const fresh = { ttlMs: 0, cacheScope: "private" };
const never = new AbortController().signal;

/** An answer of each method that would be right but for its resultType, and the request that gets it. */
const requests: Record<string, readonly [object, (client: TaskClient) => Promise<unknown>]> = {
  "resources/read": [{ ...fresh, contents: [] }, async (client) => client.readResource("test://report")],
  "prompts/get": [{ messages: [] }, async (client) => client.getPrompt("hello")],
  "tools/list": [
    { ...fresh, tools: [] },
    async ({ sdk }) => request(async (how) => sdk.listTools({}, how), never),
  ],
  "completion/complete": [
    { completion: { values: [] } },
    async ({ sdk }) => {
      const params = {
        ref: { type: "ref/prompt", name: "hello" },
        argument: { name: "a", value: "" },
      } as const;
      return request(async (how) => sdk.complete(params, how), never);
    },
  ],
  "server/discover": [discovered, async ({ sdk }) => request(async (how) => sdk.discover(how), never)],
};

describe.each([
  ["a task", { resultType: "task", taskId, status: "working" }],
  ["a kind of result that nobody knows", { resultType: "teleported" }],
])("%s where none can be", (_what, odd) => {
  it.each(Object.keys(requests))("is an invalid answer to %s [X-008 X-013 X-102 X-B-006]", async (method) => {
    const [right, ask] = requests[method] ?? [];
    const capabilities = { ...discovered.capabilities, resources: {}, prompts: {}, completions: {} };
    const { server, client } = await setUp({}, { ...discovered, capabilities });
    server.script(method, { result: { ...right, ...odd } }, { result: { resultType: "complete", ...right } });
    const message = `The server answered ${method} with resultType "${odd.resultType}"`;
    await expect(ask?.(client)).rejects.toMatchObject({ name: "TaskClientError", code: "protocol", message });
    await expect(ask?.(client)).resolves.not.toHaveProperty("resultType");
  });

  it("is an invalid answer to tasks/cancel and tasks/update [X-008 X-B-006]", async () => {
    const refused = Promise.withResolvers<void>();
    const { server, client } = await setUp({
      onInput: async () => ({ action: "decline" }),
      onEvent: ({ type }) => type === "answer_refused" && refused.resolve(),
    });
    server.script("tools/call", created());
    const handle = await client.startTool("publish_report");
    const message = `The server answered with resultType "${odd.resultType}"`;
    server.script("tasks/cancel", { result: odd }, acknowledged);
    await expect(handle.cancel()).rejects.toMatchObject({ code: "protocol", message });
    await handle.cancel();
    const open = asking({ approve: approval });
    server.script("tasks/get", open, async () => refused.promise.then(() => open), open);
    server.script("tasks/update", { result: odd });
    await expect(handle.result()).rejects.toMatchObject({ code: "protocol", message });
  });

  it("is no answer to the first request either [X-008 X-B-006]", async () => {
    const server = await ScriptedServer.start();
    onTestFinished(async () => server.stop());
    server.script("server/discover", { result: { ...discovered, ...odd } });
    const message = `Could not connect to ${server.url}: it answered server/discover with resultType "${odd.resultType}"`;
    await expect(connect(server.url)).rejects.toMatchObject({ code: "protocol", message });
  });
});

it("refuses a task of 2025-11-25 that is not an object, and keeps what a tool calls so beside its content", async () => {
  const { peer, client } = await setUpCore();
  const content = [{ type: "text", text: "sent" }];
  peer.script("tools/call", { result: { task: "t1" } }, { result: { task: "t1", content } });
  await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "protocol" });
  expect(await client.callTool("publish_report")).toEqual({ task: "t1", content });
  peer.script("resources/read", { result: { task: task("working") } });
  await expect(client.readResource("test://report")).rejects.toMatchObject({ code: "protocol" });
});

it("takes a task in the form of another revision for no result: its work has only begun", async () => {
  const { server, client } = await setUp({});
  server.script("tools/call", { result: { task: task("working") } });
  const refused = { code: "protocol", message: expect.stringContaining("another protocol revision") };
  await expect(client.callTool("publish_report")).rejects.toMatchObject(refused);
});

it.each([
  ["2025-11-25", setUpCore],
  ["SEP-1686", setUpSep],
])("refuses a resultType without content from a server of %s [X-008]", async (_generation, setUpPeer) => {
  const { peer, client } = await setUpPeer();
  const content = [{ type: "text", text: "sent" }];
  for (const resultType of ["task", "teleported"]) {
    peer.script("tools/call", { result: { resultType, taskId } }, { result: { resultType, content } });
    const message = `The server answered with resultType "${resultType}"`;
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "protocol", message });
    expect(await client.callTool("publish_report")).toEqual({ resultType, content });
  }
});

it("tells a question of a read that nobody answers from a server that is not there [A-23]", async () => {
  const resultType = "input_required";
  const capabilities = { elicitation: {}, sampling: {} };
  const onInput = async (): Promise<never> => Promise.reject(new Error("nobody is here"));
  const { server, client } = await setUp({ capabilities, onInput });
  const asked = { result: { resultType, inputRequests: { a: sampling } } };
  server.script("resources/read", asked, { result: { resultType, inputRequests: { a: approval } } }, asked);
  const unanswered = { code: "unanswered", message: expect.stringContaining("sampling/createMessage") };
  await expect(client.readResource("test://report")).rejects.toMatchObject(unanswered);
  await expect(client.readResource("test://report")).rejects.toMatchObject(unanswered);
  const [, , again] = server.of("resources/read");
  expect(again?.params["inputResponses"]).toEqual({ a: { action: "cancel" } });
  server.script("server/discover", { result: discovered });
  const other = await connectTo(server, new FakeClock());
  server.script("resources/read", asked);
  await expect(other.readResource("test://report")).rejects.toMatchObject(unanswered);
});
