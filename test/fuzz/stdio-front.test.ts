import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import * as fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { authorsOwn } from "../server/session-server.ts";
import { fuzzRuns, fuzzTimeoutMs } from "./fuzz-runs.ts";
import { tickets, tools, type Known } from "./front.ts";
import { assertNothingPolluted } from "./hostile-json.ts";
import { hostileBody } from "./hostile-request.ts";

/** A server on a pipe, and what its client knows. */
async function piped(): Promise<{ stdin: PassThrough; pipe: StdioClient; known: Known }> {
  const rates = { pollsPerInterval: null, maxLoopDelayMs: null };
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 100,
    rates,
    onError: () => undefined,
    ...tickets,
  });
  tools(tasks);
  const factory = (): McpServer => {
    const mcp = new McpServer({ name: "fuzzed", version: "1" });
    authorsOwn(mcp);
    return mcp;
  };
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const taskIds = [await pipe.start("asks"), await pipe.start("works")];
  const { requestState } = await pipe.request("tools/call", { name: "prepares", arguments: {} });
  return {
    stdin,
    pipe,
    known: { sessionId: undefined, eventId: "", taskIds, requestState: String(requestState) },
  };
}

it("goes on after whatever comes in on stdin", { timeout: fuzzTimeoutMs }, async () => {
  const { stdin, pipe, known } = await piped();
  const line = fc.boolean().chain((modern) => hostileBody(known, modern));
  // A line that is too long ends the connection, and nobody's task.
  const short = line.filter((bytes) => bytes.length < 200_000);
  await fc.assert(
    fc.asyncProperty(fc.array(short, { minLength: 1, maxLength: 12 }), async (lines) => {
      for (const bytes of lines) {
        stdin.write(bytes);
        stdin.write("\n");
      }
      expect(await pipe.request("tools/call", { name: "greet", arguments: { name: "Ann" } })).toMatchObject(
        text("hello Ann"),
      );
      assertNothingPolluted();
    }),
    fuzzRuns(60),
  );
});
