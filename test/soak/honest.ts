import assert from "node:assert/strict";
import { withTask } from "../../src/generation/sep-1686.ts";
import { coreTask } from "../load/phases.ts";
import type { Message } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { Subscription } from "../kit/subscription.ts";

/** Headers of whoever has that name. No connection is kept: the server may end it just as the next request goes out. */
export const as = (name: string): { authorization: string; connection: string } => ({
  authorization: `Bearer ${name}`,
  connection: "close",
});

const textOf = (result: unknown): string =>
  (result as { content?: readonly [{ text: string }] } | undefined)?.content?.[0].text ?? "";

/** A client of 2026-07-28 that starts a task, listens to it until it has ended, and calls without tasks too. */
async function extension(url: string, name: string): Promise<void> {
  const peer = new StatelessClient(url);
  const headers = as(name);
  const { result } = await peer.call("echo", { say: name }, { headers });
  const taskId = result?.["taskId"] as string;
  const leaving = new AbortController();
  const listener = await Subscription.to(
    url,
    { taskIds: [taskId] },
    { headers, fetch: (to, init) => fetch(to, { ...init, signal: leaving.signal }) },
  );
  await listener.next(); // the acknowledgement
  await listener.until("completed");
  leaving.abort();
  const task = await peer.get(taskId, { headers });
  assert.equal(textOf(task["result"]), name);
  const plain = await peer.call("echo", { say: `${name} again` }, { headers, capabilities: {} });
  assert.equal(textOf(plain.result), `${name} again`);
}

/** A session with tasks of 2025-11-25 and of SEP-1686, and a call of a client that knows no tasks; `polite` ends it. */
async function session(url: string, name: string, polite: boolean): Promise<void> {
  const peer = await SessionClient.open(url, { headers: as(name) });
  const leaving = new AbortController();
  await peer.listen(undefined, { signal: leaving.signal });
  const taskId = await coreTask(peer, "echo", { say: name });
  const core: Message = await peer.request("tasks/result", { taskId });
  assert.equal(textOf(core["result"]), name);
  await peer.request("tasks/list");
  const params = withTask({ name: "echo", arguments: { say: "sep" } }, { taskId: crypto.randomUUID() });
  assert.equal(textOf((await peer.request("tools/call", params))["result"]), "sep");
  leaving.abort();
  const old = await SessionClient.open(url, { headers: as(name), version: "2025-06-18" });
  assert.equal(textOf((await old.call("echo", { say: "old" }))["result"]), "old");
  if (!polite) return;
  await peer.send("DELETE");
  await old.send("DELETE");
}

/** What those who mean well do in one round. Throws where anything is answered wrongly. */
export async function honest(url: string, round: number): Promise<void> {
  const clients = ["ann", "bob", "carl"].map(async (name, place) => {
    await extension(url, name);
    await session(url, name, (round + place) % 3 !== 0);
  });
  await Promise.all(clients);
}
