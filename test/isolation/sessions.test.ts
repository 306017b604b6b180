import { describe, expect, it } from "vitest";
import { encodeCursor } from "../../src/generation/message.ts";
import { accept } from "../server/prepare-caller.ts";
import type { Message } from "../kit/messages.ts";
import { type EventStream, SessionClient } from "../kit/session-client.ts";
import { seen } from "./seen.ts";
import { as, secret, stage, states, toolFor, unknownLike, type State } from "./stage.ts";

type Session = SessionClient;

/** With sessions, or each request by itself. */
const open = async (url: string, who: string, sessions = true): Promise<Session> =>
  sessions ? SessionClient.open(url, as(who)) : new SessionClient(url, as(who));

const resultOf = <T>(message: Message): T => message["result"] as T;

async function start(session: Session, tool: string, word: string, more: object = {}): Promise<string> {
  const params = { name: tool, arguments: { word }, task: {}, ...more };
  const { task } = resultOf<{ task: { taskId: string } }>(await session.request("tools/call", params));
  return task.taskId;
}

async function until(session: Session, taskId: string, status: string): Promise<void> {
  for (;;) {
    const task = resultOf<Message>(await session.request("tasks/get", { taskId }));
    if (task["status"] === status && JSON.stringify(task).includes("sleeping on") === (status === "working"))
      return;
    await new Promise(setImmediate);
  }
}

async function taskOf(session: Session, state: State): Promise<string> {
  const id = await start(session, toolFor[state], secret);
  if (state === "cancelled") {
    await session.request("tasks/cancel", { taskId: id });
    return id;
  }
  await until(session, id, state);
  return id;
}

/** What somebody sees of the answer to a request; all have the same id, and leave out whose session it is. */
async function ask(session: Session, method: string, params: object): Promise<string> {
  const answer = await seen(await session.post({ id: "same", method, params }));
  return answer.replaceAll(session.sessionId ?? "no session", "…");
}

function expectNothingOf(id: string, answer: string): void {
  for (const word of [secret, id, "alice"]) expect(answer).not.toContain(word);
}

describe.each([
  ["with sessions", true],
  ["without sessions", false],
])("%s", (_, sessions) => {
  const methods = ["tasks/get", "tasks/result", "tasks/cancel"];
  // Without sessions nothing can be asked of the client.
  const reached = states.filter((state) => sessions || state !== "input_required");
  it.each(reached.flatMap((state) => methods.map((method) => [state, method] as const)))(
    "tells nobody of another's %s task: %s [A-40 C-119]",
    async (state, method) => {
      const { http, errors } = await stage({ sessions });
      const [alice, bob] = [await open(http.url, "alice", sessions), await open(http.url, "bob", sessions)];
      const id = await taskOf(alice, state);
      const before = await ask(alice, "tasks/get", { taskId: id });
      const foreign = await ask(bob, method, { taskId: id });
      expect(foreign).toContain("-32602");
      expect(foreign).toBe(await ask(bob, method, { taskId: unknownLike(id) }));
      expect(foreign).toBe(await ask(bob, method, { taskId: "unknown" }));
      expectNothingOf(id, foreign);
      expect(await ask(alice, "tasks/get", { taskId: id })).toBe(before);
      expect(before).toContain(id);
      expect(errors).toEqual([]);
    },
  );

  it("lists nobody another's tasks, from wherever he starts [C-075 C-119]", async () => {
    const { http } = await stage({ sessions });
    const [alice, bob, carol] = await Promise.all(
      ["alice", "bob", "carol"].map((who) => open(http.url, who, sessions)),
    );
    if (alice === undefined || bob === undefined || carol === undefined) throw new Error("nobody came");
    const [older, id] = [await start(bob, "completes", "beryl"), await taskOf(alice, "working")];
    const newer = await start(bob, "completes", "beryl");
    const list = await ask(bob, "tasks/list", {});
    expect([list.includes(older), list.includes(newer)]).toEqual([true, true]);
    expectNothingOf(id, list);
    const after = (start_: string): Promise<string> =>
      ask(bob, "tasks/list", { cursor: encodeCursor(start_) });
    // Hers is a place in time like any other.
    expect(await after(id)).toBe(await after(unknownLike(id)));
    expect((await after(id)).includes(older)).toBe(true);
    expect(await ask(carol, "tasks/list", { cursor: encodeCursor(id) })).toBe(
      await ask(carol, "tasks/list", {}),
    );
  });

  it.each([
    ["the same call", secret, {}],
    ["the same call, said to be a repeated one", secret, { "holdfast/repeat": true }],
    ["another call", "beryl", {}],
  ])(
    "makes a task of his own for whoever brings another's idempotency key with %s [A-48]",
    async (_name, word, meta) => {
      const { http } = await stage({ sessions });
      const [alice, bob] = [await open(http.url, "alice", sessions), await open(http.url, "bob", sessions)];
      const more = { _meta: { "holdfast/idempotencyKey": "order-7", ...meta } };
      const hers = await start(alice, "completes", secret, more);
      const his = await start(bob, "completes", word, more);
      expect(his).not.toBe(hers);
      expect(await start(bob, "completes", word, more)).toBe(his);
      expect(await start(alice, "completes", secret, more)).toBe(hers);
    },
  );
});

/** Reads a stream up to the message that shows this task completed. */
async function toTheEndOf(taskId: string, reader: EventStream): Promise<string> {
  const messages: string[] = [];
  for (;;) {
    const message = await reader.message();
    if (message === undefined) return messages.join("\n");
    messages.push(JSON.stringify(message));
    const { taskId: about, status } = (message["params"] ?? {}) as Message;
    if (about === taskId && status === "completed") return messages.join("\n");
  }
}

it("sends nobody another's questions, status or progress, on whatever stream [C-066 C-119]", async () => {
  const { http } = await stage();
  const [alice, bob] = [await open(http.url, "alice"), await open(http.url, "bob")];
  const [hers, his] = [await alice.listen(), await bob.listen()];
  const more = { _meta: { progressToken: "p" } }; // the same of both, as both may choose it
  const id = await start(alice, "asks", secret, more);
  const waiting = await bob.begin("tasks/result", { taskId: id });
  const question = (await (async () => {
    for (;;) {
      const message = await hers.message();
      if (message?.["method"] === "elicitation/create") return message;
    }
  })()) as { id: string };
  // The ids of questions count in each session, so that everybody can guess them.
  await bob.post({ id: question.id, result: accept("bob") });
  await bob.post({ id: question.id, error: { code: 1, message: "no" } });
  await bob.post({ method: "notifications/cancelled", params: { requestId: question.id } });
  expect(await alice.request("tasks/get", { taskId: id })).toMatchObject({
    result: { status: "input_required" },
  });
  await alice.post({ id: question.id, result: accept("alice") });
  expect(await toTheEndOf(id, hers)).toContain(id);

  const own = await start(bob, "asks", "beryl", more);
  const asked = (await (async () => {
    for (;;) {
      const message = await his.message();
      if (message?.["method"] === "elicitation/create") return message;
      expectNothingOf(id, JSON.stringify(message));
    }
  })()) as { id: string };
  await bob.post({ id: asked.id, result: accept("bob") });
  const said = await toTheEndOf(own, his);
  expect(said).toContain(own);
  expectNothingOf(id, said + JSON.stringify([asked, await waiting.rest()]));
});

it("cancels nothing of another's by the ids of her requests", async () => {
  const { http } = await stage();
  const [alice, bob] = [await open(http.url, "alice"), await open(http.url, "bob")];
  const id = await start(alice, "sleeps", secret);
  const waiting = new AbortController();
  const response = await alice.post(
    { id: "wait", method: "tasks/result", params: { taskId: id } },
    { signal: waiting.signal },
  );
  await bob.post({ method: "notifications/cancelled", params: { requestId: "wait" } });
  await bob.post({ method: "notifications/cancelled", params: { requestId: 1 } });
  expect(await alice.request("tasks/get", { taskId: id })).toMatchObject({ result: { status: "working" } });
  await alice.request("tasks/cancel", { taskId: id });
  expect(await response.text()).toContain("Task was cancelled");
});

it("knows another's session as little as one that never was, whatever is sent to it", async () => {
  const { http } = await stage();
  const alice = await open(http.url, "alice");
  const hers = await alice.listen();
  const id = await taskOf(alice, "input_required");
  let question = await hers.message();
  while (question?.method !== "elicitation/create") question = await hers.message();
  const tried = async (sessionId: string): Promise<string[]> => {
    const bob = new SessionClient(http.url, as("bob"));
    bob.sessionId = sessionId;
    const messages = [
      { id: 1, method: "ping" },
      { id: 1, method: "tools/call", params: { name: "completes", arguments: { word: "beryl" } } },
      { id: 1, method: "tasks/get", params: { taskId: id } },
      { id: 1, method: "tasks/list" },
      {
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "b", version: "1" } },
      },
      { id: question.id, result: accept("bob") },
      { method: "notifications/initialized" },
    ];
    const answers: string[] = [];
    for (const message of messages) answers.push(await seen(await bob.post(message)));
    const batch = messages.map((message) => ({ jsonrpc: "2.0", ...message }));
    answers.push(await seen(await bob.post(batch)));
    for (const lastEventId of ["", "1@_GET_stream", "x"]) {
      answers.push(await seen(await bob.send("GET", { headers: { "last-event-id": lastEventId } })));
    }
    answers.push(await seen(await bob.send("DELETE")), await seen(await bob.send("PUT", { body: "{}" })));
    return answers;
  };
  const foreign = await tried(alice.sessionId ?? "");
  expect(foreign).toEqual(await tried(crypto.randomUUID()));
  for (const answer of foreign) expectNothingOf(id, answer);
  expect(foreign.slice(0, -1).filter((answer) => !answer.startsWith("404"))).toEqual([]);
  expect(await alice.request("tasks/get", { taskId: id })).toMatchObject({
    result: { status: "input_required" },
  });
  expect(hers.response.ok).toBe(true);
});

it("resumes no stream of another's by the ids of its events", async () => {
  const { http } = await stage();
  const [alice, bob] = [await open(http.url, "alice"), await open(http.url, "bob")];
  const hers = await alice.listen();
  const call = { name: "completes", arguments: { word: secret }, task: {} };
  const second = await (await alice.begin("tools/call", call)).next();
  const id = resultOf<{ task: { taskId: string } }>(second?.message ?? {}).task.taskId;
  const first = await hers.next();
  const [log = "", stream = ""] = second?.id?.split("-") ?? [];
  expect(stream).not.toBe("");
  const by = async (lastEventId: string): Promise<string> =>
    seen(await bob.send("GET", { headers: { "last-event-id": lastEventId } }));
  const foreign = await by(`${log}-${stream}-0`);
  expect(foreign).toBe(await by(`00000000-${stream}-0`));
  expect(foreign.startsWith("405")).toBe(true);
  // The stream that belongs to no request has one number in all sessions: it is his own that he gets.
  expect(first?.id).toMatch(/-0-\d+$/);
  const own = await bob.listen(first?.id);
  const his = await start(bob, "completes", "beryl");
  const said = await toTheEndOf(his, own);
  expect(said).toContain(his);
  expectNothingOf(id, said);
});
