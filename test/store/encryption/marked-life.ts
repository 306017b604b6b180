import type { Tasks } from "holdfast";
import type { TaskStore } from "holdfast/store";
import { expect } from "vitest";
import { createRunning, noon } from "../../../src/testing/sample-task.ts";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";

/** Stands in everything that a caller, a handler or a user says. */
export const mark = "marked-s3cr3t-7f2a";
/** What the tool `full` is called with. */
export const markedArguments = { note: mark };

const form = { type: "object" as const, properties: { [mark]: { type: "string" as const } } };

function tools(tasks: Tasks): void {
  const part = tasks.tool("part", {}, () => text(mark));
  const fails = tasks.tool("fails", {}, () => ({ ...text(mark), isError: true }));
  tasks.tool("full", {}, async (_, task) => {
    await task.step("step", () => mark);
    await task.step("odd", () => Promise.reject(new Error(mark))).catch(() => undefined);
    await task.log("info", mark, { mark });
    await task.output({ type: "text", text: mark });
    await task.status(mark);
    task.progress(1, 2, mark);
    await task.waitForEvent("told", "news");
    await task.elicit("question", { message: mark, requestedSchema: form });
    await task.call("part", part, markedArguments);
    await task.call("fails", fails, markedArguments).catch(() => undefined);
    return text(mark);
  });
  let runs = 0;
  tasks.tool("retries", { retry: { attempts: 2, backoff: { firstMs: 1 } } }, () => {
    if (runs++ === 0) throw new Error(mark);
    return text(mark);
  });
  tasks.tool("throws", {}, () => {
    throw Object.assign(new Error(mark), { data: mark });
  });
  tasks.tool("stays", {}, async (_, task) => {
    await task.status(mark);
    await task.elicit("question", { message: mark, requestedSchema: form });
    return text(mark);
  });
}

/**
 * Has a server on the store do all that leaves something there, with the mark in it, and leaves tasks that have ended and one that asks. `look` is called before the server
 * has closed the store. Resolves with the id of a task of `full`.
 */
export async function markedLife(store: TaskStore, look: () => Promise<void>): Promise<string> {
  let made: Tasks | undefined;
  const { http, errors } = await serve({
    tools: (tasks) => tools((made = tasks)),
    options: { store },
    http: { authenticate: async () => ({ principal: "ann", claims: { mark }, credentials: mark }) },
  });
  const peer = new StatelessClient(http.url);
  const full = await peer.start("full", markedArguments);
  await made?.sendEvent(full, "news", { mark });
  await made?.sendEvent(full, "kept for later", { mark });
  await peer.until(full, "input_required");
  const inputResponses = { question: { action: "accept", content: { [mark]: mark } } };
  await peer.result("tasks/update", { taskId: full, inputResponses });
  await peer.until(full, "completed");
  for (const name of ["retries", "throws"]) await peer.ended(await peer.start(name, markedArguments));
  await peer.until(await peer.start("stays", markedArguments), "input_required");
  expect(errors).toEqual([]);
  await putTheRest(store);
  await look();
  await http.close();
  return full;
}

/** What needs other clients than the one above. */
async function putTheRest(store: TaskStore): Promise<void> {
  const session = { id: "session", principal: "ann", expiresAt: noon * 2, state: `"${mark}"` };
  await store.sessions?.put(session, { ofPrincipal: 9, total: 9 });
  expect(await store.sessions?.update("session", `"${mark} again"`, `"${mark}"`)).toBe(true);
  await store.sessions?.send("session", mark);
  const trace = { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01`, baggage: `a=${mark}` };
  const origin = { capabilities: {}, trace };
  const request = { origin, arguments: `"${mark}"`, prepared: `"${mark}"` };
  await store.write({ ...createRunning("a", { statusMessage: mark }), request });
  await store.messages?.put("task-a", { body: mark, bound: false }, null);
  await store.write({ type: "keep_secret", now: noon, name: "one", value: mark });
}
