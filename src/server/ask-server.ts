import { InMemoryTransport, type McpServer } from "@modelcontextprotocol/server";
import { isJsonObject } from "../generation/message.ts";

/** The result of one request to a server that is not connected, which it is not afterwards either; undefined for an error. */
export async function askServer(mcp: McpServer, method: string, params: object = {}): Promise<unknown> {
  const [client, server] = InMemoryTransport.createLinkedPair();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  client.onmessage = resolve;
  try {
    await mcp.connect(server);
    await client.send({ jsonrpc: "2.0", id: 1, method, params: { ...params } });
    const answer = await promise;
    return isJsonObject(answer) ? answer["result"] : undefined;
  } finally {
    await mcp.close();
  }
}
