import type { TaskStore } from "../store/store.ts";
import type { CommandResult } from "../task/command-result.ts";
import { assertMembers } from "./assert-members.ts";
import { aHandler, createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";

const id = "task-a";

function claim(store: TaskStore, token: string, version?: number): Promise<CommandResult<"claim">> {
  const handler = version === undefined ? aHandler : { ...aHandler, version };
  return store.write({ type: "claim", now: noon + 9, handlers: [handler], tokens: [token] });
}

export const versionCases = storeCases("versions", {
  "a task has none before it is started": async ({ store }) => {
    await store.write({ ...createQueued("a"), version: 3 });
    assertMembers(await store.get(id), { toolVersion: null });
  },

  "a task keeps that of the tool that started it first, whatever claims it later": async ({ store }) => {
    await store.write(createQueued("a"));
    assertMembers(await claim(store, "c1", 2), { tasks: [{ id, toolVersion: 2 }] });
    await store.write({ type: "release", now: noon, id, token: "c1" });
    assertMembers(await claim(store, "c2", 3), { tasks: [{ id, toolVersion: 2, attempt: 2 }] });
    assertMembers(await store.get(id), { toolVersion: 2 });
  },

  "a task that runs from the start, or is started by its id, has it too": async ({ store }) => {
    await store.write({ ...createRunning("a"), version: 4 });
    await store.write(createQueued("b"));
    await store.write({ type: "start", now: noon, id: "task-b", token: "s1", version: 5 });
    assertMembers(await store.get(id), { toolVersion: 4 });
    assertMembers(await store.get("task-b"), { toolVersion: 5 });
  },

  "a task that was started without any never gets one": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "release", now: noon, id, token: "t1" });
    assertMembers(await claim(store, "c1", 2), { tasks: [{ id, toolVersion: null }] });
  },
});
