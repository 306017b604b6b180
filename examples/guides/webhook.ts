import { createHmac, timingSafeEqual } from "node:crypto";
import { appendFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, HoldfastError } from "holdfast";
import { createNodeHandler } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const day = 24 * 3_600_000;
const secret = process.env["WEBHOOK_SECRET"] ?? "secret";

const tasks = createTasks({ store: sqliteStore("tasks.db") });

const Payment = z.object({ id: z.string(), reference: z.string(), sum: z.number() });

const buy = tasks.tool(
  "buy",
  {
    description: "Buys an item, and waits until it is paid",
    inputSchema: z.object({ item: z.string() }),
    events: { paid: Payment },
  },
  async ({ item }, task) => {
    // The service sends this reference back with the webhook.
    await task.step("invoice", ({ idempotencyKey }) => sendInvoice(item, task.id, idempotencyKey));
    await task.status("Waiting for the payment");
    // It may arrive weeks and restarts later, or before the handler gets here.
    const { sum } = await task.waitForEvent("payment", "paid", { timeoutMs: 30 * day });
    return { content: [{ type: "text", text: `${item} bought for ${sum}` }] };
  },
);

/** The HTTP status for a webhook. */
async function onPayment(request: IncomingMessage): Promise<number> {
  const body = await text(request);
  if (!isSigned(body, String(request.headers["x-signature"]))) return 401;
  const payment = Payment.safeParse(JSON.parse(body));
  if (!payment.success) return 400;
  const { id, reference } = payment.data;
  try {
    // Services resend webhooks when in doubt: one with the same id changes nothing.
    await buy.sendEvent(reference, "paid", payment.data, { dedupeId: id });
    return 204; // stored on disk
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    // Sending it again helps, unless nothing is waiting for it.
    return ["unknown_task", "finished"].includes(error.code) ? 410 : 503;
  }
}

const mcp = createNodeHandler(tasks.server(() => new McpServer({ name: "shop", version: "1.0.0" })));
await tasks.start();

const http = createServer((request, response) => {
  mcp(request, response, () => {
    const answer = (status: number): void => void response.writeHead(status).end();
    if (request.url !== "/webhooks/payments") return answer(404);
    onPayment(request).then(answer, () => answer(500));
  });
});
http.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
});

async function stop(): Promise<void> {
  await mcp.close();
  http.close();
  http.closeAllConnections();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());

function isSigned(body: string, signature: string): boolean {
  const expected = createHmac("sha256", secret).update(body).digest("hex");
  return (
    signature.length === expected.length && timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
  );
}

/** Stands in for the service, which would send a webhook when the invoice is paid. */
async function sendInvoice(item: string, reference: string, idempotencyKey: string): Promise<void> {
  await appendFile("invoices.txt", `${reference} ${item} ${idempotencyKey}\n`);
}
