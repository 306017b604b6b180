import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { HoldfastError, type Tasks } from "holdfast";
import * as z from "zod";

export interface Release {
  /** Asks where people decide, such as a chat. Its webhook sends the reference back with the decision. */
  ask(question: string, reference: string, idempotencyKey: string): Promise<void>;
  publish(version: string, idempotencyKey: string): Promise<void>;
}

const Decision = z.object({ id: z.string(), reference: z.string(), approved: z.boolean(), by: z.string() });

/** A tool that waits for a decision; returns what answers the webhook that brings it, with an HTTP status. */
export function addRelease(
  tasks: Tasks,
  system: Release,
  secret: string,
): (request: IncomingMessage) => Promise<number> {
  const release = tasks.tool(
    "release",
    {
      description: "Publishes a version once somebody has approved it",
      inputSchema: z.object({ version: z.string() }),
      events: { decided: Decision },
    },
    async ({ version }, task) => {
      await task.step("ask", ({ idempotencyKey }) =>
        system.ask(`Publish ${version}?`, task.id, idempotencyKey),
      );
      await task.status("Waiting for an approval");
      // It may come days and restarts later, or before the handler gets here.
      const { approved, by } = await task.waitForEvent("decision", "decided", { timeoutMs: "7d" });
      if (!approved) return `${by} has refused ${version}.`;
      await task.step("publish", ({ idempotencyKey }) => system.publish(version, idempotencyKey));
      return `${version} is published. ${by} has approved it.`;
    },
  );

  return async (request) => {
    const body = await bodyOf(request, 64 * 1024);
    if (body === undefined) return 413;
    if (!isSigned(body, String(request.headers["x-signature"]), secret)) return 401;
    const decision = Decision.safeParse(JSON.parse(body.toString()));
    if (!decision.success) return 400;
    const { id, reference } = decision.data;
    try {
      // Webhooks are sent again when in doubt: one with the same id changes nothing.
      await release.sendEvent(reference, "decided", decision.data, { dedupeId: id });
      return 204; // it is on disk
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      // Sending it again helps, unless nothing is waiting for it any more.
      return ["unknown_task", "finished"].includes(error.code) ? 410 : 503;
    }
  };
}

async function bodyOf(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if ((bytes += chunk.length) > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function isSigned(body: Buffer, signature: string, secret: string): boolean {
  const expected = Buffer.from(createHmac("sha256", secret).update(body).digest("hex"));
  return signature.length === expected.length && timingSafeEqual(Buffer.from(signature), expected);
}
