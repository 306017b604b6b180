import { expect, it } from "vitest";
import { StatelessClient } from "../kit/stateless-client.ts";
import { listenTo, Subscription } from "../kit/subscription.ts";
import { accept, PrepareCaller } from "../server/prepare-caller.ts";
import { send, seen } from "./seen.ts";
import { as, secret, stage, states, toolFor, unknownLike, type State } from "./stage.ts";

const key = "holdfast/idempotencyKey";
const alice = as("alice");

/** A task of Alice's in a state; what she sees of it tells later whether anybody touched it. */
async function taskOf(url: string, state: State): Promise<{ id: string; look: () => Promise<string> }> {
  const peer = new StatelessClient(url);
  const id = await peer.start(toolFor[state], { word: secret }, alice);
  if (state === "cancelled") await peer.send("tasks/cancel", { taskId: id }, alice);
  while ((await peer.get(id, alice))["status"] !== state) await new Promise(setImmediate);
  // Its status text comes with a change of its own.
  while (state === "working" && !(await look()).includes("sleeping")) await new Promise(setImmediate);
  async function look(): Promise<string> {
    return seen(await send(url, "alice", "tasks/get", { taskId: id }));
  }
  return { id, look };
}

const methods = ["tasks/get", "tasks/update", "tasks/cancel"];
it.each(states.flatMap((state) => methods.map((method) => [state, method] as const)))(
  "tells nobody of another's %s task: %s [X-P-003 A-40 X-103]",
  async (state, method) => {
    const { http, errors } = await stage();
    const { id, look } = await taskOf(http.url, state);
    const before = await look();
    const by = async (who: string, taskId: string): Promise<string> => {
      const inputResponses = { [`key of ${secret}`]: accept("bob") };
      return seen(await send(http.url, who, method, { taskId, inputResponses }));
    };
    const foreign = await by("bob", id);
    expect(foreign).toContain("-32602");
    expect(foreign).toBe(await by("bob", unknownLike(id)));
    expect(foreign).toBe(await by("bob", "unknown"));
    for (const word of [secret, id, "alice"]) expect(foreign).not.toContain(word);
    expect(await look()).toBe(before);
    expect(before).toContain(id);
    expect(errors).toEqual([]);
  },
);

it("pushes nothing of another's tasks, and acknowledges them as unknown ones [X-P-003 A-27]", async () => {
  const { http } = await stage();
  const peer = new StatelessClient(http.url);
  const { id } = await taskOf(http.url, "input_required");
  const own = await peer.start("asks", { word: "beryl" }, as("bob"));

  const acknowledgementOf = async (taskId: string): Promise<unknown> => {
    const listener = new Subscription(await listenTo(http.url, { taskIds: [taskId] }, as("bob")));
    const event = await listener.event();
    await listener.leave();
    return event;
  };
  expect(await acknowledgementOf(id)).toBe(await acknowledgementOf(unknownLike(id)));

  const listener = new Subscription(await listenTo(http.url, { taskIds: [id, own, "unknown"] }, as("bob")));
  const events: string[] = [(await listener.event()) ?? ""];
  expect(events[0]).toContain(`"taskIds":["${own}"]`);
  await peer.send(
    "tasks/update",
    { taskId: id, inputResponses: { [`key of ${secret}`]: accept("a") } },
    alice,
  );
  while ((await peer.get(id, alice))["status"] !== "completed") await new Promise(setImmediate);
  const inputResponses = { "key of beryl": accept("bob") };
  await peer.send("tasks/update", { taskId: own, inputResponses }, as("bob"));
  while (!events.at(-1)?.includes('"completed"')) events.push((await listener.event()) ?? '"completed"');
  await listener.leave();
  expect(events.join()).toContain("beryl, says bob");
  for (const word of [secret, id, "alice"]) expect(events.join()).not.toContain(word);
});

it.each([
  ["the same call", { word: secret }, {}],
  ["the same call, said to be a repeated one", { word: secret }, { "holdfast/repeat": true }],
  ["another call", { word: "beryl" }, {}],
])(
  "makes a task of his own for whoever brings another's idempotency key with %s [A-48]",
  async (_, args, meta) => {
    const { http } = await stage();
    const call = async (who: string, params: object): Promise<string> => {
      const _meta = { [key]: "order-7", ...meta };
      const response = await send(http.url, who, "tools/call", {
        name: "completes",
        arguments: params,
        _meta,
      });
      return ((await response.json()) as { result: { taskId: string } }).result.taskId;
    };
    const hers = await call("alice", { word: secret });
    const his = await call("bob", args);
    expect(his).toBeTypeOf("string");
    expect(his).not.toBe(hers);
    expect(await call("bob", args)).toBe(his);
    expect(await call("alice", { word: secret })).toBe(hers);
    expect(await seen(await send(http.url, "alice", "tasks/get", { taskId: his }))).toBe(
      await seen(await send(http.url, "alice", "tasks/get", { taskId: "unknown" })),
    );
  },
);

it("refuses another's requestState as one that nobody was given [X-B-010]", async () => {
  const { http } = await stage();
  const caller = new PrepareCaller(new StatelessClient(http.url), "prepares", alice);
  const call = { arguments: { word: secret } };
  const { requestState } = await caller.round(call);
  const by = async (who: string, state: string): Promise<string> => {
    const params = { name: "prepares", ...call, requestState: state, inputResponses: { name: accept("b") } };
    return seen(await send(http.url, who, "tools/call", params));
  };
  const foreign = await by("bob", requestState);
  expect(foreign).toContain("-32602");
  expect(foreign).toBe(await by("bob", unknownLike(requestState)));
  expect(foreign).not.toContain(secret);
  expect(await by("alice", requestState)).toContain('"resultType":"task"');
});

it("shows a task through no other generation than that which made it, to its owner neither [A-35]", async () => {
  const { http } = await stage();
  const { id } = await taskOf(http.url, "completed");
  const legacy = async (taskId: string): Promise<string> => {
    const headers = {
      authorization: "alice",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const opened = await fetch(http.url, {
      method: "POST",
      headers,
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } },
      }),
    });
    await opened.text();
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const answers = ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"].map(async (method) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { taskId } });
      const answer = await seen(
        await fetch(http.url, { method: "POST", headers: { ...headers, ...session }, body }),
      );
      return answer.replaceAll(session["mcp-session-id"], "");
    });
    return (await Promise.all(answers)).join("\n");
  };
  const foreign = await legacy(id);
  expect(foreign).toBe(await legacy(unknownLike(id)));
  expect(foreign).not.toContain(id);
});
