import { expect, it } from "vitest";
import type { InputRequest } from "../../../src/client/question/ask-user.ts";
import { approval, related, relatedKey, sent, setUpCore, task, taskId, type CoreSetup } from "./core-peer.ts";

const accept = { action: "accept" as const, content: { ok: true } };

async function start({ peer, client }: CoreSetup) {
  peer.script("tools/call", { result: { task: task("working") } });
  return client.startTool("publish_report");
}

it("holds tasks/result open as soon as the task waits for input, and polls on [C-093 C-052]", async () => {
  const setup = await setUpCore({ onInput: async () => accept });
  const { peer, clock } = setup;
  clock.hold();
  const handle = await start(setup);
  const result = handle.result();
  await clock.nap(2000);
  const held = Promise.withResolvers<{ result: object }>();
  peer.script("tasks/result", () => held.promise);
  peer.notify("notifications/tasks/status", task("input_required", {}, 1));
  await peer.sees("tasks/result");
  peer.script("tasks/get", { result: task("input_required", {}, 1) }, { result: task("working", {}, 2) });
  (await clock.nap()).wake();
  await peer.sees("tasks/get", 1);
  (await clock.nap(2000)).wake();
  await peer.sees("tasks/get", 2);
  // What it is answered with comes before the next poll, and is the result once that says that the task has ended.
  await clock.nap(2000);
  peer.script("tasks/get", { result: task("completed", {}, 3) });
  held.resolve({ result: sent });
  expect(await result).toEqual(sent);
  expect(peer.of("tasks/result")).toHaveLength(1);
});

it("aborts the held tasks/result when nobody waits any more, without cancelling the task [C-053 C-087]", async () => {
  const setup = await setUpCore({ onInput: async () => accept });
  const { peer } = setup;
  const handle = await start(setup);
  peer.always("tasks/get", { result: task("input_required", {}, 1) });
  peer.script("tasks/result", "silence");
  const leaving = new AbortController();
  setup.clock.hold();
  const result = handle.result({ signal: leaving.signal });
  (await setup.clock.nap(2000)).wake();
  await peer.sees("tasks/result");
  leaving.abort(new Error("enough"));
  await expect(result).rejects.toThrow("enough");
  await peer.sees("notifications/cancelled");
  const [cancelled] = peer.params("notifications/cancelled");
  expect(cancelled?.["requestId"]).toBe(peer.of("tasks/result")[0]?.["id"]);
  expect(peer.of("tasks/cancel")).toEqual([]);
});

it("answers a question of a task in its name, once, whichever way it came [C-095 C-097 C-098]", async () => {
  const asked: InputRequest[] = [];
  const setup = await setUpCore({
    onInput: async (request) => {
      asked.push(request);
      return accept;
    },
  });
  const { peer } = setup;
  const handle = await start(setup);
  const first = peer.ask("elicitation/create", approval);
  await peer.settled(setup.client);
  expect(asked).toEqual([]); // nobody waits for the task yet
  peer.always("tasks/get", { result: task("working", {}, 1) });
  const result = handle.result();
  expect(await first.answer).toMatchObject({ result: { ...accept, _meta: { [relatedKey]: { taskId } } } });
  expect(asked).toMatchObject([{ key: first.id, method: "elicitation/create", taskId, params: approval }]);
  peer.always("tasks/get", { result: task("completed", {}, 2) });
  peer.always("tasks/result", { result: sent });
  await result;
});

it("shows a question among the task's, also where the server says only that it works", async () => {
  const answering = Promise.withResolvers<typeof accept>();
  const setup = await setUpCore({ onInput: () => answering.promise });
  const { peer, clock } = setup;
  clock.hold();
  const handle = await start(setup);
  const seen: unknown[] = [];
  const watching = (async () => {
    for await (const update of handle.updates()) seen.push(update);
  })();
  await clock.nap(2000);
  const { answer } = peer.ask("elicitation/create", approval);
  await peer.settled(setup.client);
  expect(seen.at(-1)).toMatchObject({
    status: "input_required",
    inputRequests: { "ask-1": { method: "elicitation/create", params: approval } },
  });
  answering.resolve(accept);
  await answer;
  peer.script("tasks/get", { result: task("completed", {}, 2) });
  peer.script("tasks/result", { result: sent });
  peer.notify("notifications/tasks/status", task("completed", {}, 2));
  await watching;
});

it("takes a question that is asked again for the same, and answers wherever it was asked", async () => {
  const answering = Promise.withResolvers<typeof accept>();
  let count = 0;
  const setup = await setUpCore({ onInput: () => (count++, answering.promise) });
  const { peer } = setup;
  peer.always("tasks/get", { result: task("working", {}, 1) });
  setup.clock.hold();
  const handle = await start(setup);
  const waiting = handle.result();
  const first = peer.ask("elicitation/create", approval);
  const second = peer.ask("elicitation/create", approval);
  await peer.settled(setup.client);
  answering.resolve(accept);
  expect(await first.answer).toMatchObject({ result: accept });
  expect(await second.answer).toMatchObject({ result: accept });
  await peer.settled(setup.client);
  expect(count).toBe(1);
  // Once it is answered, the same words are another question.
  const third = peer.ask("elicitation/create", approval);
  await third.answer;
  expect(count).toBe(2);
  setup.client.close().catch(() => undefined);
  await expect(waiting).rejects.toMatchObject({ code: "closed" });
});

it("takes a question back from the user when the server does, or the task ends", async () => {
  const reasons: unknown[] = [];
  const setup = await setUpCore({
    onInput: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason);
          reject(new Error("taken back"));
        });
      }),
  });
  const { peer } = setup;
  setup.clock.hold();
  peer.always("tasks/get", { result: task("working", {}, 1) });
  const handle = await start(setup);
  const result = handle.result();
  const { id } = peer.ask("elicitation/create", approval);
  await peer.settled(setup.client);
  peer.notify("notifications/cancelled", { requestId: id });
  await peer.settled(setup.client);
  expect(reasons).toHaveLength(1);
  peer.ask("elicitation/create", { ...approval, message: "Really?" });
  await peer.settled(setup.client);
  peer.notify("notifications/tasks/status", task("cancelled", {}, 2));
  await expect(result).rejects.toMatchObject({ code: "cancelled" });
  expect(reasons).toHaveLength(2);
});

it("cancels a task whose question cannot be answered, unless told otherwise [A-23]", async () => {
  const failures: unknown[] = [];
  const setup = await setUpCore({
    capabilities: { sampling: {} },
    onInput: async () => {
      throw new Error("no model");
    },
    onInputError: ({ error }) => void failures.push(error),
  });
  const { peer } = setup;
  setup.clock.hold();
  const handle = await start(setup);
  const result = handle.result();
  peer.script("tasks/cancel", { result: task("cancelled", {}, 2) });
  const content = { type: "text", text: "Sum up" };
  peer.ask("sampling/createMessage", {
    messages: [{ role: "user", content }],
    maxTokens: 10,
    _meta: related,
  });
  await expect(result).rejects.toMatchObject({ code: "cancelled" });
  expect(failures).toEqual([new Error("no model")]);
});

it("answers what is asked within a plain call, and says of no task", async () => {
  const keys: unknown[] = [];
  const setup = await setUpCore(
    {
      capabilities: { elicitation: {}, roots: {}, sampling: {} },
      onInput: async ({ method, taskId: of }) => {
        keys.push([method, of]);
        if (method === "roots/list") return { roots: [] };
        if (method === "elicitation/create") return accept;
        throw new Error("no model");
      },
    },
    { tools: {} },
  );
  const { peer, client } = setup;
  const { _meta, ...plain } = approval;
  const answers: unknown[] = [];
  peer.script("tools/call", async () => {
    const content = { type: "text", text: "Sum up" };
    const asked = [
      peer.ask("elicitation/create", plain),
      peer.ask("roots/list", {}),
      peer.ask("sampling/createMessage", { messages: [{ role: "user", content }], maxTokens: 10 }),
    ];
    for (const { answer } of asked) answers.push(await answer);
    return { result: sent };
  });
  expect(await client.callTool("publish_report")).toEqual(sent);
  expect(answers).toMatchObject([{ result: accept }, { result: { roots: [] } }, { error: { code: -32603 } }]);
  expect(keys).toEqual([
    ["elicitation/create", null],
    ["roots/list", null],
    ["sampling/createMessage", null],
  ]);
});

it("leaves requests that it did not declare to the SDK's client", async () => {
  const setup = await setUpCore({ onInput: async () => accept });
  const { answer } = setup.peer.ask("roots/list", {});
  expect(await answer).toMatchObject({ error: { code: -32601 } });
});
