import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { testTasks, type TestTasks } from "holdfast/testing";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { addAgentToAgent } from "../../../examples/use-cases/agent-to-agent.ts";

/** The other agent: a server of its own, over HTTP. */
class Peer {
  readonly tasks: Tasks;
  /** How often its work began. */
  begun = 0;
  /** What its work waits for. */
  readonly gate = Promise.withResolvers<string>();
  url = "";

  private constructor(asks: boolean) {
    this.tasks = createTasks({ store: memoryStore() });
    const config = { inputSchema: z.object({ question: z.string() }), pollIntervalMs: 1_000 };
    this.tasks.tool("think", config, async ({ question }, task) => {
      this.begun += 1;
      const requestedSchema = { type: "object" as const, properties: { topic: { type: "string" as const } } };
      const answer = asks ? await task.elicit("which", { message: "Which?", requestedSchema }) : undefined;
      const thought = await Promise.race([this.gate.promise, cancelOf(task.signal)]);
      return { content: [{ type: "text", text: [question, answer?.content?.["topic"], thought].join(" ") }] };
    });
  }

  static async serve({ asks = false } = {}): Promise<Peer> {
    const peer = new Peer(asks);
    const http = await serveHttp(
      peer.tasks.server(() => new McpServer({ name: "peer", version: "1" })),
      { port: 0 },
    );
    onTestFinished(() => http.close());
    peer.url = http.url;
    return peer;
  }

  /** The states of its tasks. */
  async states(): Promise<string[]> {
    return (await this.tasks.admin.list({})).tasks.map(({ state }) => state);
  }
}

function cancelOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
}

function asking(peer: Peer): Promise<TestTasks> {
  const thinker = { url: peer.url, tool: "think" };
  return testTasks((tasks) => addAgentToAgent(tasks, { thinker }));
}

const question = { agent: "thinker", question: "Why?" };

it("takes up the same work of the other agent after each crash", async () => {
  const peer = await Peer.serve();
  await using t = await asking(peer);
  const started = t.crash({ before: "start" }); // the other works, and nobody here knows
  const task = await t.start("ask_agent", question);
  await started;
  await t.restart();
  const looked = t.crash({ after: ["look", 0] });
  await t.clock.advance("1s");
  await looked;
  await t.restart();
  expect(await task.status()).toBe("working");
  peer.gate.resolve("because");
  await t.clock.advance("5s");
  expect((await task.result()).content).toEqual([{ type: "text", text: "Why?  because" }]);
  expect(task.runs("start")).toBe(2);
  expect([peer.begun, await peer.states()]).toEqual([1, ["completed"]]);
});

it("passes on what the other agent asks, once", async () => {
  const peer = await Peer.serve({ asks: true });
  peer.gate.resolve("because");
  await using t = await asking(peer);
  const task = await t.start("ask_agent", question);
  await expect.poll(() => peer.begun).toBe(1);
  await t.clock.advance("5s");
  const key = ["asks", "which"];
  expect((await task.question(key)).params["message"]).toBe("Which?");
  const answered = t.crash({ after: key }); // the other has not heard of it
  const answering = task.answer(key, { action: "accept", content: { topic: "physics" } });
  await answered;
  await t.restart();
  await answering;
  await t.clock.advance("5s");
  expect((await task.result()).content).toEqual([{ type: "text", text: "Why? physics because" }]);
  expect(await peer.states()).toEqual(["completed"]);
});

it.each(["goes on", "has been restarted"])(
  "cancels the other's work where it is cancelled, while its server %s",
  async (server) => {
    const peer = await Peer.serve();
    await using t = await asking(peer);
    const task = await t.start("ask_agent", question);
    await t.clock.advance("2s");
    expect(await peer.states()).toEqual(["running"]);
    if (server !== "goes on") await t.restart();
    await task.cancel();
    await expect(task.result()).rejects.toMatchObject({ code: "cancelled" });
    await expect.poll(() => peer.states()).toEqual(["cancelled"]);
  },
);

it("asks several agents side by side", async () => {
  const [quick, slow] = [await Peer.serve(), await Peer.serve()];
  const agents = { quick: { url: quick.url, tool: "think" }, slow: { url: slow.url, tool: "think" } };
  await using t = await testTasks((tasks) => addAgentToAgent(tasks, agents));
  const late = await t.start("ask_agent", { agent: "slow", question: "A?" });
  quick.gate.resolve("quickly");
  const early = await t.start("ask_agent", { agent: "quick", question: "B?" });
  await t.clock.advance("2s");
  expect((await early.result()).content).toEqual([{ type: "text", text: "B?  quickly" }]);
  expect(await late.status()).toBe("working");
  slow.gate.resolve("slowly");
  await t.clock.advance("5s");
  expect((await late.result()).content).toEqual([{ type: "text", text: "A?  slowly" }]);
});
