import type { Conversation, HostQuestion } from "holdfast/host";
import type { InputResult } from "holdfast/client";
import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";

/** The events of a conversation for pages: GET is an event stream, and POST answers a question. It needs the checks of your own pages. */
export async function serveEvents(
  conversation: Conversation,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === "POST") {
    // A declared length is a limit: the server reads no more of a body.
    if (Number(request.headers["content-length"] ?? Infinity) > 64 * 1024) {
      response.writeHead(413).end();
      return;
    }
    const { result, ...question } = (await json(request)) as Pick<HostQuestion, "call" | "key"> & {
      readonly result: InputResult;
    };
    await conversation.answer(question, result);
    response.writeHead(204).end();
    return;
  }
  const closing = new AbortController();
  response.on("close", () => closing.abort());
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.flushHeaders();
  for await (const event of conversation.events({ signal: closing.signal }))
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end();
}

/** The same in a terminal: one line for each event. */
export async function showEvents(conversation: Conversation, show: (line: string) => void): Promise<void> {
  for await (const event of conversation.events()) {
    if (event.type === "asks") {
      show(`${event.question.tool} asks: ${String(event.question.params["message"])}`);
      continue;
    }
    const { tool, state, progress, statusMessage = state } = event.call;
    const share = progress?.total === undefined ? "" : ` (${progress.progress} of ${progress.total})`;
    if (event.type === "log") show(`${tool} [${event.line.level}] ${event.line.text}`);
    else show(`${tool} ${event.type === "progress" ? statusMessage : event.type}${share}`);
  }
}
