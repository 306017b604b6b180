import { expect, it, onTestFinished } from "vitest";
import { serveSessions } from "../sdk-v1/http.ts";
import { openDurable, storeNames } from "../sdk-v1/stores.ts";
import { exampleServer } from "../sdk-v1/tools.ts";
import type { Message } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";
import { unknownLike } from "./stage.ts";

const secret = "amethyst.txt";

/** Alice and Bob, each in a session of a server on SDK v1, which owns what is created in it. */
async function sessions(
  store: (typeof storeNames)[number],
): Promise<{ alice: SessionClient; bob: SessionClient }> {
  const durable = await openDurable(store);
  const http = await serveSessions(() => exampleServer(durable));
  onTestFinished(() => http.close());
  return {
    alice: await SessionClient.open(http.url.href),
    bob: await SessionClient.open(http.url.href),
  };
}

async function start(session: SessionClient, name: string, args: object): Promise<string> {
  const answer = await session.request("tools/call", { name, arguments: args, task: { ttl: 60_000 } });
  return (answer as { result: { task: { taskId: string } } }).result.task.taskId;
}

async function until(session: SessionClient, taskId: string, status: string): Promise<void> {
  for (;;) {
    const { result } = (await session.request("tasks/get", { taskId })) as { result: Message };
    if (result["status"] === status) return;
    await new Promise(setImmediate);
  }
}

it.each(storeNames)(
  "keeps the sessions of a server on SDK v1 apart, in a %s store [A-40 A-43]",
  async (store) => {
    const { alice, bob } = await sessions(store);
    const tasks: readonly (readonly [tool: string, args: object, status: string])[] = [
      ["delay", { ms: 3_600_000 }, "working"],
      ["delay", { ms: 0 }, "completed"],
      ["delay", { ms: 0, fails: true }, "failed"],
      ["confirm_delete", { filename: secret }, "input_required"],
    ];
    const ids: string[] = [];
    for (const [tool, args, status] of tasks) {
      const id = await start(alice, tool, args);
      await until(alice, id, status);
      ids.push(id);
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
        // The SDK's own words repeat the id that was asked for.
        const by = async (taskId: string): Promise<string> => {
          const { error } = await bob.request(method, { taskId });
          return JSON.stringify(error).replaceAll(taskId, "…");
        };
        const foreign = await by(id);
        expect(foreign).toContain("-32602");
        expect(foreign).toBe(await by(unknownLike(id)));
        expect(foreign).not.toContain(secret);
      }
      expect(await alice.request("tasks/get", { taskId: id })).toMatchObject({ result: { status } });
    }
    expect(await bob.request("tasks/list")).toMatchObject({ result: { tasks: [] } });
    const cursor = (await bob.request("tasks/list", { cursor: ids[1] }))["error"] ?? "none";
    const unknown =
      (await bob.request("tasks/list", { cursor: unknownLike(ids[1] ?? "") }))["error"] ?? "none";
    expect(JSON.stringify(cursor).replaceAll(ids[1] ?? "", "…")).toBe(
      JSON.stringify(unknown).replaceAll(unknownLike(ids[1] ?? ""), "…"),
    );
    // What waits in her queue is still there for her.
    const asking = await alice.begin("tasks/result", { taskId: ids[3] });
    expect(JSON.stringify(await asking.message())).toContain(secret);
  },
);
