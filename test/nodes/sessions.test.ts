import { expect, it } from "vitest";
import type { Message } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";
import { Nodes, type Node } from "./nodes.ts";

/** For a busy machine; the test takes a few seconds. */

/** A session whose requests are sent to nodes in turn, as a balancer does that knows nothing of sessions. */
class SpreadSession {
  readonly peer: SessionClient;
  readonly nodes: Node[];
  /** Methods of the requests, in order. */
  readonly sent: string[] = [];
  #next = 0;

  constructor(nodes: readonly Node[]) {
    this.nodes = [...nodes];
    this.peer = new SessionClient("", { capabilities: { elicitation: { form: {} } } }, (_, init) => {
      if (typeof init.body === "string") this.sent.push(String((JSON.parse(init.body) as Message)["method"]));
      return fetch(this.#node().url, init);
    });
  }

  async open(): Promise<void> {
    const response = await this.peer.initialize();
    this.peer.sessionId = response.headers.get("mcp-session-id") ?? undefined;
    await response.text();
    await this.peer.post({ method: "notifications/initialized" });
  }

  async result(method: string, params: object = {}): Promise<Message> {
    const { result, error } = await this.peer.request(method, params);
    expect(error).toBeUndefined();
    return result as Message;
  }

  async start(name: string, word: string): Promise<string> {
    const { task } = await this.result("tools/call", { name, arguments: { word }, task: {} });
    return (task as { readonly taskId: string }).taskId;
  }

  async taskIds(): Promise<string[]> {
    const { tasks } = await this.result("tasks/list");
    return (tasks as readonly { readonly taskId: string }[]).map(({ taskId }) => taskId);
  }

  #node(): Node {
    const node = this.nodes[this.#next++ % this.nodes.length];
    if (node === undefined) throw new Error("No node is left.");
    return node;
  }
}

const text = (said: string): object => ({ content: [{ type: "text", text: said }] });

it("a session of 2025-11-25 goes on at whichever nodes are left, with its tasks", async () => {
  await using nodes = await Nodes.inNewDatabase();
  const all = await Promise.all([nodes.start(), nodes.start(), nodes.start()]);
  const session = new SpreadSession(all);
  await session.open();

  const words = ["one", "two", "three", "four"];
  const taskIds: string[] = [];
  for (const word of words) {
    taskIds.push(await session.start("gated", word));
    await nodes.logged("(waits)", word);
  }
  const asked = await session.start("asks", "hat");
  for (let asks = 0; asks < all.length; asks++) {
    expect((await session.taskIds()).toSorted()).toEqual([...taskIds, asked].toSorted());
  }

  // A node that runs some of them, and not the one where the client waits for questions.
  const [lost] = all.filter(({ pid }) => nodes.runnersOf("one").includes(pid));
  if (lost === undefined) throw new Error("None runs it.");
  session.nodes.splice(session.nodes.indexOf(lost), 1);
  const stream = await session.peer.listen();
  await lost.kill();

  // The question is asked where the client listens, and answered elsewhere.
  for (;;) {
    const message = await stream.message();
    if (message === undefined) throw new Error("The stream has ended.");
    if (message["method"] !== "elicitation/create") continue;
    await session.peer.post({ id: message["id"], result: { action: "accept", content: { name: "Ada" } } });
    break;
  }
  expect(await session.result("tasks/result", { taskId: asked })).toMatchObject(text("Ada's hat"));

  for (const [index, word] of words.entries()) {
    nodes.openGate(word);
    const result = await session.result("tasks/result", { taskId: taskIds[index] });
    expect(result).toMatchObject(text(`${word.toUpperCase()} ${word}`));
    expect(nodes.stepsOf(word)).toEqual(["first", "second"]);
  }
  expect(nodes.runnersOf("one")).toHaveLength(2);
  expect(session.sent.filter((method) => method === "initialize")).toHaveLength(1);

  // The others are told that it has ended.
  await session.peer.send("DELETE");
  const headers = { "mcp-session-id": String(session.peer.sessionId), "mcp-protocol-version": "2025-11-25" };
  for (const { url } of session.nodes) {
    const ping = (): Promise<Response> =>
      new SessionClient(url).post({ id: "late", method: "ping" }, { headers });
    await expect.poll(async () => (await ping()).status, { timeout: 5_000 }).toBe(404);
  }
});
