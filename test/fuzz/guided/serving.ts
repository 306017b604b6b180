import { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { createFetchHandler } from "../../../src/http.ts";
import { createTasks } from "../../../src/index.ts";
import { memoryStore } from "../../../src/memory.ts";
import { assertNothingPolluted } from "../hostile-json.ts";
import { messages, words, type Target } from "./target.ts";

/** The HTTP front without a network: the body is the input, and the headers say what a correct client would. */
export async function serving(): Promise<Target> {
  const errors: unknown[] = [];
  const rates = { missesPerMinute: null, callsPerMinute: null, pollsPerInterval: null, maxLoopDelayMs: null };
  const tasks = createTasks({ store: memoryStore(), rates, onError: (error) => errors.push(error) });
  const loose = { inputSchema: z.looseObject({}) };
  tasks.tool("works", loose, () => ({ content: [] }));
  tasks.tool("greet", { ...loose, task: "forbidden" }, () => ({ content: [] }));
  tasks.tool("prepares", { ...loose, prepare: async (_, ask) => ask.roots("name") }, () => ({ content: [] }));
  const handler = createFetchHandler(
    tasks.server(() => new McpServer({ name: "fuzzed", version: "1" })),
    { sessions: false },
  );
  await tasks.start();
  const post = async (bytes: Buffer, modern: boolean): Promise<void> => {
    const { method, name } = namesIn(bytes);
    const leaving = new AbortController();
    const request = new Request("http://localhost/mcp", {
      method: "POST",
      signal: leaving.signal,
      headers: {
        host: "localhost",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": modern ? "2026-07-28" : "2025-11-25",
        ...(modern && { "mcp-method": method }),
        ...(modern && name !== undefined && { "mcp-name": name }),
      },
      body: new Uint8Array(bytes),
    });
    const response = await handler.fetch(request);
    const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
    const text = isStream ? "" : await response.text();
    leaving.abort();
    if (isStream) await response.body?.cancel();
    // The SDK answers params of its own methods that do not fit with -32603, and with what its schema says of them.
    const unexpected = text.includes("-32603") && !text.includes('"code":-32603,"message":"[');
    if (response.status >= 500 || unexpected) throw new Error(`${response.status} ${text}`);
  };
  return {
    words,
    seeds: messages,
    run: async (bytes) => {
      await post(bytes, true);
      await post(bytes, false);
      assertNothingPolluted();
      if (errors.length > 0) throw errors[0];
    },
    close: async () => {
      await handler.close();
      await tasks.stop();
    },
  };
}

function namesIn(bytes: Buffer): { method: string; name: string | undefined } {
  try {
    const { method, params } = JSON.parse(bytes.toString()) as {
      method?: unknown;
      params?: Record<string, unknown>;
    };
    const name = params?.["name"] ?? params?.["taskId"];
    const visible = (text: unknown): text is string =>
      typeof text === "string" && /^[\x21-\x7e]+$/.test(text);
    return { method: visible(method) ? method : "x", name: visible(name) ? name : undefined };
  } catch {
    return { method: "x", name: undefined };
  }
}
