import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { trace } from "@opentelemetry/api";
import { expect, it, onTestFinished } from "vitest";
import type { InputRequest, InputResult } from "../../src/client/question/ask-user.ts";
import { sqliteStore } from "../../src/sqlite.ts";
import { approval, setUpCore, task, taskId, type CorePeer } from "../client/2025-11-25/core-peer.ts";
import { User } from "../client/user.ts";
import { RecordedSpans } from "./recorded-spans.ts";

const form = { message: "Send it?", requestedSchema: { type: "object", properties: {} } };
const accept = { action: "accept" as const, content: { ok: true } };

/** The trace context of a server that asks; `span` tells its spans apart. */
function asked(span: number): { readonly traceparent: string } {
  return { traceparent: `00-${"a".repeat(32)}-${String(span).padStart(16, "0")}-01` };
}

/** A user, and what was active in `onInput`. */
class TracedUser extends User {
  readonly activeSpans: (string | undefined)[] = [];

  readonly answering = async (request: InputRequest): Promise<InputResult> => {
    this.activeSpans.push(trace.getActiveSpan()?.spanContext().spanId);
    return this.onInput(request);
  };
}

async function takenTask(peer: CorePeer, params: object): Promise<string> {
  const { result } = (await peer.ask("elicitation/create", { ...params, task: {} }).answer) as {
    result: { task: { taskId: string } };
  };
  return result.task.taskId;
}

it("is answered in the trace that the server asks in, and once if it comes again", async () => {
  const { telemetry } = new RecordedSpans();
  const user = new TracedUser();
  const { peer, client } = await setUpCore({ telemetry, onInput: user.answering });
  peer.script("tools/call", { result: { task: task("working") } });
  peer.always("tasks/get", { result: task("input_required") });
  const result = client.callTool("publish_report");
  await peer.sees("tasks/get");
  const _meta = approval._meta;
  const first = peer.ask("elicitation/create", { ...approval, _meta: { ..._meta, ...asked(1) } });
  const second = peer.ask("elicitation/create", { ...approval, _meta: { ..._meta, ...asked(2) } });
  await user.isAsked(1);
  peer.always("tasks/get", { result: task("completed", {}, 2) });
  peer.always("tasks/result", { result: { content: [] } });
  user.answer(0, accept);
  expect(await first.answer).toMatchObject({ result: accept });
  expect(await second.answer).toMatchObject({ result: accept });
  peer.notify("notifications/tasks/status", task("completed", {}, 2));
  await result;
  expect(user.asked).toHaveLength(1);
  expect(user.activeSpans).toEqual(["0000000000000001"]);
  expect(user.asked[0]?.taskId).toBe(taskId);
});

it("is answered in that trace also as a task of the client, which another process goes on with", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-client-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const users = [new TracedUser(), new TracedUser()] as const;
  const params = { ...form, _meta: asked(1) };
  const options = { telemetry: new RecordedSpans().telemetry, serverName: "desk" };
  const setUp = async (user: TracedUser): ReturnType<typeof setUpCore> =>
    setUpCore({
      ...options,
      onInput: user.answering,
      receiveTasks: { store: sqliteStore(join(folder, "tasks.db")) },
    });
  const before = await setUp(users[0]);
  const related = { "io.modelcontextprotocol/related-task": { taskId } };
  const id = await takenTask(before.peer, { ...params, _meta: { ...related, ...asked(1) } });
  expect(await takenTask(before.peer, { ...params, _meta: { ...related, ...asked(2) } })).toBe(id);
  await users[0].isAsked(1);
  await before.client.close();
  const after = await setUp(users[1]);
  await users[1].isAsked(1);
  users[1].answer(0, accept);
  expect(await after.peer.ask("tasks/result", { taskId: id }).answer).toMatchObject({ result: accept });
  expect(users.map((user) => user.activeSpans)).toEqual([["0000000000000001"], ["0000000000000001"]]);
});
