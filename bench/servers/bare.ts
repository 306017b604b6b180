// The minimum work of a JSON server on node:http: reads a body, parses it, and sends a given answer. ANSWER has the answer
// as JSON, with its headers and its body.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { BareAnswer } from "../figures/bare-answer.ts";
import { serveAndPrintUrl } from "./serve-and-print-url.ts";

const { headers, body } = JSON.parse(process.env["ANSWER"] ?? "") as BareAnswer;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { jsonrpc } = JSON.parse(Buffer.concat(chunks).toString()) as { jsonrpc?: string };
    response.writeHead(jsonrpc === "2.0" ? 200 : 400, headers);
    response.end(body);
  });
}

await serveAndPrintUrl(createServer(answer));
