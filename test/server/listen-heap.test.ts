import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it, onTestFinished } from "vitest";
import { head, RawConnection } from "../kit/raw-connection.ts";
import { listenParams } from "../kit/subscription.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

/** Stands at 15 KiB, of which 6 are for what Node itself keeps of an open response. */
const mostBytes = 20 * 1024;

it("a listener takes little memory, however many there are", async () => {
  const thread = new Worker(new URL("./listen-heap-server.ts", import.meta.url));
  onTestFinished(async () => void (await thread.terminate()));
  const [url] = (await once(thread, "message")) as [string];
  const heap = async (): Promise<number> => {
    thread.postMessage("heap");
    return ((await once(thread, "message")) as [number])[0];
  };
  const id = await new StatelessClient(url).start("waits");
  const params = listenParams({ taskIds: [id] });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params });
  const own = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"];
  const request = `${head(`Content-Length: ${body.length}`, ...own)}${body}`;
  const listen = async (): Promise<void> => {
    const raw = await RawConnection.to(Number(new URL(url).port), request);
    while (!raw.received.includes('"notifications/tasks"')) await once(raw.socket, "data");
  };
  const listenAll = async (count: number): Promise<void> => {
    await Promise.all(Array.from({ length: count }, listen));
  };
  await listenAll(100);
  const before = await heap();
  await listenAll(400);
  const held = ((await heap()) - before) / 400;
  expect(held).toBeGreaterThan(1024); // or it measured something else
  expect(held).toBeLessThan(mostBytes);
});
