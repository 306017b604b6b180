import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  resultFromTaskOutcome,
  type ApplicationInputHandler,
  type SerializedTaskReference,
  type TaskEnabledSession,
} from "@modelcontextprotocol/ext-tasks/client";
import { taskId } from "@modelcontextprotocol/ext-tasks/core";
import { ProtocolError } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { accept, form, greets } from "../server/prepare-caller.ts";
import { text } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { openSession } from "./ext-tasks-session.ts";

function tools(tasks: Tasks): void {
  greets(tasks); // asks on the call
  tasks.tool("count", { inputSchema: z.object({ word: z.string() }) }, ({ word }) => ({
    ...text(`${word.length} letters`),
    structuredContent: { letters: word.length },
  }));
  tasks.tool("refuses", {}, () => ({ ...text("no template"), isError: true }));
  tasks.tool("breaks", {}, () => {
    throw new ProtocolError(-32050, "no printer", { floor: 3 });
  });
  tasks.tool("asks", { requires: ["elicitation"] }, async (_, task) => {
    const { action, content } = await task.elicit("name", form("Whose?"));
    return text(action === "accept" ? `for ${String(content?.["name"])}` : action);
  });
}

/** A server whose clients need not wait long between two polls. */
function served(options: NonNullable<Parameters<typeof serve>[0]["options"]> = {}): Promise<Served> {
  return serve({ tools, options: { pollIntervalMs: 10, ...options } });
}

/** Gives everybody who asks the same name, and notes what was asked. */
function answering(name: string) {
  const asked: unknown[] = [];
  const onInputRequest = (async (request, { scope, inputId }) => {
    asked.push({ kind: request.kind, message: request.params?.["message"], scope, inputId });
    return accept(name);
  }) as ApplicationInputHandler["handle"];
  return { asked, onInputRequest };
}

/** Starts a task that waits for an answer, and leaves it. */
async function left(session: TaskEnabledSession): Promise<SerializedTaskReference> {
  const execution = await session.callTool("asks", {});
  if (execution.kind !== "task") throw new Error("expected a task");
  const reference = execution.serializeReference();
  await execution.detach();
  // The session cancels on its close what it has not yet seen to be detached.
  await execution.result();
  await session.close();
  return reference;
}

it("settles a task with its result [X-029 X-042 X-047]", async () => {
  const { http } = await served();
  const session = await openSession(http.url);
  const execution = await session.callTool("count", { word: "tide" });
  expect(execution.kind).toBe("task");
  const { outcome, lastTask } = await execution.settle();
  expect(resultFromTaskOutcome(outcome)).toEqual({
    ...text("4 letters"),
    structuredContent: { letters: 4 },
    resultType: "complete",
  });
  expect(lastTask).toMatchObject({ status: "completed", suggestedPollIntervalMs: 10 });
});

it("settles a failed call as what it is: a result with isError, or an error [X-030 X-033 X-034 X-049]", async () => {
  const { http } = await served();
  const session = await openSession(http.url);
  const refused = await (await session.callTool("refuses", {})).settle();
  expect(resultFromTaskOutcome(refused.outcome)).toMatchObject({ ...text("no template"), isError: true });
  const broken = await (await session.callTool("breaks", {})).settle();
  expect(broken.outcome).toMatchObject({
    status: "failed",
    error: { code: -32050, message: "no printer", data: { floor: 3 } },
  });
});

it("answers the question of a task [X-028 X-045 X-059]", async () => {
  const { http } = await served();
  const { asked, onInputRequest } = answering("ada");
  const session = await openSession(http.url, { onInputRequest });
  const { outcome } = await (await session.callTool("asks", {})).settle();
  expect(resultFromTaskOutcome(outcome)).toMatchObject(text("for ada"));
  expect(asked).toEqual([{ kind: "elicitation", message: "Whose?", scope: "task", inputId: "name" }]);
});

it("answers the question of a call before there is a task [X-039 X-040]", async () => {
  const { http } = await served();
  const { asked, onInputRequest } = answering("ada");
  const session = await openSession(http.url, { onInputRequest });
  const execution = await session.callTool("greet", {});
  expect(execution.kind).toBe("task");
  expect(resultFromTaskOutcome((await execution.settle()).outcome)).toMatchObject(text("ADA gets q3"));
  expect(asked).toMatchObject([{ kind: "elicitation", scope: "request", inputId: "user_name" }]);
});

it("cancels a task, which then is cancelled for everybody [X-048 X-074 X-075]", async () => {
  const { http } = await served();
  const reference = await left(await openSession(http.url));
  const peer = new StatelessClient(http.url);
  await peer.until(reference.taskId, "input_required");
  const session = await openSession(http.url);
  await session.cancelTask(reference.taskId);
  expect((await session.task(reference.taskId).result()).status).toBe("cancelled");
  expect(await peer.ended(reference.taskId)).toMatchObject({ status: "cancelled" });
});

it("cancels what it has begun itself", async () => {
  const { http } = await served();
  const session = await openSession(http.url);
  const execution = await session.callTool("asks", {});
  await execution.cancel();
  expect((await execution.result()).status).toBe("cancelled");
  const id = execution.handle?.taskId ?? "";
  expect(await new StatelessClient(http.url).ended(id)).toMatchObject({ status: "cancelled" });
});

it("takes up a task by its id on a fresh client [X-016 X-046]", async () => {
  const { http } = await served();
  const reference = await left(await openSession(http.url));
  const session = await openSession(http.url, answering("bob"));
  const { outcome } = await (await session.resumeTask(reference)).settle();
  expect(resultFromTaskOutcome(outcome)).toMatchObject(text("for bob"));
});

it("takes up a task of a server that was restarted, finished or not [X-016]", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-interop-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const start = (): Promise<Served> => served({ store: sqliteStore(join(folder, "tasks.db")) });
  const first = await start();
  const waiting = await left(await openSession(first.http.url));
  const finished = await left(await openSession(first.http.url));
  const earlier = await openSession(first.http.url, answering("ada"));
  await (await earlier.resumeTask(finished)).settle();
  await earlier.close();
  await first.http.close();

  const second = await start();
  const session = await openSession(second.http.url, answering("cleo"));
  for (const [reference, name] of [
    [finished, "ada"],
    [waiting, "cleo"],
  ] as const) {
    const { outcome } = await (await session.resumeTask(reference)).settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject(text(`for ${name}`));
  }
  await session.close();
  await second.http.close();
});

it("is told that a task is unknown [X-078]", async () => {
  const { http } = await served();
  const session = await openSession(http.url);
  const unknown = taskId("no-such-task");
  await expect(session.task(unknown).snapshot()).rejects.toMatchObject({ code: -32602 });
  await expect(session.cancelTask(unknown)).rejects.toMatchObject({ code: -32602 });
});
