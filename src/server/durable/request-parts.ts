import type { ServerContext } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { Origin, ReceivedPart } from "../../task/record.ts";
import {
  storedMetaKeys,
  type ReceivedRequest,
  type RunDetails,
} from "../../runtime/tool/received-request.ts";

/** What the SDK's context says about a request. Parts that the request did not have are left out. */
interface RequestParts {
  readonly context: Pick<ServerContext, "sessionId" | "http">;
  readonly mcpReq: Pick<ServerContext["mcpReq"], "_meta" | "envelope">;
}

/**
 * What the SDK tells a handler about the request that called its tool. In the process that received it, everything is there until its task
 * ends. A later process, or another one, has only what is stored: reading a part that the request had, and that is not stored, throws
 * `no_request`.
 */
export function requestParts({ received, origin }: RunDetails): RequestParts {
  const { meta, envelope, isCut = false, sessionId, authInfo, http: req } = received ?? storedOf(origin);
  const gone = (part: ReceivedPart): boolean =>
    received === undefined && origin?.received?.includes(part) === true;
  const web = { ...(authInfo !== undefined && { authInfo }), ...(req !== undefined && { req }) };
  const http = gone("http") ? partly({}, "http") : web;
  const context = gone("http") || Object.keys(web).length > 0 ? { http } : {};
  const _meta = isCut || gone("_meta") ? partly(meta ?? {}, "_meta", storedMetaKeys) : meta;
  const shown = isCut || gone("envelope") ? partly({}, "envelope") : envelope;
  return {
    context: gone("sessionId")
      ? withoutSessionId(context)
      : { ...context, ...(sessionId !== undefined && { sessionId }) },
    mcpReq: { ...(_meta !== undefined && { _meta }), ...(shown !== undefined && { envelope: shown }) },
  };
}

/** What a later process has of a request. */
function storedOf({ progressToken, trace }: Partial<Origin> = {}): Partial<ReceivedRequest> {
  const meta = { ...(progressToken !== undefined && { progressToken }), ...trace };
  return Object.keys(meta).length > 0 ? { meta } : {};
}

/** A member of `known` that is missing was never there. Other members throw, and so does listing all of them. */
function partly<T extends object>(
  stored: T,
  part: Exclude<ReceivedPart, "sessionId">,
  known: readonly string[] = [],
): T {
  const refuse = (): never => {
    throw isGone(names[part], part);
  };
  return new Proxy(stored, {
    has: (target, member) => member in target || (!known.includes(String(member)) && refuse()),
    ownKeys: refuse,
    get(target, member) {
      const isThere = member in target || typeof member !== "string" || known.includes(member);
      if (!isThere) throw isGone(`${names[part]}.${member}`, part);
      return Reflect.get(target, member) as unknown;
    },
  });
}

function withoutSessionId<T extends object>(context: T): T {
  return Object.defineProperty(context, "sessionId", {
    enumerable: true,
    get: () => {
      throw isGone("sessionId", "sessionId");
    },
  });
}

const names = { _meta: "mcpReq._meta", envelope: "mcpReq.envelope", http: "http" } as const;

const instead: Readonly<Record<ReceivedPart, string>> = {
  _meta: "Pass what the handler needs as an argument of the tool",
  envelope: "Pass what the handler needs as an argument of the tool",
  sessionId: "A task outlives its session: ctx.task.id identifies the task, and ctx.task.caller the caller",
  http: "ctx.task.caller says who called, with the claims that authenticate returned: use it to get new credentials",
};

function isGone(what: string, part: ReceivedPart): HoldfastError {
  return new HoldfastError(
    "no_request",
    `ctx.${what} is not available: the server has restarted since the call, another process runs the task, or the request was too large. Requests are kept only in memory, and _meta only up to 16 KiB. ${instead[part]}.`,
  );
}
