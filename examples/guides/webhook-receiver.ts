import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";

const { ARCHIVE_SECRET } = process.env;
if (ARCHIVE_SECRET === undefined)
  throw new Error("Set ARCHIVE_SECRET, as for the sender: whsec_$(openssl rand -base64 32)");
const key = Buffer.from(ARCHIVE_SECRET.replace("whsec_", ""), "base64");
/** Messages are small. */
const maxBytes = 64 * 1024;
/** Older messages are refused, so that a recorded message cannot be sent again. */
const toleranceSeconds = 300;

const Message = z.object({
  type: z.string(),
  timestamp: z.string(),
  data: z.object({ taskId: z.string(), tool: z.string(), status: z.string(), version: z.number() }),
});

/** Ids of received messages. In a service, store them together with what the message changes. */
const seen = new Set<string>();

/** The HTTP status for a message. */
async function receive(request: IncomingMessage): Promise<number> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if ((bytes += chunk.length) > maxBytes) return 413;
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString();
  const id = String(request.headers["webhook-id"]);
  const timestamp = String(request.headers["webhook-timestamp"]);
  if (!isSigned(`${id}.${timestamp}.${body}`, String(request.headers["webhook-signature"]))) return 401;
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceSeconds) return 401;
  if (seen.has(id)) return 204; // a message is sent again if its answer was lost
  const { type, data } = Message.parse(JSON.parse(body));
  console.log(`${type} ${data.tool} ${data.taskId}`);
  seen.add(id);
  return 204;
}

function isSigned(signed: string, signatures: string): boolean {
  const expected = Buffer.from(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  return signatures.split(" ").some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.writeHead(500).end(),
  );
});
server.listen(Number(process.env["PORT"] ?? 4000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`);
});
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    server.close();
    server.closeAllConnections();
  });
}
