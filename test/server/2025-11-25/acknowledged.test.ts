import { memoryStore } from "holdfast/memory";
import type { TaskStore } from "holdfast/store";
import { expect, it } from "vitest";
import { formClient, text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";

/** A store that takes no answer before it is told to. */
function slowToTakeAnswers(): { store: TaskStore; takesAnswers: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const real = memoryStore();
  const store = new Proxy(real, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const call = (...args: unknown[]): unknown => Reflect.apply(member, target, args);
      if (name !== "write") return call;
      return async (...args: unknown[]): Promise<unknown> => {
        if (JSON.stringify(args).includes('"accept\\"')) await promise;
        return call(...args);
      };
    },
  });
  return { store, takesAnswers: resolve };
}

it("acknowledges an answer over HTTP once it is in the journal", async () => {
  const { store, takesAnswers } = slowToTakeAnswers();
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("confirm", {}, async (_, task) => {
        const requestedSchema = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };
        const { action } = await task.elicit("sure", { message: "Sure?", requestedSchema });
        return text(action);
      }),
    options: { store },
    http: { anonymous: "shared" },
  });
  const peer = await SessionClient.open(http.url, { capabilities: formClient });
  const stream = await peer.listen();
  const { result } = await peer.request("tools/call", { name: "confirm", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  let question = await stream.message();
  while (question?.["method"] !== "elicitation/create") question = await stream.message();
  let acknowledged = false;
  const posted = peer
    .post({ id: question["id"], result: { action: "accept", content: { ok: true } } })
    .then(({ status }) => {
      acknowledged = true;
      return status;
    });
  // Two round trips later the answer has long arrived.
  for (let n = 0; n < 2; n++) {
    expect(await peer.request("tasks/get", { taskId })).toMatchObject({
      result: { status: "input_required" },
    });
  }
  expect(acknowledged).toBe(false);
  takesAnswers();
  expect(await posted).toBe(202);
  expect(await peer.request("tasks/result", { taskId })).toMatchObject({ result: text("accept") });
});
