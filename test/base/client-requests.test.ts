import type { Tasks } from "holdfast";
import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";

/** One HTTP request of a client. */
interface Sent {
  readonly method: string;
  readonly headers: Headers;
  readonly body: unknown;
  readonly answer: Promise<Response>;
}

interface Scene extends Served {
  readonly client: TaskClient;
  readonly sent: readonly Sent[];
  readonly release: () => void;
}

const version = "2025-11-25";

/** A client in a session of ours, and all that it sends. */
async function scene(options: ConnectOptions = {}): Promise<Scene> {
  const gate = Promise.withResolvers<void>();
  const tools = (tasks: Tasks): void => {
    tasks.tool("greet", {}, async (_, task) => {
      const { content } = await task.elicit("name", {
        message: "Name?",
        requestedSchema: { type: "object", properties: { name: { type: "string" } } },
      });
      return text(`hello ${String(content?.["name"])}`);
    });
    tasks.tool("gated", { task: "forbidden" }, async () => {
      await gate.promise;
      return text("through");
    });
  };
  const served = await serve({ tools, options: { pollIntervalMs: 50 } });
  const sent: Sent[] = [];
  const client = await connect(served.http.url, {
    protocolVersion: version,
    pollFloorMs: 1,
    onInput: async () => ({ action: "accept", content: { name: "Åsa 洋子" } }),
    fetch: (url, init) => {
      const answer = fetch(url, init);
      const body: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : undefined;
      sent.push({ method: init?.method ?? "GET", headers: new Headers(init?.headers), body, answer });
      return answer;
    },
    ...options,
  });
  onTestFinished(() => client.close());
  return { ...served, client, sent, release: gate.resolve };
}

const bodyOf = ({ body }: Sent): Record<string, unknown> => body as Record<string, unknown>;

it("sends one message with each POST, and accepts JSON and streams [B-042 B-059 B-060 B-061 B-066 C-055]", async () => {
  const { client, sent } = await scene();
  expect(await client.callTool("greet")).toMatchObject(text("hello Åsa 洋子"));
  await client.callTool("no_such_tool").catch(() => undefined);
  const posts = sent.filter(({ method }) => method === "POST");
  const methods = posts.map((post) => bodyOf(post)["method"] ?? "an answer");
  for (const kind of ["initialize", "notifications/initialized", "tools/call", "tasks/get", "an answer"])
    expect(methods).toContain(kind);
  const types = new Set<string>();
  for (const post of posts) {
    expect(bodyOf(post)["jsonrpc"]).toBe("2.0"); // an array has none
    const accepted = (post.headers.get("accept") ?? "").split(",").map((type) => type.trim());
    expect(accepted).toEqual(expect.arrayContaining(["application/json", "text/event-stream"]));
    types.add((await post.answer).headers.get("content-type") ?? "none");
  }
  expect([...types]).toEqual(expect.arrayContaining(["application/json", "text/event-stream"]));
});

it("names its session and the negotiated version in all that follows initialize [B-103 B-108 B-112 B-113]", async () => {
  const { client, sent } = await scene({ onInput: async () => ({ action: "decline" }) });
  await client.callTool("greet");
  await client.close();
  const [first, ...later] = sent;
  expect(first).toMatchObject({ method: "POST", body: { method: "initialize" } });
  expect(first?.headers.get("mcp-session-id")).toBeNull();
  const id = (await first?.answer)?.headers.get("mcp-session-id");
  expect(id).toMatch(/^[\x21-\x7e]+$/);
  expect(new Set(later.map(({ method }) => method))).toEqual(new Set(["POST", "GET", "DELETE"]));
  for (const { headers } of later) {
    expect([headers.get("mcp-session-id"), headers.get("mcp-protocol-version")]).toEqual([id, version]);
  }
  expect(later.at(-1)?.method).toBe("DELETE");
  expect((await later.at(-1)?.answer)?.status).toBe(200);
});

it("names an earlier version where that is what both speak [B-113]", async () => {
  const { client, sent } = await scene({ protocolVersion: "2025-06-18" });
  await client.sdk.listTools();
  const versions = sent.slice(1).map(({ headers }) => headers.get("mcp-protocol-version"));
  expect(new Set(versions)).toEqual(new Set(["2025-06-18"]));
});

it("has a stream of the session and those of several calls open at once [B-081 B-082 B-089]", async () => {
  const { client, sent, release } = await scene();
  const calls = [client.callTool("gated"), client.callTool("gated"), client.callTool("greet")];
  expect(await calls[2]).toMatchObject(text("hello Åsa 洋子"));
  const [listening] = sent.filter(({ method }) => method === "GET");
  expect(listening?.headers.get("accept")).toContain("text/event-stream");
  const answers = await Promise.all(
    sent.filter((each) => bodyOf(each)?.["method"] === "tools/call").map(({ answer }) => answer),
  );
  const streams = [await listening?.answer, ...answers.slice(0, 2)];
  for (const stream of streams) expect(stream?.headers.get("content-type")).toBe("text/event-stream");
  release();
  expect(await Promise.all(calls.slice(0, 2))).toEqual([text("through"), text("through")]);
});
