import { withTasks } from "../kit/messages.ts";

/** All that the receiver of an answer sees, but for the time of day and the numbers of its events. */
export async function seen(response: Response): Promise<string> {
  const headers = [...response.headers].filter(([name]) => name !== "date").join("\n");
  const body = (await response.text()).replaceAll(/^id: .*$/gm, "");
  return `${response.status}\n${headers}\n\n${body}`;
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": withTasks,
};

/** Sends a request of 2026-07-28 as somebody; each has the same id, so that answers can be compared. */
export function send(
  url: string,
  who: string,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const name = params["name"] ?? params["taskId"];
  const { _meta, ...others } = params;
  const full = { ...others, _meta: { ...meta, ...(_meta as object | undefined) } };
  return fetch(url, {
    method: "POST",
    headers: {
      authorization: who,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: full }),
  });
}
