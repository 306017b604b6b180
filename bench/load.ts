// What a server at work is like: npm run bench. Prints one run and judges nothing: what holds is in test/load.
import { performance } from "node:perf_hooks";
import { LoadedServer } from "../test/load/loaded-server.ts";
import { phases } from "../test/load/phases.ts";

const scale = Number(process.env["HOLDFAST_LOAD"] ?? 0.2);

interface Row {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
}

const percentile = (sorted: readonly number[], part: number): number =>
  Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) * 100) / 100;

async function greet(url: string): Promise<void> {
  const method = "tools/call";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": "greet",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { name: "greet", arguments: { name: "Ann" }, _meta },
    }),
  });
  await response.arrayBuffer();
}

/** How long one caller waits for `greet`, again and again, while something else goes on. */
async function greetDuring(url: string, work: Promise<unknown>): Promise<Row> {
  let over = false;
  const done = work.finally(() => (over = true));
  const waits: number[] = [];
  do {
    const begin = performance.now();
    await greet(url);
    waits.push(performance.now() - begin);
  } while (!over);
  await done;
  waits.sort((a, b) => a - b);
  return { requests: waits.length, p50: percentile(waits, 0.5), p99: percentile(waits, 0.99) };
}

async function alone(url: string, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await greet(url);
}

const server = await LoadedServer.start();
const { url } = server;
for (const phase of Object.values(phases)) await phase(url, 0.02);
const base = await server.held();
const idle = await greetDuring(url, alone(url, 300));
const { delay } = await server.held();
const table: Record<string, object> = {
  nothing: {
    "greet p50 ms": idle.p50,
    "greet p99 ms": idle.p99,
    "loop p50 ms": delay.p50,
    "loop p99 ms": delay.p99,
    "loop max ms": delay.max,
  },
};
for (const [name, phase] of Object.entries(phases)) {
  const { p50, p99 } = await greetDuring(url, phase(url, scale));
  const held = await server.held();
  const ratio = (now: number, before: number): number => Math.round((now / before) * 100) / 100;
  table[name] = {
    "greet p50 ms": p50,
    "greet p99 ms": p99,
    "p99 to idle": ratio(p99, idle.p99),
    "loop p50 ms": held.delay.p50,
    "loop p99 ms": held.delay.p99,
    "loop max ms": held.delay.max,
    "heap to base": ratio(held.heap, base.heap),
    "rss to base": ratio(held.rss, base.rss),
  };
}
console.log(`One run, at ${scale} of the full load:`);
console.table(table);
await server.stop();
