import { expect, it, onTestFinished } from "vitest";
import { memoryHandles } from "../../../src/client/handles/handle-store.ts";
import type { InputRequest, InputResult } from "../../../src/client/question/ask-user.ts";
import { approval, sent, setUpCore, task, taskId, type CorePeer } from "../2025-11-25/core-peer.ts";
import * as sep from "../sep-1686/sep-peer.ts";

const accept = { action: "accept" as const, content: { ok: true } };

function named(key: string): object {
  return { ...approval, _meta: { ...approval._meta, "holdfast/questionKey": key } };
}

/** A user who answers the first question when the test says so, and any later one with "decline". */
function user() {
  const asked: InputRequest[] = [];
  const first = Promise.withResolvers<InputResult>();
  const onInput = async (request: InputRequest): Promise<InputResult> => {
    asked.push(request);
    return asked.length === 1 ? first.promise : { action: "decline" };
  };
  return { asked, onInput, answer: () => first.resolve(accept) };
}

function ends(peer: CorePeer): void {
  peer.always("tasks/get", { result: task("completed", {}, 2) });
  peer.always("tasks/result", { result: sent });
}

it("recognises a repeated question, and repeats a lost answer without asking", async () => {
  const { asked, onInput, answer } = user();
  const { peer, client } = await setUpCore({ onInput });
  peer.script("tools/call", { result: { task: task("working") } });
  peer.always("tasks/get", { result: task("working", {}, 1) });
  const result = client.callTool("publish_report");
  const first = peer.ask("elicitation/create", named("approve"));
  const second = peer.ask("elicitation/create", named("approve"));
  await peer.settled(client);
  answer();
  expect(await first.answer).toMatchObject({ result: accept });
  expect(await second.answer).toMatchObject({ result: accept });
  for (let again = 0; again < 3; again++) {
    expect(await peer.ask("elicitation/create", named("approve")).answer).toMatchObject({ result: accept });
  }
  expect(asked).toMatchObject([{ key: "approve", taskId }]);
  ends(peer);
  expect(await result).toEqual(sent);
});

it("distinguishes questions by their keys, even with the same content", async () => {
  const { asked, onInput, answer } = user();
  const { peer, client } = await setUpCore({ onInput });
  peer.script("tools/call", { result: { task: task("working") } });
  peer.always("tasks/get", { result: task("working", {}, 1) });
  const result = client.callTool("publish_report");
  const first = peer.ask("elicitation/create", named("one"));
  const second = peer.ask("elicitation/create", named("two"));
  expect(await second.answer).toMatchObject({ result: { action: "decline" } });
  answer();
  expect(await first.answer).toMatchObject({ result: accept });
  expect(asked.map(({ key }) => key)).toEqual(["one", "two"]);
  ends(peer);
  expect(await result).toEqual(sent);
});

it("treats a key as unique only within its task", async () => {
  const { asked, onInput, answer } = user();
  const { peer, client } = await setUpCore({ onInput });
  const others = { taskId: "another" };
  peer.script(
    "tools/call",
    { result: { task: task("working") } },
    { result: { task: task("working", others) } },
  );
  peer.always("tasks/get", ({ taskId: id }) => ({ result: task("working", { taskId: id }, 1) }));
  const results = [client.callTool("publish_report"), client.callTool("publish_report")];
  answer();
  expect(await peer.ask("elicitation/create", named("approve")).answer).toMatchObject({ result: accept });
  const _meta = { "io.modelcontextprotocol/related-task": others, "holdfast/questionKey": "approve" };
  expect(await peer.ask("elicitation/create", { ...approval, _meta }).answer).toMatchObject({
    result: { action: "decline" },
  });
  expect(asked.map(({ taskId: of }) => of)).toEqual([taskId, "another"]);
  peer.always("tasks/get", ({ taskId: id }) => ({ result: task("completed", { taskId: id }, 2) }));
  peer.always("tasks/result", { result: sent });
  expect(await Promise.all(results)).toEqual([sent, sent]);
});

it("stores an answer before it is sent, and sends it after a restart of the client without asking", async () => {
  const handles = memoryHandles();
  const kept = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const { asked, onInput, answer } = user();
  const dying = {
    ...handles,
    keepAnswer: async (...about: Parameters<typeof handles.keepAnswer>) => {
      await handles.keepAnswer(...about);
      kept.resolve();
      await over.promise;
    },
  };
  const serverName = "reports";
  const before = await setUpCore({ onInput, handles: dying, serverName });
  onTestFinished(() => over.resolve());
  before.peer.script("tools/call", { result: { task: task("working") } });
  before.peer.always("tasks/get", { result: task("working", {}, 1) });
  before.client.callTool("publish_report").catch(() => undefined);
  const lost = before.peer.ask("elicitation/create", named("approve"));
  answer();
  await kept.promise;

  const after = await setUpCore({ onInput, handles, serverName });
  after.peer.always("tasks/get", { result: task("working", {}, 1) });
  const [call] = await after.client.pending();
  const result = (await call?.take())?.result();
  expect(await after.peer.ask("elicitation/create", named("approve")).answer).toMatchObject({
    result: accept,
  });
  expect(asked).toHaveLength(1);
  expect(before.peer.seen.filter(({ id }) => id === lost.id)).toEqual([]);
  ends(after.peer);
  expect(await result).toEqual(sent);
  expect(
    await handles.answer({ server: serverName, generation: "2025-11-25", taskId }, "approve"),
  ).toBeUndefined();
});

it("does the same for tasks of SEP-1686", async () => {
  const { asked, onInput, answer } = user();
  const setup = await sep.setUpSep({ onInput });
  const { peer } = setup;
  const handle = await sep.start(setup);
  const _meta = { ...sep.related(handle.id), "holdfast/questionKey": "approve" };
  peer.always("tasks/get", sep.task("input_required"));
  const result = handle.result();
  answer();
  for (let time = 0; time < 3; time++) {
    expect(await peer.ask("elicitation/create", { ...approval, _meta }).answer).toMatchObject({
      result: accept,
    });
  }
  expect(asked).toMatchObject([{ key: "approve", taskId: handle.id }]);
  peer.always("tasks/get", sep.task("completed"));
  peer.always("tasks/result", { result: sent });
  expect(await result).toEqual(sent);
});
