import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import type { Owner } from "./owners.ts";

/** The official client of SDK v1, which knows nothing of tasks and is called Ada; `send` may take its requests elsewhere. */
export async function plainClient({ url }: Pick<Owner, "url">, send: typeof fetch = fetch): Promise<Client> {
  const client = new Client(
    { name: "plain", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: send }));
  onTestFinished(() => client.close());
  return client;
}
