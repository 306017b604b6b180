import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";
import { KilledServer } from "../peers/killed-server.ts";

/** For a busy machine; a test takes a few seconds. */
const timeout = 120_000;

/** On a busy machine a server takes longer to start than the two tries that the client makes by itself. */
const reconnectionOptions = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 200,
};

/** The official client of SDK v1, whose stream of the session is open, and what it sends and hears. */
async function connected() {
  const server = await KilledServer.start();
  const sent: string[] = [];
  let streamOpened = Promise.withResolvers<void>();
  const recorded: typeof fetch = async (input, init) => {
    if (typeof init?.body === "string")
      sent.push(String((JSON.parse(init.body) as { method?: string }).method));
    const response = await fetch(input, init);
    if (init?.method === "GET" && response.ok) streamOpened.resolve();
    return response;
  };
  const client = new Client({ name: "survivor", version: "1.0.0" });
  const heard: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    heard.push([params.level, params.data]);
  });
  const updated = Promise.withResolvers<string>();
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
    updated.resolve(params.uri),
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.url), { fetch: recorded, reconnectionOptions }),
  );
  onTestFinished(() => client.close());
  await streamOpened.promise; // the client does not try again if it cannot be opened at first
  const call = async (name: string, word: string): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: { word } });
    return (content as { text: string }[])[0]?.text ?? "";
  };
  /** Resolves when the client has come back for the stream of the session. */
  const restart = async (): Promise<void> => {
    streamOpened = Promise.withResolvers();
    await server.restart();
    await streamOpened.promise;
  };
  return { server, restart, client, sent, heard, updated: updated.promise, call };
}

it("goes on in its session when the server is killed between any two requests", { timeout }, async () => {
  const { server, client, sent, call } = await connected();
  await server.restart();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "quick", "gated"]));
  await server.restart();
  expect(await call("quick", "one")).toBe("ONE");
  await server.restart();
  expect(await call("echo", "two")).toBe("two");
  await server.restart();
  await client.ping();
  expect(sent.filter((method) => method === "initialize")).toHaveLength(1);
  expect(server.stepsOf("one")).toEqual(["shout"]);
});

it("keeps its log level and its subscriptions when the server is killed", { timeout }, async () => {
  const { restart, client, heard, updated, call } = await connected();
  await client.setLoggingLevel("error");
  await restart();
  await client.subscribeResource({ uri: "test://note" });
  await restart();
  expect(await call("echo", "loud")).toBe("loud");
  expect(heard).toEqual([["error", "loud"]]);
  expect(await updated).toBe("test://note");
});

it.each(fullForm ? (["kill", "stop"] as const) : (["kill"] as const))(
  "gets the result of a call in flight on its own stream after a %s, and another one after that",
  { timeout },
  async (end) => {
    const { server, client, sent, call } = await connected();
    const result = call("gated", "flight");
    await server.logged("(waits)", "flight");
    await server[end]();
    await server.serve();
    await server.logged("(waits)", "flight", 2);
    await server.restart(); // while the call has been resumed, or is about to be
    server.openGate("flight");
    expect(await result).toBe("FLIGHT flight");
    expect(server.stepsOf("flight")).toEqual(["first", "second"]);
    await client.ping();
    expect(sent.filter((method) => method === "initialize")).toHaveLength(1);
    expect(sent.filter((method) => method === "tools/call")).toHaveLength(1);
  },
);

it("hears at once that a call of the author's own tool is lost", { timeout }, async () => {
  const { server, client } = await connected();
  const lost = client.callTool({ name: "hangs", arguments: {} });
  lost.catch(() => undefined); // it is awaited later
  await server.logged("(waits)", "hangs");
  await server.restart();
  await expect(lost).rejects.toThrow("Send the request again");
  await client.ping();
});
