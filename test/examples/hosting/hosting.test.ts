import { once } from "node:events";
import { request } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder, serveExample, type AtEnd, type ExampleServer } from "../../docs/example-process.ts";
import { RawConnection } from "../../kit/raw-connection.ts";
import { text } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { type Sending, StatelessClient } from "../../kit/stateless-client.ts";
import { acknowledged, listenTo, Subscription } from "../../kit/subscription.ts";
import { reverseProxy } from "./proxy.ts";

interface Hosted {
  readonly server: ExampleServer;
  /** Where clients reach it. */
  readonly url: string;
}

const atEnd: AtEnd = (end) => afterAll(async () => end());

async function hosted(file: string): Promise<Hosted> {
  const server = await serveExample(file, await newFolder(atEnd), {}, atEnd);
  return { server, url: server.url };
}

async function behindProxy(): Promise<Hosted> {
  const { server, url } = await hosted("hosting/server.ts");
  return { server, url: await reverseProxy(new URL(url), "reports.example.com", atEnd) };
}

const hosts: [string, () => Promise<Hosted>][] = [
  ["bare node:http", () => hosted("hosting/node-http.ts")],
  ["Express", () => hosted("hosting/express.ts")],
  ["Fastify", () => hosted("hosting/fastify.ts")],
  ["Hono", () => hosted("hosting/hono.ts")],
  ["a route of a fetch framework", () => hosted(new URL("route-server.ts", import.meta.url).href)],
  ["a server behind a reverse proxy", behindProxy],
];

const ann = { authorization: "Bearer token-of-ann" };
const by = (headers: Record<string, string>): Sending => ({ headers });

describe.each(hosts)("%s", (name, host) => {
  let server: ExampleServer;
  let url: string;
  let peer: StatelessClient;
  beforeAll(async () => {
    ({ server, url } = await host());
    peer = new StatelessClient(url, (at, init) => {
      const headers = new Headers(init.headers);
      if (!headers.has("authorization")) headers.set("authorization", ann.authorization);
      return fetch(at, { ...init, headers });
    });
  });

  /** Listens until the task has that status. */
  async function state(taskId: string, status: string): Promise<Record<string, unknown>> {
    const listener = await Subscription.to(url, { taskIds: [taskId] }, { headers: ann });
    await listener.next(); // the acknowledgement
    const task = await listener.until(status);
    await listener.leave();
    return task;
  }

  it("runs a tool as a task, for its caller alone", async () => {
    const taskId = await peer.start("render", { month: "2026-10" });
    expect(await state(taskId, "completed")).toMatchObject({ result: text("2 rows") });
    const { error } = await peer.send("tasks/get", { taskId }, by({ authorization: "Bearer token-of-bob" }));
    expect(error?.code).toBe(-32602);
  });

  it("runs a tool of the author's own", async () => {
    expect((await peer.call("count", { to: 1 })).result).toMatchObject(text("counted to 1"));
  });

  it("asks a question, of a client of either era", async () => {
    const taskId = await peer.start("publish", { month: "2026-10" });
    const { inputRequests } = await state(taskId, "input_required");
    const [key = ""] = Object.keys(inputRequests as object);
    await peer.result("tasks/update", {
      taskId,
      inputResponses: { [key]: { action: "accept", content: {} } },
    });
    expect(await state(taskId, "completed")).toMatchObject({ result: text("published") });

    const client = new Client(
      { name: "desk", version: "1" },
      { capabilities: { elicitation: { form: {} } } },
    );
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "decline" }));
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: ann } }));
    expect(await client.callTool({ name: "publish", arguments: { month: "2026-11" } })).toMatchObject(
      text("not published"),
    );
    await client.close();
  });

  it("tells who listens what becomes of a task", async () => {
    const taskId = await peer.start("publish", { month: "2026-12" });
    const listener = await Subscription.to(url, { taskIds: [taskId] }, { headers: ann });
    expect((await listener.next())?.["method"]).toBe(acknowledged);
    await listener.until("input_required");
    await peer.send("tasks/cancel", { taskId });
    await listener.until("cancelled");
    await listener.leave();
  });

  it("refuses who brings no token, or another", async () => {
    for (const authorization of ["Bearer unknown", "Basic YTpi"]) {
      const answer = await fetch(url, { method: "POST", headers: { authorization } });
      await answer.arrayBuffer();
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([
        401,
        expect.stringMatching(/^Bearer/),
      ]);
    }
  });

  it.each(["", "?", "?a=b", "#a"])("refuses who brings no token to its path with %j", async (end) => {
    const { hostname, port, pathname } = new URL(url);
    const headers = { "content-type": "application/json" };
    const sent = request({ hostname, port, path: `${pathname}${end}`, method: "POST", headers }).end("{}");
    const [answer] = (await once(sent, "response")) as [NodeJS.ReadableStream & { statusCode: number }];
    await textOf(answer);
    // What comes after a "#" belongs to the path for some, and there is nothing at that path.
    expect(answer.statusCode).toSatisfy((status) => status === 401 || (end === "#a" && status >= 400));
  });

  it("refuses a host name that it was not told of, and says where to add it", async () => {
    const { hostname, port, pathname: path } = new URL(server.url);
    const headers = { ...ann, host: "evil.example", "content-type": "application/json" };
    const sent = request({ hostname, port, path, method: "POST", headers }).end("{}");
    const [answer] = (await once(sent, "response")) as [NodeJS.ReadableStream & { statusCode: number }];
    expect([answer.statusCode, await textOf(answer)]).toEqual([
      403,
      expect.stringMatching(/"evil\.example\\?".*allowedHosts/),
    ]);
  });

  it("refuses a request that is too large", async () => {
    const { status, error } = await peer.call("render", { month: "x".repeat(4_500_000) });
    expect([status, error?.message]).toEqual([413, expect.stringContaining("larger than")]);
  });

  it.skipIf(name.startsWith("a route"))("tells load balancers without a token how it is", async () => {
    for (const path of ["/healthz", "/readyz"]) {
      expect((await fetch(new URL(path, url))).status).toBe(200);
    }
  });

  it("stops in order in the middle of a call", async () => {
    const { port, pathname } = new URL(server.url);
    const slow = [`POST ${pathname} HTTP/1.1`, "Host: localhost", `Authorization: ${ann.authorization}`];
    const body = ["Content-Type: application/json", "Content-Length: 100", "", "{"];
    await RawConnection.to(Number(port), [...slow, ...body].join("\r\n"));
    const session = await SessionClient.open(url, { headers: ann });
    const stream = await session.listen();
    const listened = await listenTo(url, { taskIds: [] }, { headers: ann });
    const _meta = { progressToken: "a" };
    const call = await session.begin("tools/call", { name: "count", arguments: { to: 5 }, _meta });
    expect(await call.message()).toMatchObject({ method: "notifications/progress" });
    const stopped = server.stop();
    const rest = await call.rest();
    expect(rest.at(-1)).toMatchObject({ result: text("counted to 5") });
    expect(await stream.rest()).toEqual([]);
    await listened.text();
    expect(await stopped).toEqual([0, null]);
  });
});
