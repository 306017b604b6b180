// A server without tasks, as the SDK's makers show it: node sdk-v2-server.ts stdio|http. Over HTTP it prints its URL.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import {
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  McpServer,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const said = (text: string) => ({ content: [{ type: "text" as const, text }] });

function makeServer(): McpServer {
  const server = new McpServer({ name: "plain", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: fromJsonSchema<{ say: string }>(echoed) }, async ({ say }) =>
    said(say),
  );
  server.registerTool("fails", {}, async () => ({ ...said("no paper"), isError: true }));
  server.registerTool("asks", {}, async ({ mcpReq }) => {
    const form = inputResponse(mcpReq.inputResponses, "form");
    const link = inputResponse(mcpReq.inputResponses, "link");
    if (form.kind === "elicit" && link.kind === "elicit") return said(`${form.action}, ${link.action}`);
    return inputRequired({
      inputRequests: {
        form: inputRequired.elicit({
          message: "Send it?",
          requestedSchema: { type: "object", properties: {} },
        }),
        link: inputRequired.elicitUrl({ message: "Pay for it", url: "https://pay.example/1" }),
      },
    });
  });
  return server;
}

const echoed = {
  type: "object" as const,
  properties: { say: { type: "string" as const } },
  required: ["say"],
};

if (process.argv[2] === "stdio") serveStdio(makeServer);
else {
  const handler = createMcpHandler(makeServer);
  const http = createServer((request, response) => {
    const { method = "GET", headers, url = "/" } = request;
    const own = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      typeof value === "string" ? [[name, value]] : [],
    );
    const body = method === "POST" ? Readable.toWeb(request) : undefined;
    const init = { method, headers: own, ...(body !== undefined && { body, duplex: "half" as const }) };
    handler
      .fetch(new Request(`http://127.0.0.1${url}`, init as RequestInit))
      .then((answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        if (answer.body === null) response.end();
        else Readable.fromWeb(answer.body).pipe(response);
      })
      .catch(() => response.destroy());
  });
  http.listen(0, "127.0.0.1", () => {
    const address = http.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    process.stdout.write(`http://127.0.0.1:${port}/mcp\n`);
  });
}
