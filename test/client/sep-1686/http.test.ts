import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../../src/generation/message.ts";
import {
  error,
  json,
  noSession,
  SessionServer,
  SessionStream,
  type Seen,
} from "../2025-11-25/session-server.ts";
import { FakeClock } from "../fake-clock.ts";
import { askedFor, relatedKey, sent } from "./sep-peer.ts";

const generation = "sep-1686";
const declared = { tools: {}, tasks: { tools: { call: true } } };
/** The pause after a first failure, with no jitter. */
const firstRetryMs = 125;
const unknown = error({ code: -32602, message: "Unknown task" });

function paramsOf(message: Pick<Seen, "body"> | undefined): JsonObject {
  const params = message?.body["params"];
  return isJsonObject(params) ? params : {};
}

/** The answer to a `tasks/get`. */
function shows(status: string) {
  return (response: ServerResponse, message: Seen): void => {
    const { taskId } = paramsOf(message);
    json({ taskId, status, keepAlive: null, pollFrequency: 2000 })(response, message);
  };
}

function breaks(response: ServerResponse): void {
  response.destroy();
}

it("probes for the task with growing pauses if no message can announce it [S-018]", async () => {
  const server = await SessionServer.start();
  const clock = new FakeClock();
  const client = await server.connect({ generation }, clock);
  clock.hold();
  let answer = (): void => undefined;
  server.script("tools/call", (response, message) => (answer = () => json(sent)(response, message)));
  server.script("tasks/get", unknown, unknown, shows("working"));
  const starting = client.startTool("publish_report");
  await server.sees("tools/call");
  for (const ms of [1000, 2000, 4000]) (await clock.nap(ms)).wake();
  const handle = await starting;
  expect(handle.taskId).toBe(askedFor(paramsOf(server.of("tools/call")[0])).taskId);
  server.script("tasks/get", shows("working"));
  const result = handle.result();
  await clock.nap(2000);
  answer();
  expect(await result).toEqual(sent);
  expect(server.of("tasks/get")).toHaveLength(4);
});

it("stops probing if the server has no tasks, and waits for the answer [S-018 S-019]", async () => {
  const server = await SessionServer.start();
  const clock = new FakeClock();
  const client = await server.connect({ generation }, clock);
  clock.hold();
  let answer = (): void => undefined;
  server.script("tools/call", (response, message) => (answer = () => json(sent)(response, message)));
  server.script("tasks/get", error({ code: -32601, message: "Method not found" }));
  const calling = client.callTool("publish_report");
  (await clock.nap(1000)).wake();
  await server.sees("tasks/get");
  answer();
  expect(await calling).toEqual(sent);
  expect(server.of("tasks/get")).toHaveLength(1);
});

it("does not probe on a stream, where the server announces the task [S-017]", async () => {
  const server = await SessionServer.start();
  const clock = new FakeClock();
  const client = await server.connect({ generation }, clock);
  clock.hold();
  const stream = new SessionStream();
  server.script("tools/call", stream.begin);
  const reported = Promise.withResolvers<unknown>();
  const starting = client.startTool("publish_report", {}, { onProgress: reported.resolve });
  const nap = await clock.nap(1000);
  await server.sees("tools/call");
  const params = paramsOf(server.of("tools/call")[0]);
  const { progressToken } = params["_meta"] as JsonObject;
  await stream.send({ method: "notifications/progress", params: { progressToken, progress: 1 } });
  await reported.promise;
  nap.wake();
  const { taskId } = askedFor(params);
  await client.sdk.ping();
  expect(server.of("tasks/get")).toEqual([]);
  const _meta = { [relatedKey]: { taskId } };
  await stream.send({ method: "notifications/tasks/created", params: { _meta } });
  expect((await starting).taskId).toBe(taskId);
});

it("sends a call again whose answer was lost, and takes its id for its task where it is in use [S-023 A-19]", async () => {
  const server = await SessionServer.start();
  server.capabilities = declared;
  const clock = new FakeClock();
  const client = await server.connect({ generation }, clock);
  clock.hold();
  server.script("tools/call", breaks, error({ code: -32602, message: "Task id is already in use" }));
  server.script("tasks/get", unknown, shows("working"));
  const starting = client.startTool("publish_report");
  (await clock.nap(firstRetryMs)).wake();
  const handle = await starting;
  const [first, second] = server.of("tools/call").map(paramsOf);
  expect(askedFor(second)).toEqual(askedFor(first));
  expect(handle.taskId).toBe(askedFor(first).taskId);
  // Either of the two may be the one that the server knows it by.
  server.script("tasks/get", shows("cancelled"));
  await handle.cancel();
  const ids = server.of("tools/call").map(({ body }) => body["id"]);
  expect(server.of("notifications/cancelled").map((seen) => paramsOf(seen)["requestId"])).toEqual(ids);
});

it("finds the task of a call whose answer was lost, and sends nothing again [S-023]", async () => {
  const server = await SessionServer.start();
  const clock = new FakeClock();
  const client = await server.connect({ generation }, clock);
  clock.hold();
  server.script("tools/call", breaks);
  server.script("tasks/get", shows("completed"), shows("completed"));
  server.script("tasks/result", json(sent));
  const calling = client.callTool("publish_report");
  (await clock.nap(firstRetryMs)).wake();
  expect(await calling).toEqual(sent);
  expect(server.of("tools/call")).toHaveLength(1);
});

it.each([
  ["a server without tasks could run twice", { tools: {} }, unknown],
  ["went out in a session that is gone", declared, noSession],
])("sends nothing again that %s", async (_, capabilities, first) => {
  const server = await SessionServer.start();
  server.capabilities = capabilities;
  const clock = new FakeClock();
  const client = await server.connect({ generation }, clock);
  clock.hold();
  server.script("tools/call", breaks);
  server.script("tasks/get", first, unknown);
  const calling = client.callTool("publish_report");
  (await clock.nap(firstRetryMs)).wake();
  await expect(calling).rejects.toMatchObject({ code: "connection" });
  expect(server.of("tools/call")).toHaveLength(1);
});
