import { McpServer, Server } from "@modelcontextprotocol/server";
import { HoldfastError } from "../task/fault.ts";

/** The functions of ours that are given a factory, with the form in which to call each. */
const forms = {
  "tasks.server()": "tasks.server(() => new McpServer({ … }))",
  "durable()": "durable(() => new McpServer({ … }), { store })",
} as const;

export type GivenTo = keyof typeof forms;

/**
 * Throws `configuration` for what an author's factory must not return: no server, one of SDK v1, or one of another copy of the SDK, whose
 * classes are not those that Holdfast knows. Servers of both kinds start, and their calls fail or hang.
 */
export function assertMade(made: unknown, givenTo: GivenTo): asserts made is McpServer | Server {
  if (made instanceof McpServer || made instanceof Server) return;
  const factory = `The function given to ${givenTo}`;
  const low = isObject(made) && "server" in made ? made.server : made;
  if (!isObject(low) || !("setRequestHandler" in low)) {
    throw wrong(`${factory} returned no McpServer. Return a new one on each call: ${forms[givenTo]}.`);
  }
  if (!("getNegotiatedProtocolVersion" in low)) {
    throw wrong(
      `${factory} returned a server of SDK v1 (@modelcontextprotocol/sdk). Import McpServer from @modelcontextprotocol/server instead, or keep SDK v1 and use holdfast/sdk-v1.`,
    );
  }
  throw wrong(
    `${factory} returned a server from a different copy of @modelcontextprotocol/server than the one that Holdfast uses. Install only one copy (npm ls @modelcontextprotocol/server lists them), and load it with import, not with require: its CommonJS build is another copy.`,
  );
}

/**
 * Throws `configuration` if the factory is not one: it is called for each client, and a server serves one. A factory that fails when it is
 * first called, perhaps for want of a client, is not judged.
 */
export async function assertMakesServers(make: () => unknown): Promise<void> {
  let first: unknown;
  try {
    first = await make();
  } catch {
    return;
  }
  assertMade(first, "tasks.server()");
  let second: unknown;
  try {
    second = await make();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw wrong(
      `The function that makes your server failed when it was called again: ${reason}. ${anew}`,
      cause,
    );
  }
  if (second === first)
    throw wrong(`The function that makes your server returned the same server twice. ${anew}`);
}

const anew =
  "It is called for each client, and a server serves only one, so create a new McpServer on each call, inside the function.";

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function wrong(message: string, cause?: unknown): HoldfastError {
  return new HoldfastError("configuration", message, cause === undefined ? {} : { cause });
}
