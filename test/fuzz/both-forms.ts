import { Agent, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { onTestFinished } from "vitest";
import { createHandler, type Handler } from "../../src/server/http/handler.ts";
import { webOf } from "../../src/server/http/http-request.ts";
import { httpSettings } from "../../src/server/http/http-options.ts";
import { NodeRequests } from "../../src/server/http/node-requests.ts";
import { createNodeServer } from "../../src/server/http/serve-http.ts";
import { tools } from "./front.ts";

/** A request as it is sent. */
export interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array;
}

/** What of an answer has to be the same in both forms. */
export interface Compared {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly json: unknown;
}

const listed = [
  ..."content-type cache-control x-content-type-options vary allow www-authenticate retry-after".split(" "),
  ..."access-control-allow-origin access-control-expose-headers x-accel-buffering".split(" "),
];

/** One task server behind two servers of `node:http`: one answers what arrives as it is, the other one as web `Request`s. */
export async function bothForms(): Promise<{
  readonly node: (sending: Sending) => Promise<Compared>;
  readonly web: (sending: Sending) => Promise<Compared>;
}> {
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 100,
    maxBodyBytes: 100_000,
    plain: "ticket",
    plainDeadlineMs: 20,
    pollingTools: { answer: "task_answer", list: "task_list" },
    rates: { pollsPerInterval: null, maxLoopDelayMs: null, callsPerMinute: null, missesPerMinute: null },
    onError: () => undefined,
  });
  tools(tasks);
  await tasks.start();
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
  const handler = createHandler(server, { anonymous: "shared" });
  const agent = new Agent({ keepAlive: true });
  const listen = async (answer: Handler["answer"]): Promise<(sending: Sending) => Promise<Compared>> => {
    const requests = new NodeRequests({
      handler: { ...handler, answer },
      limits: httpSettings({}),
      onError: () => undefined,
      onResponse: () => undefined,
    });
    const node = await createNodeServer(httpSettings({}), (incoming, outgoing) =>
      requests.handle(incoming, outgoing),
    );
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => node.closeAllConnections());
    onTestFinished(() => void node.close());
    return (sending) => send(node, agent, sending);
  };
  const both = {
    node: await listen((asked, arrival) => handler.answer(asked, arrival)),
    web: await listen((asked, arrival) => handler.answer(webOf(asked), arrival)),
  };
  onTestFinished(async () => {
    agent.destroy();
    await handler.close();
    await tasks.stop();
  });
  return both;
}

function send(
  node: Server,
  agent: Agent,
  { method = "POST", path = "/mcp", headers, body }: Sending,
): Promise<Compared> {
  const { port } = node.address() as AddressInfo;
  const { promise, resolve, reject } = Promise.withResolvers<Compared>();
  const outgoing = request(
    { port, host: "127.0.0.1", agent, method, path, setDefaultHeaders: false },
    (incoming) => {
      const shown = Object.fromEntries(
        Object.entries(incoming.headers).filter(([name]) => listed.includes(name)),
      );
      const seen = { status: incoming.statusCode, headers: shown };
      if (incoming.headers["content-type"]?.startsWith("text/event-stream") === true) {
        resolve({ ...seen, json: "a stream" });
        incoming.destroy();
        return;
      }
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.once("error", reject);
      incoming.once("end", () => resolve({ ...seen, json: normalised(Buffer.concat(chunks).toString()) }));
    },
  );
  outgoing.once("error", reject);
  outgoing.setHeader("Host", `localhost:${port}`);
  outgoing.setHeader("Content-Length", Buffer.byteLength(body));
  for (const [name, value] of headers) outgoing.setHeader(name, value);
  outgoing.end(body);
  return promise;
}

/** Without what is another in each answer: ids, times, references and sealed states. */
function normalised(text: string): unknown {
  const replaced = text
    .replaceAll(/\b[0-9a-zA-Z_-]{26,}\b/g, "<id>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/\b[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}\b/g, "<reference>");
  try {
    return JSON.parse(replaced);
  } catch {
    return replaced;
  }
}
