import type { ServerEvent, Tasks } from "holdfast";
import { expect, it } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

/** Stands in everything that a caller, a handler or a user says. */
const secret = "s3cr3t";
const form = { type: "object" as const, properties: { [secret]: { type: "string" as const } } };

function tools(tasks: Tasks): void {
  const part = tasks.tool("part", {}, () => text(secret));
  tasks.tool("full", {}, async (_, task) => {
    await task.step("step", () => secret);
    await task.log("info", secret, { secret });
    await task.output({ type: "text", text: secret });
    await task.status(secret);
    task.progress(1, 2, secret);
    await task.waitForEvent("told", "news");
    await task.elicit("question", { message: secret, requestedSchema: form });
    await task.call("part", part, { secret });
    return text(secret);
  });
  tasks.tool("odd", {}, () => ({ ...text(secret), isError: true }));
  tasks.tool("refuses", {}, () => {
    throw Object.assign(new Error("refused"), { data: secret, response: { body: secret } });
  });
  tasks.tool("waits", {}, async (_, task) => {
    await task.elicit("question", { message: secret, requestedSchema: form });
    return text(secret);
  });
}

it("events have nothing of what callers, handlers and users say", async () => {
  const events: ServerEvent[] = [];
  let made: Tasks | undefined;
  const { http, errors } = await serve({
    tools: (tasks) => tools((made = tasks)),
    options: { onEvent: (event) => events.push(event) },
    http: {
      authenticate: async () => ({ principal: "ann", claims: { secret }, credentials: secret }),
    },
  });
  const peer = new StatelessClient(http.url);
  const sending = { meta: { "example.com/note": secret } };
  const full = await peer.start("full", { secret }, sending);
  await made?.sendEvent(full, "news", { secret }, { dedupeId: secret });
  const answer = { [secret]: secret };
  for (const [id, end] of [
    [full, "completed"],
    [await peer.start("waits", { secret }, sending), "cancelled"],
  ] as const) {
    await peer.until(id, "input_required");
    if (end === "cancelled") await peer.result("tasks/cancel", { taskId: id });
    else {
      const inputResponses = { question: { action: "accept", content: answer } };
      await peer.result("tasks/update", { taskId: id, inputResponses });
    }
    await peer.until(id, end);
  }
  for (const name of ["odd", "refuses"]) await peer.ended(await peer.start(name, { secret }, sending));

  const told = new Set(events.map(({ type }) => type));
  for (const type of ["created", "started", "step", "question", "answered", "settled", "cancelled"])
    expect(told).toContain(`task.${type}`);
  expect(events.filter(({ type }) => type === "task.created")).toHaveLength(5);
  for (const event of events) {
    if ("taskId" in event) expect(event).toMatchObject({ principal: "ann" });
    expect(JSON.stringify(event)).not.toContain(secret);
  }
  expect(errors).toEqual([]);
});
