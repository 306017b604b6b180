import type { IncomingMessage } from "node:http";

/** A name or address, and a port; anything else in its place would be taken for a path, or for a password. */
const hostForm = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * A request of `node:http` as the web has it. Its body is received as it is read, and not before: who sent a request,
 * and whether it may be here, are known from the headers, and strangers get no memory. `signal` aborts when the client
 * is gone. Undefined for what is no request to a server, such as one to a proxy, or one to a host that is no name.
 */
export function fromNode(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "", headers: received } = incoming;
  const { host = "localhost" } = received;
  if (!url.startsWith("/") || !hostForm.test(host)) return undefined;
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    for (const item of [value ?? []].flat()) headers.append(name, item);
  }
  const body = method === "GET" || method === "HEAD" ? null : bodyOf(incoming);
  try {
    return new Request(`http://${host}${url}`, { method, headers, signal, body, duplex: "half" });
  } catch {
    return undefined; // the web forbids the method or the URL
  }
}

/** One chunk is in memory at a time; what comes after the reader has cancelled is thrown away. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let begun = false;
  let over = false;
  const begin = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const end = (how: () => void): void => {
      if (over) return;
      over = true;
      how();
    };
    const broken = (): void => end(() => controller.error(new Error("The client aborted its request.")));
    incoming.on("data", (chunk: Buffer) => {
      if (over) return;
      incoming.pause(); // until the next one is asked for
      controller.enqueue(chunk);
    });
    incoming.once("end", () => end(() => controller.close()));
    incoming.once("error", broken).once("close", broken);
  };
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        // Who left before anybody read tells nobody of it any more.
        if (!begun && incoming.destroyed) throw new Error("The client aborted its request.");
        if (!begun) begin(controller);
        begun = true;
        incoming.resume();
      },
      cancel() {
        over = true;
        incoming.resume();
      },
    },
    { highWaterMark: 0 },
  );
}
