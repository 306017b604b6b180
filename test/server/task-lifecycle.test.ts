import { ProtocolError } from "@modelcontextprotocol/server";
import {
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  UpdateTaskResultV2Schema,
} from "@modelcontextprotocol/ext-tasks/core/v2";
import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import * as z from "zod";
import { text, unstamped } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

const requestedSchema = { type: "object" as const, properties: { size: { type: "string" as const } } };

function tools(tasks: Tasks): void {
  tasks.tool("shout", { inputSchema: z.object({ word: z.string() }) }, ({ word }) =>
    text(word.toUpperCase()),
  );
  tasks.tool("wrong", {}, () => ({ ...text("no template"), isError: true }));
  tasks.tool("throws", {}, () => {
    throw new Error("printer on fire");
  });
  tasks.tool("refuses", {}, () => {
    throw new ProtocolError(-32050, "no printer", { floor: 3 });
  });
  tasks.tool("asks", {}, async (_, task) => {
    const [size, colour] = await Promise.all([
      task.elicit("size", { message: "Size?", requestedSchema }),
      task.elicit("colour", { message: "Colour?", requestedSchema }),
    ]);
    return text(`${String(size.content?.["size"])} ${colour.action}`);
  });
  tasks.tool("waits", {}, async (_, task) => {
    await new Promise((_resolve, reject) => {
      task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
    });
    return text("never");
  });
}

it("creates a task, works, and completes with the result inlined [X-035 X-042 X-043 X-044 X-047 X-029]", async () => {
  const peer = await StatelessClient.of({ tools });
  const { status, result } = await peer.call("shout", { word: "hello" });
  expect(status).toBe(200);
  expect(CreateTaskResultV2Schema.safeParse(result).success).toBe(true);
  const done = await peer.ended(result?.["taskId"] as string);
  expect(GetTaskResultV2Schema.safeParse(done).success).toBe(true);
  expect(done).toMatchObject({
    resultType: "complete",
    status: "completed",
    result: { ...text("HELLO"), resultType: "complete" },
  });
});

it("can be got as soon as its id is known, working [X-037 X-044]", async () => {
  const peer = await StatelessClient.of({ tools });
  const id = await peer.start("waits");
  const task = await peer.get(id);
  expect(task).toMatchObject({ resultType: "complete", taskId: id, status: "working", ttlMs: 86_400_000 });
  expect(GetTaskResultV2Schema.safeParse(task).success).toBe(true);
});

it("completes with a result that is an error [X-033 X-034 X-100 X-043]", async () => {
  const peer = await StatelessClient.of({ tools });
  const wrong = await peer.ended(await peer.start("wrong"));
  expect(wrong).toMatchObject({ resultType: "complete", status: "completed", result: { isError: true } });
  const thrown = await peer.ended(await peer.start("throws"));
  expect(thrown).toMatchObject({
    status: "completed",
    result: { ...text("printer on fire"), isError: true },
  });
});

it("fails with exactly the protocol error that was thrown, and says why [X-030 X-049 X-098 X-099 A-04]", async () => {
  const peer = await StatelessClient.of({ tools });
  const failed = await peer.ended(await peer.start("refuses"));
  expect(failed).toMatchObject({ resultType: "complete", status: "failed", statusMessage: "no printer" });
  expect(failed["error"]).toEqual({ code: -32050, message: "no printer", data: { floor: 3 } });
  expect(GetTaskResultV2Schema.safeParse(failed).success).toBe(true);
});

it("answers the same with and without a task [X-101]", async () => {
  const peer = await StatelessClient.of({ tools });
  for (const [name, args] of [["shout", { word: "hi" }], ["wrong"], ["throws"]] as const) {
    const plain = await peer.call(name, args, { capabilities: {} });
    const task = await peer.ended(await peer.start(name, args));
    expect(plain.status).toBe(200);
    expect(task["result"]).toEqual(unstamped(plain.result ?? {}));
  }
  const plain = await peer.call("refuses", {}, { capabilities: {} });
  expect(plain).toMatchObject({ status: 200 });
  expect((await peer.ended(await peer.start("refuses")))["error"]).toEqual(plain.error);
});

it("shows its questions on each poll, takes answers one by one, and goes on [X-045 X-046 X-058 X-059 X-060 X-064]", async () => {
  const peer = await StatelessClient.of({ tools });
  const id = await peer.start("asks");
  let asking = await peer.until(id, "input_required");
  while (Object.keys(asking["inputRequests"] as object).length < 2) asking = await peer.get(id);
  expect(asking["inputRequests"]).toEqual({
    size: { method: "elicitation/create", params: { mode: "form", message: "Size?", requestedSchema } },
    colour: { method: "elicitation/create", params: { mode: "form", message: "Colour?", requestedSchema } },
  });
  expect(GetTaskResultV2Schema.safeParse(asking).success).toBe(true);
  expect((await peer.get(id))["inputRequests"]).toEqual(asking["inputRequests"]);

  const inputResponses = { size: { action: "accept", content: { size: "A4" } } };
  const acknowledged = await peer.result("tasks/update", { taskId: id, inputResponses });
  expect(unstamped(acknowledged)).toEqual({ resultType: "complete" });
  expect(UpdateTaskResultV2Schema.safeParse(acknowledged).success).toBe(true);
  expect(Object.keys((await peer.get(id))["inputRequests"] as object)).toEqual(["colour"]);

  await peer.result("tasks/update", { taskId: id, inputResponses: { colour: { action: "decline" } } });
  expect(await peer.ended(id)).toMatchObject({ status: "completed", result: text("A4 decline") });
});

it("uses the answers to open questions, and ignores what comes under other keys [X-063]", async () => {
  const peer = await StatelessClient.of({ tools });
  const id = await peer.start("asks");
  let asking = await peer.until(id, "input_required");
  while (!("colour" in (asking["inputRequests"] as object))) asking = await peer.get(id);
  const inputResponses = {
    unasked: { action: "accept" },
    colour: { action: "decline" },
    x: null,
  };
  const acknowledged = await peer.result("tasks/update", { taskId: id, inputResponses });
  expect(unstamped(acknowledged)).toEqual({ resultType: "complete" });
  expect(Object.keys((await peer.get(id))["inputRequests"] as object)).toEqual(["size"]);
});

it("acknowledges a cancel and ends as cancelled [X-048 X-074 X-075 X-076 X-027]", async () => {
  const peer = await StatelessClient.of({ tools });
  const id = await peer.start("waits");
  const acknowledged = await peer.result("tasks/cancel", { taskId: id });
  expect(unstamped(acknowledged)).toEqual({ resultType: "complete" });
  expect(CancelTaskResultV2Schema.safeParse(acknowledged).success).toBe(true);
  const cancelled = await peer.ended(id);
  expect(cancelled["status"]).toBe("cancelled");
  expect(cancelled).not.toHaveProperty("result");
  expect(GetTaskResultV2Schema.safeParse(cancelled).success).toBe(true);
});

it("acknowledges cancels and updates of a finished task, which stays as it is [A-22 X-P-009 X-P-019 X-032]", async () => {
  const peer = await StatelessClient.of({ tools });
  const id = await peer.start("shout", { word: "a" });
  const before = await peer.ended(id);
  const cancel = await peer.result("tasks/cancel", { taskId: id });
  const update = await peer.result("tasks/update", { taskId: id, inputResponses: { a: {}, b: null } });
  expect([cancel, update].map(unstamped)).toEqual([{ resultType: "complete" }, { resultType: "complete" }]);
  expect(await peer.get(id)).toEqual(before);
});

it("makes ids that cannot be guessed [X-016 X-104]", async () => {
  const peer = await StatelessClient.of({ tools });
  const ids = await Promise.all(Array.from({ length: 20 }, () => peer.start("shout", { word: "a" })));
  expect(new Set(ids.map((id) => id.slice(12))).size).toBe(20);
  for (const id of ids) expect(id.slice(12)).toMatch(/^[\w-]{22}$/); // 128 random bits
});
