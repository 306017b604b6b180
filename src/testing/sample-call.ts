import type { TaskCommand } from "../task/command.ts";
import type { NewTask } from "../task/new-task.ts";
import { createRunning, noon, sampleRequest, sampleTask } from "./sample-task.ts";
import type { TaskStore } from "../store/store.ts";

/** The handler of the task `task-OF` calls a tool under the key `call-NAME`, which creates the task `task-NAME`. */
export function callTool(
  of: string,
  name: string,
  members: Partial<NewTask> = {},
): TaskCommand<"call_tool"> & { readonly token: string } {
  return {
    type: "call_tool",
    now: noon + 1,
    id: `task-${of}`,
    token: "t1",
    key: `call-${name}`,
    requestHash: "h",
    child: sampleTask(name, { generation: "child", ...members }),
    request: { ...sampleRequest, arguments: `"${name}"` },
    cancelGraceMs: 20,
  };
}

export function startTask(name: string): TaskCommand<"start"> {
  return { type: "start", now: noon + 2, id: `task-${name}`, token: "t1" };
}

/** Running tasks, each called by the one before it. */
export async function callDown(store: TaskStore, ...names: readonly string[]): Promise<void> {
  for (const [index, name] of names.entries()) {
    const above = names[index - 1];
    await store.write(above === undefined ? createRunning(name) : callTool(above, name));
    if (above !== undefined) await store.write(startTask(name));
  }
}

/** A running sample task asks a question. */
export function askAs(name: string, key: string): TaskCommand<"open_input"> {
  const input = { key, method: "elicitation/create", params: `{"message":"${name}"}` } as const;
  const held = { now: noon + 3, id: `task-${name}`, token: "t1" };
  return { ...held, type: "open_input", input, requestHash: "h", deadlineAt: null };
}

/** It ends with a result. */
export function settleAs(name: string, body = "{}"): TaskCommand<"settle"> {
  const outcome = { kind: "result", body } as const;
  return { type: "settle", now: noon + 9, id: `task-${name}`, token: "t1", outcome };
}

const ended = { now: noon + 9, id: "task-b" };
const outcome = { kind: "error", body: '{ "code":-1 }' } as const;
const expired = { outcome, statusMessage: "", visibleUntil: 0 };

/** Ways in which the task `task-b` ends, and the error of the call that its parent gets. */
export const callEnds: readonly (readonly [
  TaskCommand<"settle" | "fail" | "expire" | "cancel">,
  string | null,
])[] = [
  [settleAs("b", '{ "n":1.0 }'), null],
  [
    { ...settleAs("b"), outcome: { kind: "error_result", body: '{ "isError":true }' } },
    '{"reason":"failed","result":{ "isError":true }}',
  ],
  [{ ...settleAs("b"), outcome }, '{"reason":"failed","error":{ "code":-1 }}'],
  [{ ...expired, ...ended, type: "expire" }, '{"reason":"expired","error":{ "code":-1 }}'],
  [{ ...ended, type: "cancel" }, '{"reason":"cancelled"}'],
];
