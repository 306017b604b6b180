// A client library in a process of its own: node client-process.ts NAME URL [TIMEOUT], forked. Does what its parent says, and tells
// it of every request that the library sends.
import { setImmediate as loopTurn } from "node:timers/promises";
import { openClient, type ClientName, type PeerClient } from "./open-client.ts";

/** What the parent says. */
export interface Command {
  readonly id: number;
  /** Undefined: list the tools. */
  readonly call?: {
    readonly tool: string;
    readonly args: Readonly<Record<string, string>>;
    readonly timeoutMs?: number | undefined;
  };
}

/** An HTTP request of the library that was answered, or found nobody. */
export interface SentRequest {
  readonly verb: string;
  /** The JSON-RPC method of a POST. */
  readonly method?: string;
  readonly lastEventId?: string;
  /** The header of that name. */
  readonly protocolVersion?: string;
  /** Undefined where the connection failed. */
  readonly status?: number;
}

/** What the parent is told; that the client is connected, with the id 0. */
export type Report =
  | { readonly sent: SentRequest }
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string };

function report(message: Report): void {
  process.send?.(message);
}

/** All of the libraries use the global fetch. A stream is reported when it has an event whose id it can be resumed by. */
function reportRequests(): void {
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    const lastEventId = headers.get("last-event-id");
    const protocolVersion = headers.get("mcp-protocol-version");
    const sent = {
      verb: init?.method ?? "GET",
      ...methodOf(init?.body),
      ...(lastEventId !== null && { lastEventId }),
      ...(protocolVersion !== null && { protocolVersion }),
    };
    try {
      const response = await fetch(input, init);
      const answered = (): void => report({ sent: { ...sent, status: response.status } });
      const { body } = response;
      if (body !== null && response.headers.get("content-type") === "text/event-stream") {
        return new Response(body.pipeThrough(onFirstId(answered)), response);
      }
      answered();
      return response;
    } catch (error) {
      report({ sent });
      throw error;
    }
  };
}

/** Calls `seen` once the library has been given an event with an id. */
function onFirstId(seen: () => void): TransformStream<Uint8Array, Uint8Array> {
  let isSeen = false;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      if (isSeen || !/^id:/m.test(Buffer.from(chunk).toString())) return;
      isSeen = true;
      seen();
    },
  });
}

function methodOf(body: unknown): { method?: string } {
  if (typeof body !== "string") return {};
  const { method } = JSON.parse(body) as { method?: string };
  return method === undefined ? {} : { method };
}

async function answer(id: number, work: () => Promise<unknown>): Promise<void> {
  try {
    report({ id, value: await work() });
  } catch (error) {
    report({ id, error: String(error) });
  }
}

async function serve(client: PeerClient, { id, call }: Command): Promise<void> {
  // When the command arrives together with the end of a connection, the library has to learn of that end first, or it
  // sends its request on a connection that is dead.
  await loopTurn();
  await answer(id, () =>
    call === undefined ? client.list() : client.call(call.tool, call.args, call.timeoutMs),
  );
}

const [name, url = "", timeout] = process.argv.slice(2);
reportRequests();
await answer(0, async () => {
  const client = await openClient[name as ClientName](
    url,
    timeout === undefined ? undefined : Number(timeout),
  );
  process.on("message", (command: Command) => void serve(client, command));
});
process.on("disconnect", () => process.exit());
