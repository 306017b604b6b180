import { PassThrough } from "node:stream";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";

type Read = (uri: string) => Promise<unknown>;

/** A server that has resources of the scheme `task` itself, one of them in a form that is ours. */
function authors(mcp: McpServer): void {
  const body = ({ href }: URL) => ({ contents: [{ uri: href, text: "the author's" }] });
  mcp.registerResource("board", "task://board/today", {}, body);
  mcp.registerResource("shadowed", "task://board/log", {}, body);
  mcp.registerResource(
    "journals",
    new ResourceTemplate("task://{id}/journal", { list: undefined }),
    {},
    body,
  );
}

function tools(tasks: Tasks): void {
  tasks.tool("index", {}, () => text("indexed"));
}

async function ways(): Promise<readonly Read[]> {
  const { http } = await serve({ tools, server: authors, http: { anonymous: "shared" } });
  const peer = new StatelessClient(http.url);
  const session = await SessionClient.open(http.url);
  const answerOf = ({ result, error }: { result?: unknown; error?: unknown }): unknown => result ?? error;
  const own = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  tools(own);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const makeServer = (): McpServer => {
    const mcp = new McpServer({ name: "reports", version: "1.2.3" });
    authors(mcp);
    return mcp;
  };
  const server = await serveStdio(own.server(makeServer), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  return [
    async (uri) => answerOf(await peer.send("resources/read", { uri }, { headers: { "Mcp-Name": uri } })),
    async (uri) => answerOf(await session.request("resources/read", { uri })),
    (uri) => pipe.request("resources/read", { uri }),
  ];
}

it("leaves an author's own resources of the scheme to the author's server, but for those of the form that logs have", async () => {
  for (const read of await ways()) {
    for (const uri of ["task://board/today", "task://a/journal"]) {
      expect(await read(uri)).toMatchObject({ contents: [{ uri, text: "the author's" }] });
    }
    const uri = "task://board/log";
    expect(await read(uri)).toEqual({ code: -32_602, message: `Resource not found: ${uri}`, data: { uri } });
  }
});

it("has the author's server refuse what only looks like a log", async () => {
  const odd = [
    "task://a",
    "task://a/log/1",
    "task://a/log?after=-1",
    "task://a/log?after=1.5",
    "task://a/log?after=9999999999999999",
    "task://a/log?after=1&before=2",
    "task://a/output#1",
    "task:///log",
    "task://%/log",
    "not a URI",
  ];
  for (const read of await ways()) {
    for (const uri of odd) {
      const error = (await read(uri)) as { code: number; message: string };
      expect([uri, error.code]).toEqual([uri, -32_602]);
      expect(error.message).toBeTypeOf("string");
    }
  }
});
