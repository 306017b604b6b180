import { describe, expect, it } from "vitest";
import { TaskClientError } from "../../../src/client/task-client-error.ts";
import { cancelled, created, failed, taskId, unknownTask } from "../answers.ts";
import { setUp, type Setup } from "../setup.ts";

function referenceIn({ server }: Setup): object {
  return { server: server.url, generation: "2026-07-28", taskId };
}

describe("the error of a call that became a task has its reference", () => {
  it.each([
    ["failed", failed({ code: -32603, message: "broken" })],
    ["cancelled", cancelled()],
    ["expired", unknownTask],
    ["unauthorized", { status: 401 }],
    ["missing_capability", { error: { code: -32021, message: "no", data: { requiredCapabilities: {} } } }],
  ] as const)("%s", async (code, answer) => {
    const setup = await setUp();
    setup.server.script("tools/call", created());
    setup.server.script("tasks/get", answer);
    const call = setup.client.callTool("publish_report");
    await expect(call).rejects.toMatchObject({ code, taskId, reference: referenceIn(setup) });
  });

  it("closed, for each of those who waited", async () => {
    const setup = await setUp();
    const { server, client, clock } = setup;
    server.script("tools/call", created(), created({ taskId: "second" }));
    clock.hold();
    const calls = [client.callTool("publish_report"), client.callTool("publish_report")];
    await clock.nap(2000);
    await clock.nap(2000);
    await Promise.all([
      client.close(),
      ...calls.map((call) => expect(call).rejects.toThrow(TaskClientError)),
    ]);
    const errors = await Promise.all(calls.map(async (call) => call.catch((error: unknown) => error)));
    expect(errors).toMatchObject([
      { code: "closed", reference: referenceIn(setup) },
      { code: "closed", reference: { ...referenceIn(setup), taskId: "second" } },
    ]);
  });

  it("also where get and cancel fail", async () => {
    const setup = await setUp();
    setup.server.script("tools/call", created());
    const handle = await setup.client.startTool("publish_report");
    setup.server.script("tasks/get", "reset");
    setup.server.script("tasks/cancel", unknownTask);
    const reference = referenceIn(setup);
    await expect(handle.get()).rejects.toMatchObject({ code: "connection", reference });
    await expect(handle.cancel()).rejects.toMatchObject({ code: "unknown_task", reference });
  });
});

it("has the reference of a task whose answer breaks the protocol, which is kept too", async () => {
  const setup = await setUp();
  setup.server.script("tools/call", { result: { resultType: "job", taskId, status: "working" } });
  const call = setup.client.callTool("publish_report");
  await expect(call).rejects.toMatchObject({ code: "protocol", reference: referenceIn(setup) });
});

it("has none where there is no task", async () => {
  const { server, client } = await setUp();
  server.script("tools/call", { error: { code: -32602, message: "no" } });
  await expect(client.callTool("publish_report")).rejects.toMatchObject({
    code: "rpc",
    reference: undefined,
  });
});

it("of a call that its caller aborts has the task's reference, and the caller's own reason as it is", async () => {
  const setup = await setUp();
  const { server, client, clock } = setup;
  server.script("tools/call", created());
  clock.hold();
  const reason = new TaskClientError("closed", "enough");
  const leaving = new AbortController();
  const told: unknown[] = [];
  const onTask = (reference: unknown): void => void told.push(reference);
  const call = client.callTool("publish_report", {}, { signal: leaving.signal, onTask });
  await clock.nap(2000);
  leaving.abort(reason);
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "AbortError", code: "aborted", reference: referenceIn(setup) });
  expect((error as Error).cause).toBe(reason);
  expect(reason.reference).toBeUndefined();
  expect(told).toEqual([referenceIn(setup)]);
});
