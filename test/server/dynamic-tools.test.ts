import { PassThrough } from "node:stream";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { ReadBuffer, serializeMessage, McpServer, type JSONRPCMessage } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveHttp } from "holdfast/http";
import { serveStdio } from "holdfast/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";

const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };

/** A client at the other end of a pipe in this process. */
class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly #buffer = new ReadBuffer();

  async start(): Promise<void> {
    this.stdout.on("data", (chunk: Buffer) => {
      this.#buffer.append(chunk);
      for (let message = this.#buffer.readMessage(); message !== null; message = this.#buffer.readMessage())
        this.onmessage?.(message);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.stdin.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.stdin.end();
    this.onclose?.();
  }
}

interface Connected {
  readonly tasks: Tasks;
  readonly client: Client;
  readonly errors: unknown[];
  /** Resolves with the names of the tools when the next announcement has come. */
  readonly next: () => Promise<readonly string[]>;
  /** How many announcements have come. */
  readonly heard: () => number;
}

const wires = {
  async http(server: ReturnType<Tasks["server"]>): Promise<Transport> {
    const http = await serveHttp(server, { port: 0 });
    onTestFinished(() => http.close());
    return new StreamableHTTPClientTransport(new URL(http.url));
  },
  async stdio(server: ReturnType<Tasks["server"]>): Promise<Transport> {
    const pipe = new PipeTransport();
    const stdio = await serveStdio(server, { stdin: pipe.stdin, stdout: pipe.stdout });
    onTestFinished(() => stdio.close());
    return pipe;
  },
};

const revisions = { "2025-11-25": "legacy", "2026-07-28": { pin: "2026-07-28" } } as const;

async function connected(
  wire: keyof typeof wires,
  revision: keyof typeof revisions,
  register: (tasks: Tasks) => void = () => undefined,
  author: (mcp: McpServer) => void = () => undefined,
): Promise<Connected> {
  const errors: unknown[] = [];
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 100,
    onError: (error) => errors.push(error),
  });
  register(tasks);
  const transport = await wires[wire](
    tasks.server(() => {
      const mcp = new McpServer({ name: "dynamic", version: "1.0.0" });
      author(mcp);
      return mcp;
    }),
  );
  let heard = 0;
  let tell = Promise.withResolvers<void>();
  const client = new Client(
    { name: "listening", version: "1.0.0" },
    {
      versionNegotiation: { mode: revisions[revision] },
      listChanged: {
        tools: {
          autoRefresh: false,
          debounceMs: 0,
          onChanged: () => {
            heard += 1;
            tell.resolve();
            tell = Promise.withResolvers();
          },
        },
      },
    },
  );
  await client.connect(transport);
  onTestFinished(() => client.close());
  const names = async (): Promise<readonly string[]> =>
    (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name);
  return {
    tasks,
    client,
    errors,
    heard: () => heard,
    next: async () => {
      await tell.promise;
      return names();
    },
  };
}

const cases = (Object.keys(wires) as (keyof typeof wires)[]).flatMap((wire) =>
  (Object.keys(revisions) as (keyof typeof revisions)[]).map((revision) => [wire, revision] as const),
);

describe.each(cases)("a client on %s with %s", (wire, revision) => {
  it("hears of tools that come, change and go, from a server that began with none", async () => {
    const { tasks, client, next, heard, errors } = await connected(wire, revision);
    expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true });
    expect((await client.listTools()).tools).toEqual([]);

    let came = next();
    const [one, two, three] = ["one", "two", "three"].map((name) =>
      tasks.tool(name, { plain: "wait" }, () => text(name)),
    );
    expect(await came).toEqual(["one", "two", "three"]);
    expect(heard()).toBe(1); // for all three

    came = next();
    one?.disable();
    two?.remove();
    expect(await came).toEqual(["three"]);
    await expect(client.callTool({ name: "one" })).rejects.toThrow("Tool one disabled");
    await expect(client.callTool({ name: "two" })).rejects.toThrow("Tool two not found");

    came = next();
    one?.enable();
    expect((await came).toSorted()).toEqual(["one", "three"]);
    expect(await client.callTool({ name: "one" })).toMatchObject(text("one"));

    came = next();
    three?.update({ handler: () => text("other code"), onCrash: "resume" }); // which no list shows
    expect(await client.callTool({ name: "three" })).toMatchObject(text("other code"));
    expect(heard()).toBe(3);
    three?.update({
      description: "The third",
      inputSchema: z.object({ month: z.string() }),
      handler: ({ month }) => text(month),
    });
    await came;
    const { tools: listed } = await client.listTools(undefined, { cacheMode: "refresh" });
    expect(listed.find(({ name }) => name === "three")).toMatchObject({
      description: "The third",
      inputSchema: { properties: { month: { type: "string" } } },
    });
    expect(await client.callTool({ name: "three", arguments: { month: "May" } })).toMatchObject(text("May"));
    expect(errors).toEqual([]);
  });

  it("gets polling tools with the first tool that has tickets, and keeps them for its tickets", async () => {
    const { tasks, next } = await connected(wire, revision);
    let came = next();
    const tool = tasks.tool("report", {}, () => text("done"));
    expect(await came).toEqual(["report", "task_result", "task_cancel"]);
    expect(() => tasks.tool("task_cancel", {}, () => text("mine"))).toThrow(
      "has the same name as a polling tool",
    );
    came = next();
    tool.remove();
    expect(await came).toEqual(["task_result", "task_cancel"]);
  });
});

it("reports a tool once that an author's server has already, and lists the others", async () => {
  const { tasks, next, errors } = await connected(
    "stdio",
    "2025-11-25",
    () => undefined,
    (mcp) => void mcp.registerTool("mine", {}, () => text("the author's")),
  );
  const came = next();
  tasks.tool("mine", { plain: "wait" }, () => text("ours"));
  tasks.tool("other", { plain: "wait" }, () => text("ours"));
  expect(await came).toEqual(["mine", "other"]);
  tasks.tool("third", { plain: "wait" }, () => text("ours"));
  expect(errors.map(String)).toEqual([expect.stringContaining("Tool mine is already registered")]);
});

it("tells a session of 2025-11-25 that has no stream of its own yet when it has one, once", async () => {
  let tasks: Tasks | undefined;
  const { http } = await serve({ tools: (made) => (tasks = made) });
  const [silent, other] = [await SessionClient.open(http.url), await SessionClient.open(http.url)];
  const told = await other.listen();
  const change = async (name: string): Promise<void> => {
    tasks?.tool(name, { plain: "wait" }, () => text(name));
    expect(await told.message()).toEqual(changed);
  };
  await change("late");
  await change("later");
  const stream = await silent.listen();
  const first = await stream.next();
  expect(first?.message).toEqual(changed);
  await change("latest");
  const second = await stream.next();
  expect(second?.message).toEqual(changed);
  await stream.response.body?.cancel().catch(() => undefined);
  const again = await silent.listen(first?.id);
  expect(await again.next()).toEqual(second);
  await change("last");
  const third = await again.next();
  expect(third?.message).toEqual(changed);
  expect([first?.id, second?.id]).not.toContain(third?.id);
});
