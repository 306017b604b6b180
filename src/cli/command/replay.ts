import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { LineBuffer } from "../../client/transport/wire-messages.ts";
import { resubscribed, subscriptionOf } from "../../generation/2026-07-28-listen.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../errors.ts";
import { withoutSecrets } from "../server/open-server.ts";

/** A request of the recording, with what the server sent from then on until its answer. */
interface Exchange {
  readonly id: unknown;
  readonly method: unknown;
  readonly params: JsonObject;
  readonly received: JsonObject[];
  isAnswered: boolean;
  isUsed: boolean;
}

/** In bytes. */
const longestLine = 256 * 1024 ** 2;

/**
 * `holdfast replay FILE`: a server over stdio that answers as the one of `--record FILE` did. A request is answered by the first equal one
 * that is left, or else by the last equal one.
 */
export async function replay({ io }: Context, { file }: Given<"replay">): Promise<ExitCode> {
  const exchanges = await readExchanges(resolve(io.cwd, file));
  const write = (message: object): void => void io.stdout.write(`${JSON.stringify(message)}\n`);
  const answer = (line: string): void => {
    const request = parsed(line);
    if (request?.["id"] === undefined || typeof request["method"] !== "string") return;
    const { id, method } = request;
    const params = paramsOf(request);
    const equal = exchanges.filter((each) => each.method === method && isSame(method, each.params, params));
    const exchange = equal.find(({ isUsed }) => !isUsed) ?? equal.at(-1);
    if (exchange === undefined) {
      // A code that no client takes for a fault that passes.
      const message = `The recording has no request ${method} with these parameters`;
      return write({ jsonrpc: "2.0", id, error: { code: -32602, message } });
    }
    exchange.isUsed = true;
    for (const message of exchange.received) write(readdressed(message, exchange, { id, params }));
  };
  const lines = new LineBuffer(longestLine);
  for await (const bytes of io.stdin as AsyncIterable<Buffer>)
    for (const line of lines.after(bytes)) answer(line);
  return exitCodes.done;
}

async function readExchanges(path: string): Promise<readonly Exchange[]> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new UsageError(`The recording cannot be read: ${String(error)}`);
  });
  const exchanges: Exchange[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const { direction, message } = parsed(line) ?? {};
    if (!isJsonObject(message) || (direction !== "sent" && direction !== "received"))
      throw new UsageError(`${path} is not a recording of --record: line ${at + 1} has no message.`);
    const { id, method } = message;
    if (direction === "sent") {
      if (id !== undefined && method !== undefined)
        exchanges.push({
          id,
          method,
          params: paramsOf(message),
          received: [],
          isAnswered: false,
          isUsed: false,
        });
      continue;
    }
    const isAnswer = id !== undefined && method === undefined;
    const of = isAnswer ? id : subscriptionOf(message["params"]);
    const open = exchanges.findLast((each) => !each.isAnswered && (of === undefined || each.id === of));
    open?.received.push(message);
    if (open !== undefined && isAnswer) open.isAnswered = true;
  }
  return exchanges;
}

/** What a handshake says of the client differs between commands. */
function isSame(method: string, one: JsonObject, other: JsonObject): boolean {
  if (method === "initialize" || method === "server/discover") return true;
  const [{ _meta: _1, ...left }, { _meta: _2, ...right }] = [one, other];
  return isDeepStrictEqual(left, withoutSecrets(right));
}

/** The message with the id, the token of progress and the subscription of the request that it answers now. */
function readdressed(
  message: JsonObject,
  before: Pick<Exchange, "id" | "params">,
  now: { readonly id: unknown; readonly params: JsonObject },
): JsonObject {
  const { method, result } = message;
  if (method === undefined) {
    const answer = { ...message, id: now.id };
    return isJsonObject(result) ? { ...answer, result: resubscribed(result, before.id, now.id) } : answer;
  }
  const params = resubscribed(paramsOf(message), before.id, now.id);
  const token = tokenOf(before.params);
  const isProgress = token !== undefined && params["progressToken"] === token;
  return { ...message, params: isProgress ? { ...params, progressToken: tokenOf(now.params) } : params };
}

function tokenOf({ _meta }: JsonObject): unknown {
  return isJsonObject(_meta) ? _meta["progressToken"] : undefined;
}

function paramsOf({ params }: JsonObject): JsonObject {
  return isJsonObject(params) ? params : {};
}

function parsed(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
