import type { ServerContext } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { ReceivedPart } from "../../task/record.ts";
import { storedMetaKeys, type RunDetails } from "../../runtime/tool/received-request.ts";

/** What the SDK's context says of a request. Parts that it did not have are left out. */
interface RequestParts {
  readonly context: Pick<ServerContext, "sessionId" | "http">;
  readonly mcpReq: Pick<ServerContext["mcpReq"], "_meta" | "envelope">;
}

/**
 * What the SDK tells of the request that called a tool. Where it came to this process, all of it is there until its task ends. A later process, or
 * another one, has only what is stored: to look into a part that the request had, and that is not stored, throws `no_request`.
 */
export function requestParts({ received, origin }: RunDetails): RequestParts {
  if (received !== undefined) {
    const { meta, envelope, sessionId, authInfo, http } = received;
    const web = { ...(authInfo !== undefined && { authInfo }), ...(http !== undefined && { req: http }) };
    return {
      context: {
        ...(sessionId !== undefined && { sessionId }),
        ...(Object.keys(web).length > 0 && { http: web }),
      },
      mcpReq: { ...(meta !== undefined && { _meta: meta }), ...(envelope !== undefined && { envelope }) },
    };
  }
  const gone = (part: ReceivedPart): boolean => origin?.received?.includes(part) === true;
  const progressToken = origin?.progressToken;
  const stored = { ...(progressToken !== undefined && { progressToken }), ...origin?.trace };
  const hasMeta = gone("_meta") || Object.keys(stored).length > 0;
  const context = gone("http") ? { http: partly({}, "http") } : {};
  return {
    context: gone("sessionId") ? withoutSessionId(context) : context,
    mcpReq: {
      ...(hasMeta && { _meta: gone("_meta") ? partly(stored, "_meta", storedMetaKeys) : stored }),
      ...(gone("envelope") && { envelope: partly({}, "envelope") }),
    },
  };
}

/** What of `known` is not there never was; other members throw, and so does whoever wants them all. */
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
  sessionId: "A task outlives its session: ctx.task.id names the task, and ctx.task.caller says who called",
  http: "ctx.task.caller says who called, with the claims that authenticate returned: get new credentials for it",
};

function isGone(what: string, part: ReceivedPart): HoldfastError {
  return new HoldfastError(
    "no_request",
    `ctx.${what} is not here: the server was restarted since the call, or another process took it, and requests are kept in memory only. ${instead[part]}.`,
  );
}
