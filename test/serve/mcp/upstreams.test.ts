import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { McpServer, ProtocolError, type RegisteredTool } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import type { InputRequest, InputResult } from "holdfast/client";
import { serveHttp, type HttpOptions, type HttpServer } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import { mcpUpstream } from "../../../src/serve/mcp/mcp-upstream.ts";
import type { ToolSource } from "../../../src/serve/source.ts";
import { clientOf, gateway, plainClientOf, until } from "./gateway.ts";

const deadline = 30_000;
const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });
const nameForm = { type: "object" as const, properties: { name: { type: "string" as const } } };

/** A server, without tasks unless they are given. Gives its URL. */
async function upstream(
  add: (server: McpServer) => void,
  http: Partial<HttpOptions> = { anonymous: "shared" },
  tasks = createTasks({ store: memoryStore() }),
): Promise<Pick<HttpServer, "url" | "notify" | "close">> {
  const server = await serveHttp(
    tasks.server(() => {
      const made = new McpServer({ name: "upstream", version: "1.0.0" });
      add(made);
      return made;
    }),
    { port: 0, ...http },
  );
  onTestFinished(() => server.close());
  return server;
}

/** A tool that asks in its session, where a server does not say for which call. `both` resolves when two calls have begun. */
function askingTool(server: McpServer, both?: () => Promise<void>): void {
  server.registerTool("who", {}, async ({ mcpReq }) => {
    await both?.();
    const { action, content } = await mcpReq.elicitInput(
      { message: "Who?", requestedSchema: nameForm },
      { relatedRequestId: mcpReq.id },
    );
    return text(`${action} ${String(content?.["name"])}`);
  });
}

const answering = (name: string) => ({
  onInput: async (_: InputRequest): Promise<InputResult> => ({ action: "accept", content: { name } }),
});

const byToken: Partial<HttpOptions> = {
  authenticate: async ({ headers, url }) => {
    const token = headers.get("authorization")?.replace("Bearer ", "");
    const only = new URL(url).searchParams.get("only");
    if (only !== null && only !== token) return undefined;
    const authInfo = { token: token ?? "", clientId: "any", scopes: [] };
    return token === undefined ? undefined : { principal: token, credentials: token, authInfo };
  },
};

function meeting(size = 2): () => Promise<void> {
  const all = Promise.withResolvers<void>();
  let here = 0;
  return async () => {
    if (++here === size) all.resolve();
    await all.promise;
  };
}

it(
  "never puts a question to another caller than the one whose call asks",
  { timeout: deadline },
  async () => {
    const both = meeting();
    const { url } = await upstream((server) => askingTool(server, both));
    const options = { url, protocolVersion: "2025-06-18" } as const;
    const served = await gateway([
      mcpUpstream("shared", { ...options, prefix: "shared_" }),
      mcpUpstream("own", { ...options, prefix: "own_", connections: "call" }),
    ]);
    const [ann, ben] = [await clientOf(served, answering("Ann")), await clientOf(served, answering("Ben"))];
    // Which of two calls on one connection asks cannot be told.
    const shared = await Promise.all([ann.callTool("shared_who"), ben.callTool("shared_who")]);
    expect(shared).toMatchObject([text("cancel undefined"), text("cancel undefined")]);
    expect(served.errors).toMatchObject(
      Array(2).fill({ message: "A question of the server shared was put to nobody" }),
    );
    const own = await Promise.all([ann.callTool("own_who"), ben.callTool("own_who")]);
    expect(own).toMatchObject([text("accept Ann"), text("accept Ben")]);
  },
);

it(
  "asks nobody for a call that was cancelled, at which the server may still work",
  { timeout: deadline },
  async () => {
    const [both, gate, asked] = [meeting(3), Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const { url } = await upstream((server) => {
      server.registerTool("late", {}, async () => {
        await both();
        await gate.promise;
        const question = server.server.elicitInput({ message: "Whose?", requestedSchema: nameForm });
        asked.resolve(await question.then(({ action }) => action, String));
        return text("too late");
      });
      server.registerTool("other", {}, async () => {
        await both();
        return text(await asked.promise);
      });
    });
    const served = await gateway([mcpUpstream("up", { url, protocolVersion: "2025-06-18" })]);
    const [ann, ben] = [await clientOf(served), await clientOf(served, answering("Ben"))];
    const call = await ann.startTool("late");
    const other = ben.callTool("other");
    await both();
    await call.cancel();
    gate.resolve();
    expect(await other).toMatchObject(text("cancel"));
    expect(served.errors).toMatchObject([{ message: "A question of the server up was put to nobody" }]);
  },
);

it("lets no model answer what people alone may answer at the server", { timeout: deadline }, async () => {
  const mark = { "holdfast/people-only": true };
  const { url } = await upstream((server) => {
    server.registerTool("wipe", {}, async ({ mcpReq }) => {
      const question = { message: "Wipe?", requestedSchema: nameForm, _meta: { ...mark, own: "left out" } };
      const { action } = await mcpReq.elicitInput(question, { relatedRequestId: mcpReq.id });
      return text(action);
    });
  });
  const served = await gateway([mcpUpstream("up", { url, protocolVersion: "2025-06-18" })]);
  const asked: unknown[] = [];
  const client = await clientOf(served, {
    onInput: async ({ params }: InputRequest): Promise<InputResult> => {
      asked.push(params);
      return { action: "decline" };
    },
  });
  expect(await client.callTool("wipe")).toMatchObject(text("decline"));
  expect(asked).toMatchObject([{ message: "Wipe?", _meta: mark }]);
  expect(asked).not.toMatchObject([{ _meta: { own: "left out" } }]);
});

it("follows the list of tools, whatever the revision", { timeout: deadline }, async () => {
  const lists: RegisteredTool[] = [];
  let hasMore = false;
  const { url, notify } = await upstream((server) => {
    lists.push(server.registerTool("first", {}, async () => text("first")));
    if (hasMore) server.registerTool("second", {}, async () => text("second"));
  });
  const served = await gateway([
    mcpUpstream("up", { url, exclude: ["f*t"], tools: { second: { name: "other" } } }),
  ]);
  const client = await clientOf(served);
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  expect(await names()).not.toContain("first");
  hasMore = true;
  await until(async () => {
    notify.toolsChanged();
    return (await names()).includes("other");
  });
  expect(await client.callTool("other")).toMatchObject(text("second"));
});

it("passes a call through, and stores nothing, where the options say so", { timeout: deadline }, async () => {
  const { url } = await upstream((server) => askingTool(server));
  const served = await gateway([mcpUpstream("up", { url, protocolVersion: "2025-06-18", durable: false })]);
  const client = await clientOf(served, { protocolVersion: "2025-11-25", ...answering("Ann") });
  const handle = await client.startTool("who");
  expect(handle.reference).toBeNull();
  expect(await handle.result()).toMatchObject(text("accept Ann"));
  expect((await served.tasks.admin.list({})).tasks).toEqual([]);
});

it(
  "goes on after the failure of a call that is passed through to a server with tasks",
  { timeout: deadline },
  async () => {
    const tasks = createTasks({ store: memoryStore() });
    tasks.tool("fails", { onCrash: "fail" }, () => {
      throw new ProtocolError(-32_000, "Nothing works");
    });
    const { url } = await upstream(() => undefined, { anonymous: "shared" }, tasks);
    const served = await gateway([mcpUpstream("up", { url, durable: false })]);
    const unhandled: unknown[] = [];
    const hear = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", hear);
    onTestFinished(() => void process.off("unhandledRejection", hear));
    const client = await plainClientOf(served);
    await expect(client.callTool({ name: "fails" })).rejects.toThrow("Nothing works");
    await new Promise((done) => setImmediate(done)); // rejections are known a turn later
    expect(unhandled).toEqual([]);
  },
);

it("ends a call that is under way when the options of its server change", { timeout: deadline }, async () => {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("job", { onCrash: "fail" }, async () => {
    begun.resolve();
    return gate.promise;
  });
  const { url } = await upstream(() => undefined, { anonymous: "shared" }, tasks);
  const served = await gateway([mcpUpstream("up", { url })]);
  const result = (await clientOf(served)).callTool("job");
  await begun.promise;
  await served.replace([mcpUpstream("up", { url, refreshMs: "10m" })]);
  gate.resolve("done");
  expect(await result).toMatchObject(text("done"));
});

it(
  "gives the upstream its own token, or one that is exchanged for the caller's",
  { timeout: deadline },
  async () => {
    const forms: URLSearchParams[] = [];
    const endpoint = createServer((request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        const form = new URLSearchParams(body);
        forms.push(form);
        const answer = {
          access_token: `for-${form.get("subject_token")}`,
          token_type: "Bearer",
          expires_in: 60,
        };
        response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void endpoint.close());
    const tokenEndpoint = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/token`;
    const { url } = await upstream((server) => {
      server.registerTool("whoami", {}, async ({ http }) => text(`token ${http?.authInfo?.token ?? "none"}`));
      server.registerPrompt("mine", {}, () => ({ messages: [] }));
    }, byToken);
    const served = await gateway(
      [
        mcpUpstream("static", { url, token: "gateway", prefix: "static_" }),
        mcpUpstream("exchanged", {
          url,
          token: "gateway",
          prefix: "exchanged_",
          exchange: { tokenEndpoint, clientId: "gateway", audience: "up" },
        }),
        mcpUpstream("refused", {
          url: `${url}?only=gateway`,
          token: "gateway",
          prefix: "refused_",
          exchange: { tokenEndpoint },
        }),
      ],
      {},
      byToken,
    );
    const client = await clientOf(served, { token: "ann" });
    expect(JSON.stringify(await client.callTool("static_whoami"))).toContain("gateway");
    expect(JSON.stringify(await client.callTool("exchanged_whoami"))).toContain("for-ann");
    const refused = await client.callTool("refused_whoami");
    expect(JSON.stringify(refused)).toContain("The server refused refused access");
    // Prompts and resources are read on a connection that all share, which has the token of the gateway.
    expect((await client.sdk.listPrompts()).prompts).toMatchObject([{ name: "static_mine" }]);
    expect(Object.fromEntries(forms[0] ?? [])).toMatchObject({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: "ann",
      audience: "up",
      client_id: "gateway",
    });
  },
);

it(
  "starts without an upstream that is away, says why, and serves its tools once it is there",
  { timeout: deadline },
  async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const served = await gateway([mcpUpstream("late", { url: `http://127.0.0.1:${port}/mcp` })]);
    expect(String(served.errors[0])).toContain("The server late cannot be reached");
    const client = await plainClientOf(served);
    await upstream((server) => server.registerTool("here", {}, async () => text("here")), {
      anonymous: "shared",
      port,
    });
    await until(async () => (await client.listTools()).tools.some(({ name }) => name === "here"));
  },
);

it("takes no slot for calls that wait until their server is there again", { timeout: deadline }, async () => {
  const add = (server: McpServer) => server.registerTool("away", {}, async () => text("there"));
  const { url, close } = await upstream(add);
  const handler = async () => text("here");
  const local: ToolSource = {
    name: "local",
    async open({ setTools }) {
      setTools([{ name: "here", config: { onCrash: "resume" }, handler }]);
      return { close: async () => undefined };
    },
  };
  const served = await gateway([mcpUpstream("up", { url, connections: "call" }), local], { concurrency: 2 });
  await close();
  const client = await clientOf(served);
  const calls = [client.callTool("away"), client.callTool("away")];
  await until(
    async () => (await served.tasks.admin.list({ states: ["running", "waiting"] })).tasks.length === 2,
  );
  expect(await client.callTool("here")).toMatchObject(text("here"));
  await upstream(add, { anonymous: "shared", port: Number(new URL(url).port) });
  expect(await Promise.all(calls)).toMatchObject([text("there"), text("there")]);
});

it("starts with a server that never lists its tools, and says so", { timeout: deadline }, async () => {
  const asked = Promise.withResolvers<void>();
  const { url } = await upstream(({ server }) => {
    server.registerCapabilities({ tools: {} });
    server.setRequestHandler("tools/list", () => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    });
  });
  vi.useFakeTimers({ toFake: ["setTimeout"], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const starting = gateway([mcpUpstream("mute", { url })]);
  await asked.promise;
  vi.advanceTimersByTime(15_000);
  const { errors } = await starting;
  expect(errors.map(String)).toEqual([
    "ServerAway: The server mute has not listed its tools yet. They are served once it has.",
  ]);
});

it("says once in a line why a server is away, not at each try", { timeout: deadline }, async () => {
  const tries = new Set<unknown>();
  const failing = createServer((request, response) => {
    tries.add(request.socket);
    response.writeHead(500, { connection: "close" }).end("no\nconfig");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void failing.close());
  await once(failing, "listening");
  const url = `http://127.0.0.1:${(failing.address() as AddressInfo).port}/mcp`;
  const { errors } = await gateway([mcpUpstream("down", { url })]);
  const atFirst = tries.size;
  await until(() => tries.size > 2 * atFirst);
  expect(errors.map((error) => inspect(error))).toEqual([
    expect.stringMatching(
      /^ServerAway: The server down cannot be reached, and is tried again\. .*HTTP 500: no config[^\n]*$/,
    ),
  ]);
});

it("says what changes to clients of every revision", { timeout: deadline }, async () => {
  const { url, notify } = await upstream((server) => {
    server.server.registerCapabilities({ resources: { subscribe: true } });
    server.registerPrompt("hello", {}, () => ({ messages: [] }));
    server.registerResource("a", "test://a", {}, ({ href: uri }) => ({ contents: [{ uri, text: "a" }] }));
  });
  const served = await gateway([mcpUpstream("up", { url })]);
  const modern = await clientOf(served, { protocolVersion: "2026-07-28" });
  const heard: string[] = [];
  modern.sdk.setNotificationHandler("notifications/prompts/list_changed", () => void heard.push("prompts"));
  await modern.sdk.listen({ promptsListChanged: true });
  const earlier = await clientOf(served, { protocolVersion: "2025-11-25" });
  earlier.sdk.setNotificationHandler(
    "notifications/resources/updated",
    ({ params }) => void heard.push(params.uri),
  );
  await earlier.sdk.subscribeResource({ uri: "test://a" });
  await until(() => {
    notify.promptsChanged();
    notify.resourceUpdated("test://a");
    return heard.includes("prompts") && heard.includes("test://a");
  });
  await earlier.sdk.unsubscribeResource({ uri: "test://a" });
});
