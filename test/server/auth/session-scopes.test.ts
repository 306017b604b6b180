import { describe, expect, it } from "vitest";
import { form } from "../prepare-caller.ts";
import { type Message, text } from "../../kit/messages.ts";
import { type EventStream, SessionClient } from "../../kit/session-client.ts";
import { metadataUrl, protectedServer } from "./protected-server.ts";

const answer = { action: "accept", content: { name: "Ann" } };

/** One session of Ann's, by a token that may call `send`, and by one that may not. */
async function oneSession(): Promise<{ ann: SessionClient; weak: SessionClient }> {
  const { url, as } = await protectedServer(
    { scopes: { required: ["mcp"], tools: { send: ["send"] } } },
    {
      tools: (tasks) => {
        tasks.tool("send", {}, async (_, task) => {
          const { content } = await task.elicit("name", form("Name?"));
          return text(String(content?.["name"]));
        });
        tasks.tool("asks", {}, async (_, task) => task.call("send", "send"));
        tasks.tool("free", {}, async (_, task) => {
          await task.status("under way");
          return text("free");
        });
      },
    },
  );
  const ann = await SessionClient.open(url, await as("ann", "mcp send"));
  const weak = new SessionClient(url, await as("ann", "mcp"));
  weak.sessionId = ann.sessionId;
  return { ann, weak };
}

async function start(peer: SessionClient, name: string): Promise<string> {
  const created = await peer.request("tools/call", { name, task: {} });
  return (created["result"] as { task: { taskId: string } }).task.taskId;
}

async function until(peer: SessionClient, taskId: string, status: string): Promise<void> {
  while (((await peer.request("tasks/get", { taskId }))["result"] as Message)["status"] !== status) {
    await new Promise(setImmediate);
  }
}

/** The next question on a stream. */
async function questionOn(stream: EventStream): Promise<{ id: unknown; eventId: string }> {
  for (;;) {
    const event = await stream.next();
    const { method, id } = event?.message ?? {};
    if (event === undefined || method === "elicitation/create") return { id, eventId: event?.id ?? "" };
  }
}

function expectRefused({ status, headers }: Response): void {
  const challenge = `Bearer error="insufficient_scope", error_description="The token lacks a required scope", scope="mcp send", resource_metadata="${metadataUrl}"`;
  expect([status, headers.get("www-authenticate")]).toEqual([403, challenge]);
}

describe("a session of 2025-11-25 in which tokens for less are used too", () => {
  it("tells nothing of a task on a stream that was opened without its scope, and takes no answer to it", async () => {
    const { ann, weak } = await oneSession();
    const weakStream = await weak.listen();
    const sent = await start(ann, "send");
    await until(ann, sent, "input_required");
    const free = await start(ann, "free");
    for (let told = ""; !told.includes("completed");) {
      told = JSON.stringify(await weakStream.message());
      expect([told.includes(free), told.includes(sent)]).toEqual([true, false]);
    }

    const { id } = await questionOn(await ann.listen());
    expectRefused(await weak.post({ id, result: answer }));
    await until(ann, sent, "input_required");
    expect((await ann.post({ id, result: answer })).status).toBe(202);
    await until(ann, sent, "completed");
  });

  it("says of its log that it has grown on a stream with its scope only, be that opened later", async () => {
    const { ann, weak } = await oneSession();
    const uriOf = (id: string): string => `task://${id}/log`;
    const newsOn = async (stream: EventStream): Promise<unknown> => {
      for (;;) {
        const message = await stream.message();
        if (message?.["method"] === "notifications/resources/updated") return message["params"];
      }
    };
    const weakStream = await weak.listen();
    const [sent, free] = [await start(ann, "send"), await start(ann, "free")];
    await until(ann, free, "completed");
    await ann.request("resources/subscribe", { uri: uriOf(sent) });
    await ann.request("tasks/cancel", { taskId: sent });
    await until(ann, sent, "cancelled");
    await ann.request("resources/subscribe", { uri: uriOf(free) });
    expect(await newsOn(weakStream)).toEqual({ uri: uriOf(free) });
    expect(await newsOn(await ann.listen())).toEqual({ uri: uriOf(sent) });
  });

  it("keeps news of its log while a stream without its scope comes", async () => {
    const { ann, weak } = await oneSession();
    const sent = await start(ann, "send");
    await ann.request("resources/subscribe", { uri: `task://${sent}/log` });
    await ann.request("tasks/cancel", { taskId: sent });
    await until(ann, sent, "cancelled");
    const weakStream = await weak.listen();
    const stream = await ann.listen(); // in its place
    for (let method: unknown; method !== "notifications/resources/updated";) {
      method = (await stream.message())?.["method"];
    }
    expect(JSON.stringify(await weakStream.rest())).not.toContain(sent);
  });

  it("takes no answer to what a task below asks without the scope of that", async () => {
    const { ann, weak } = await oneSession();
    const asks = await start(ann, "asks");
    await until(weak, asks, "input_required");
    const { id } = await questionOn(await ann.listen());
    expectRefused(await weak.post({ id, result: answer }));
    await until(weak, asks, "input_required");
    expect((await ann.post({ id, result: answer })).status).toBe(202);
    await until(weak, asks, "completed");
  });

  it("neither ends nor takes up a call without the scope that it needed", async () => {
    const { ann, weak } = await oneSession();
    const call = await ann.begin("tools/call", { name: "send" });
    const { id, eventId } = await questionOn(call);
    expectRefused(await weak.post({ id, result: { action: "cancel" } }));
    expectRefused(await weak.post({ method: "notifications/cancelled", params: { requestId: 1 } }));
    expectRefused(await weak.send("GET", { headers: { "last-event-id": eventId } }));
    expect((await ann.post({ id, result: answer })).status).toBe(202);
    expect(await call.message()).toMatchObject({ result: text("Ann") });
  });
});
