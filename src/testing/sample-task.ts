import type { TaskCommand } from "../task/command.ts";
import type { NewTask } from "../task/new-task.ts";
import type { HandlerName } from "../task/owner.ts";
import type { TaskRequest } from "../task/record.ts";

/** The time of everything in the samples, unless a case sets another. */
export const noon = Date.UTC(2026, 10, 1, 12);

export const sampleRequest: TaskRequest = {
  origin: { session: "s1", requestId: 7, capabilities: { elicitation: {} } },
  arguments: '{"month":"2026-10"}',
  prepared: null,
};

/** A handler that runs the samples, and one that does not. */
export const aHandler: HandlerName = { method: "tools/call", tool: "publish" };
export const noHandler: HandlerName = { method: "tools/call", tool: "withdraw" };

/** The owner that the store of a case is opened for. */
export const owner = "owner-1";

/** A task with the id `task-NAME`, and made-up values for what is not given. */
export function sampleTask(name: string, members: Partial<NewTask> = {}): NewTask {
  const id = `task-${name}`;
  return {
    id,
    wireId: id,
    generation: "2026-07-28",
    scope: "",
    principal: "ann",
    method: "tools/call",
    tool: "publish",
    idempotencyKey: null,
    requestHash: "hash",
    requiredScopes: [],
    expiry: { from: "created", ms: 60_000 },
    runUntil: null,
    pollIntervalMs: 1000,
    statusMessage: null,
    ...members,
  };
}

export function createQueued(name: string, members: Partial<NewTask> = {}): TaskCommand<"create"> {
  return { type: "create", now: noon, task: sampleTask(name, members), request: sampleRequest, token: null };
}

/** Creates a task that already runs under the token `t1`. */
export function createRunning(name: string, members: Partial<NewTask> = {}): TaskCommand<"create"> {
  return { ...createQueued(name, members), token: "t1" };
}
