import { expect, it } from "vitest";
import { idempotencyKeyMeta } from "../../src/generation/extensions.ts";
import { withTask } from "../../src/generation/sep-1686.ts";
import { addConfirm } from "../server/plain/job.ts";
import { text } from "../kit/messages.ts";
import { serve, type Setup } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { about } from "../server/sep-1686/sep.ts";
import { caller, callerSpan, callerTrace, RecordedSpans } from "./recorded-spans.ts";

async function traced(
  tools: Setup["tools"],
  options: Setup["options"] = {},
): Promise<[string, RecordedSpans]> {
  const spans = new RecordedSpans();
  const { http } = await serve({ tools, options: { telemetry: spans.telemetry, ...options } });
  return [http.url, spans];
}

const forms = { meta: caller, capabilities: { elicitation: {} } };

it("gives each round of a call a span, with that of the task that the first one made", async () => {
  const [url, spans] = await traced(addConfirm);
  const peer = new StatelessClient(url);
  const { result } = await peer.call("confirm", {}, forms);
  const inputResponses = { ok: { action: "accept", content: { note: "go" } } };
  const params = { name: "confirm", arguments: {}, requestState: result?.["requestState"], inputResponses };
  expect((await peer.send("tools/call", params, forms)).result).toMatchObject(text("sent: go"));
  await spans.ended("execute_tool confirm");
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "tools/call confirm",
    "  elicitation/create",
    "  execute_tool confirm: settled",
    "tools/call confirm",
  ]);
  const [first, second] = spans
    .named("tools/call confirm")
    .map(({ attributes }) => attributes["holdfast.task.id"]);
  expect(first).toEqual(expect.any(String));
  expect(second).toBe(first);
});

it("runs prepare below the span of its round", async () => {
  const [url, spans] = await traced((tasks) =>
    tasks.tool(
      "ready",
      {
        prepare: () => {
          spans.provider.getTracer("author").startSpan("preparing").end();
        },
      },
      () => text("ready"),
    ),
  );
  await new StatelessClient(url).start("ready", {}, { meta: caller });
  await spans.ended("execute_tool ready");
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "tools/call ready",
    "  preparing",
    "  execute_tool ready: settled",
  ]);
});

it("links a call to the trace of the task that an earlier one made", async () => {
  const [url, spans] = await traced((tasks) => tasks.tool("ship", {}, () => text("shipped")));
  const peer = new StatelessClient(url);
  const meta = { [idempotencyKeyMeta]: "once".repeat(10) };
  const id = await peer.start("ship", {}, { meta });
  const again = await peer.start("ship", {}, { meta: { ...meta, ...caller } });
  expect(again).toBe(id);
  const [first, second] = spans.named("tools/call ship");
  expect(second?.links.map(({ context }) => context.traceId)).toEqual([first?.spanContext().traceId]);
});

it("traces a task of SEP-1686 under the id of the server, and polls of it", async () => {
  const [url, spans] = await traced((tasks) => tasks.tool("ship", {}, () => text("shipped")));
  const peer = await SessionClient.open(url, { version: "2025-06-18" });
  const { _meta, ...call } = withTask({ name: "ship", arguments: {} }, { taskId: "mine" });
  await peer.request("tools/call", { ...call, _meta: { ...(_meta as object), ...caller } });
  await peer.request("tasks/get", about("mine"));
  await peer.request("tasks/result", about("mine"));
  await peer.request("tasks/delete", about("mine"));
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "tools/call ship",
    "  execute_tool ship: settled",
    "  tasks/get",
    "  tasks/result",
    "  tasks/delete",
  ]);
  const ids = new Set(spans.all.map(({ attributes }) => attributes["holdfast.task.id"]).filter(Boolean));
  expect(ids.size).toBe(1);
  expect(ids.has("mine")).toBe(false);
});

it("gives an answer and a cancel of 2026-07-28 spans in the trace of their task", async () => {
  const [url, spans] = await traced(addConfirm);
  const peer = new StatelessClient(url);
  const id = await peer.start("confirm", {}, { meta: caller });
  await peer.until(id, "input_required");
  const inputResponses = { ok: { action: "accept", content: { note: "go" } } };
  await peer.result("tasks/update", { taskId: id, inputResponses });
  await peer.result("tasks/cancel", { taskId: id });
  for (const name of ["tasks/update", "tasks/cancel"]) {
    expect(spans.named(name)[0]?.spanContext().traceId).toBe(callerTrace);
    expect(spans.named(name)[0]?.attributes["holdfast.task.id"]).toBe(id);
  }
});

it("tells nothing of arguments, results, principals, sessions and claims", async () => {
  const spans = new RecordedSpans();
  const { http } = await serve({
    tools: (tasks) => tasks.tool("ship", {}, () => text("secret result")),
    http: { authenticate: async () => ({ principal: "secret-ann", claims: { plan: "secret plan" } }) },
    options: { telemetry: spans.telemetry },
  });
  const peer = await SessionClient.open(http.url);
  const { result } = await peer.request("tools/call", {
    name: "ship",
    arguments: { at: "secret" },
    task: {},
  });
  const { taskId } = (result as { task: { taskId: string } }).task;
  await peer.request("tasks/result", { taskId });
  await spans.ended("execute_tool ship");
  const said = JSON.stringify(
    spans.all.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
  );
  expect(said).not.toContain("secret");
  expect(said).not.toContain(String(peer.sessionId));
});
