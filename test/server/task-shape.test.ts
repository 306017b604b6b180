import { GetTaskResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { ProtocolError } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { InMemorySession } from "../kit/in-memory-session.ts";
import { formClient, related, text, type Message } from "../kit/messages.ts";
import { startServer } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { about, start, until } from "./sep-1686/sep.ts";

const requestedSchema = { type: "object" as const, properties: { size: { type: "string" as const } } };
const iso: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const milliseconds: unknown = expect.toSatisfy((value) => Number.isInteger(value));
const string: unknown = expect.any(String);
const form = { action: "accept", content: { size: "A4" } };

const refusal = { code: -32050, message: "no printer", data: { floor: 3 } };

const ends = ["completed", "failed", "cancelled"] as const;

/** A tool that waits by itself, or with its question open, until it is let go, and then ends as it is told. */
function tools(letGo: Promise<void> = Promise.resolve()): (tasks: Tasks) => void {
  return (tasks) => {
    const inputSchema = z.object({ asks: z.boolean(), end: z.enum(ends) });
    tasks.tool("leave", { inputSchema }, async ({ asks, end }, task) => {
      const question = asks ? [task.elicit("size", { message: "Size?", requestedSchema })] : [];
      const { promise: stopped, reject } = Promise.withResolvers<never>();
      task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
      await Promise.race([letGo, stopped, ...question]);
      if (end === "failed") throw new ProtocolError(refusal.code, refusal.message, refusal.data);
      return text("done");
    });
    tasks.tool("ask", {}, async (_, task) => {
      await task.elicit("size", { message: "Size?", requestedSchema });
      await letGo;
      return { ...text("done"), _meta: { "example.com/cost": 3 } };
    });
  };
}

const waits = [
  { asks: false, from: "working" },
  { asks: true, from: "input_required" },
] as const;

const ways = waits.flatMap(({ asks, from }) => ends.map((end) => ({ asks, from, end })));

describe("on 2025-11-25", () => {
  const task = {
    taskId: string,
    createdAt: iso,
    lastUpdatedAt: iso,
    ttl: milliseconds,
    pollInterval: milliseconds,
    statusMessage: string,
    _meta: { "holdfast/tool": "ask" },
  };

  it("shows the same task wherever it does, and its result as the call would have had it [C-030 C-031 C-032 C-033 C-034 C-035 C-036 C-039 C-040 C-044 C-057 C-097]", async () => {
    const letGo = Promise.withResolvers<void>();
    const { server } = await startServer(tools(letGo.promise));
    const session = await InMemorySession.open(server, { capabilities: { elicitation: {} } });
    const created = await session.result(session.call("ask", {}, { task: { taskId: "mine", ttl: 60_000 } }));
    const shown = created["task"] as Message & { taskId: string };
    expect(shown).toEqual({ ...task, ttl: 60_000, status: "working" });
    const { taskId } = shown;
    expect(taskId).not.toBe("mine");

    expect(await session.until(taskId, "input_required")).toMatchObject({ taskId, status: "input_required" });
    const question = await session.asked("elicitation/create");
    expect(question["params"]).toMatchObject({ _meta: related(taskId) });
    session.reply(question, form);
    const again = await session.until(taskId, "working");
    expect(again).toEqual({
      ...task,
      statusMessage: expect.anything() as unknown,
      ttl: 60_000,
      status: "working",
    });
    expect((await session.request("tasks/list"))["tasks"]).toEqual([again]);

    letGo.resolve();
    const done = { ...text("done"), _meta: { "example.com/cost": 3, ...related(taskId) } };
    expect(await session.request("tasks/result", { taskId })).toEqual(done);
    const { statusMessage: _, ...rest } = task;
    expect(await session.request("tasks/get", { taskId })).toMatchObject({ ...rest, status: "completed" });
  });

  it("says null for a task without end [C-035]", async () => {
    const { server } = await startServer(tools(), { ttlMs: null });
    const session = await InMemorySession.open(server);
    const taskId = await session.start("leave", { asks: false, end: "completed" });
    expect(await session.until(taskId, "completed")).toMatchObject({ ttl: null });
  });

  it.each(ways)(
    "goes from $from to $end and stays there [C-043 C-044 C-045 C-P-002]",
    async ({ asks, from, end }) => {
      const letGo = Promise.withResolvers<void>();
      const { server } = await startServer(tools(letGo.promise));
      const session = await InMemorySession.open(server, { capabilities: { elicitation: {} } });
      const taskId = await session.start("leave", { asks, end });
      await session.until(taskId, from);
      if (end === "cancelled") await session.request("tasks/cancel", { taskId });
      letGo.resolve();
      await session.until(taskId, end);
      const { result, error } = await session.answerTo(session.begin("tasks/result", { taskId }));
      if (end === "completed") expect(result).toEqual({ ...text("done"), _meta: related(taskId) });
      if (end === "failed") expect(error).toEqual(refusal);
      if (end === "cancelled") expect(error).toMatchObject({ code: -32602 });
      if (asks) session.reply(await session.asked("elicitation/create"), form);
      expect(await session.error("tasks/cancel", { taskId })).toMatchObject({ code: -32602 });
      expect(await session.request("tasks/get", { taskId })).toMatchObject({ status: end });
    },
  );
});

describe("on 2026-07-28", () => {
  const task = {
    taskId: string,
    createdAt: iso,
    lastUpdatedAt: iso,
    ttlMs: milliseconds,
    pollIntervalMs: milliseconds,
    statusMessage: string,
  };
  const complete = { resultType: "complete" };

  it("shows the same task wherever it does, under a resultType that tells creation from all else [X-014 X-015 X-017 X-018 X-020 X-022 X-024 X-028 X-036 X-021 X-B-006 X-P-004 X-P-007]", async () => {
    const letGo = Promise.withResolvers<void>();
    const peer = await StatelessClient.of({ tools: tools(letGo.promise) });
    const repeat = { meta: { "holdfast/idempotencyKey": "k".repeat(22) } };
    const { result: created = {} } = await peer.call("ask", {}, repeat);
    expect(created).toMatchObject({ ...task, resultType: "task", status: "working" });
    const taskId = created["taskId"] as string;
    const asking = await peer.until(taskId, "input_required");
    const params = { mode: "form", message: "Size?", requestedSchema };
    const inputRequests = { size: { method: "elicitation/create", params } };
    const sameTask = { ...task, taskId, createdAt: created["createdAt"] };
    expect(asking).toMatchObject({ ...sameTask, ...complete, status: "input_required", inputRequests });
    const { ttlMs: _, ...withoutTtl } = asking;
    expect(GetTaskResultV2Schema.safeParse(withoutTtl).success).toBe(false);
    await expect.poll(() => new Date().toISOString() > String(asking["lastUpdatedAt"])).toBe(true);
    const inputResponses = { size: form };
    expect(await peer.result("tasks/update", { taskId, inputResponses })).toMatchObject(complete);
    const resumed = await peer.until(taskId, "working");
    expect(resumed).toMatchObject({ ...sameTask, ...complete });
    expect(String(resumed["lastUpdatedAt"]) > String(asking["lastUpdatedAt"])).toBe(true);
    letGo.resolve();
    expect(await peer.ended(taskId)).toMatchObject({ ...complete, status: "completed", result: complete });
    const repeated = await peer.call("ask", {}, repeat);
    expect(repeated.result).toMatchObject({ resultType: "task", taskId, status: "completed" });
    expect(await peer.result("tasks/cancel", { taskId })).toMatchObject(complete);
    for (const method of ["tools/list", "server/discover"]) {
      expect(await peer.result(method)).toMatchObject(complete);
    }
  });

  it("says null for a task without end [X-022]", async () => {
    const peer = await StatelessClient.of({ tools: tools(), options: { ttlMs: null } });
    expect(await peer.get(await peer.start("ask"))).toMatchObject({ ttlMs: null });
  });

  it.each(ways)(
    "goes from $from to $end and stays there [X-017 X-032 X-P-006]",
    async ({ asks, from, end }) => {
      const letGo = Promise.withResolvers<void>();
      const peer = await StatelessClient.of({ tools: tools(letGo.promise) });
      const taskId = await peer.start("leave", { asks, end });
      await peer.until(taskId, from);
      if (end === "cancelled") await peer.result("tasks/cancel", { taskId });
      else letGo.resolve();
      const ended = await peer.ended(taskId);
      expect(ended).toMatchObject({ status: end, ...(end === "failed" && { error: refusal }) });
      letGo.resolve();
      await peer.result("tasks/update", { taskId, inputResponses: { size: form } });
      await peer.result("tasks/cancel", { taskId });
      expect(await peer.get(taskId)).toEqual(ended);
    },
  );
});

describe("in SEP-1686", () => {
  it("shows when to ask again, and a task from the queue on [S-025 S-026 S-028 S-029 S-031 S-037 S-060]", async () => {
    const letGo = Promise.withResolvers<void>();
    const { server } = await startServer(tools(letGo.promise), { concurrency: 1, pollIntervalMs: 1_500 });
    const session = await InMemorySession.open(server, { capabilities: formClient });
    await start(session, "first", "leave", { asks: false, end: "completed" });
    await start(session, "second", "ask");
    await start(session, "third", "leave", { asks: false, end: "completed" });
    const task = { pollFrequency: 1_500, keepAlive: milliseconds };
    const told = { _meta: { "modelcontextprotocol.io/related-task": { taskId: "second" } } };
    const queued = await session.request("tasks/get", about("second"));
    expect(queued).toMatchObject({ ...task, ...told, taskId: "second", status: "submitted" });
    expect(await until(session, "first", "working")).toMatchObject(task);
    expect(await session.request("tasks/get", about("third"))).toMatchObject({ status: "submitted" });
    letGo.resolve();
    expect(await until(session, "third")).toMatchObject({ status: "completed" });
    expect(await until(session, "second", "input_required")).toMatchObject({ ...task, ...told });
    session.reply(await session.asked("elicitation/create"), form);
    expect(await until(session, "second")).toMatchObject({ ...task, status: "completed" });
  });

  it.each(ways)(
    "goes from $from to $end and stays there [S-025 S-028 S-029 S-030]",
    async ({ asks, from, end }) => {
      const letGo = Promise.withResolvers<void>();
      const { server } = await startServer(tools(letGo.promise));
      const session = await InMemorySession.open(server, { capabilities: formClient });
      const requestId = await start(session, "mine", "leave", { asks, end });
      await until(session, "mine", from);
      if (end === "cancelled") session.notify("notifications/cancelled", { requestId });
      else letGo.resolve();
      const ended = await until(session, "mine");
      expect(ended).toMatchObject({ status: end });
      letGo.resolve();
      session.notify("notifications/cancelled", { requestId });
      if (asks) session.reply(await session.asked("elicitation/create"), form);
      expect(await until(session, "mine")).toEqual(ended);
    },
  );
});
