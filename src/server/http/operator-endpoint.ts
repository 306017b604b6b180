import type { IncomingMessage, ServerResponse } from "node:http";
import type { OnError } from "../faults.ts";
import { adaptedRefusal } from "./admin/admin-answers.ts";
import { withAnswerHeaders } from "./answer-headers.ts";
import type { RequestContext } from "./http-options.ts";
import { httpSettings } from "./http-options.ts";
import { nodeRequestLimits } from "./limits.ts";
import type { NextFunction } from "./node-handler.ts";
import { pathnameOf, wasRead, type ReceivedMessage } from "./node-request.ts";
import { NodeRequests } from "./node-requests.ts";
import type { ParsedBody } from "./read-body.ts";
import { UnreadBytes } from "./unread-bytes.ts";

/** An endpoint for operators: a request listener of `node:http`, middleware of Express and others, and a function from request to response. */
export interface OperatorEndpoint {
  /** The `next` of a middleware gets the requests for other paths. */
  (incoming: IncomingMessage, outgoing: ServerResponse, next?: NextFunction): void;
  /** `parsedBody` is the body, if a framework has already read it. */
  fetch(request: Request, context?: Pick<RequestContext, "parsedBody">): Promise<Response>;
  /** The path of the endpoint. */
  readonly path: string;
  /** Whether a request for this path is for the endpoint. */
  serves(pathname: string): boolean;
  /** Answers 503 from now on. It does not stop the tasks. Idempotent. */
  close(): void;
}

/** Answers the requests of an endpoint. */
export interface OperatorRequests {
  readonly path: string;
  serves(pathname: string): boolean;
  /** `address`: where the request came from, if known. */
  fetch(request: Request, parsed?: ParsedBody, address?: string): Promise<Response>;
  close(): void;
}

export function operatorEndpoint(requests: OperatorRequests, onError: OnError): OperatorEndpoint {
  const nodeRequests = new NodeRequests({
    fastPath: { takes: () => false },
    handler: {
      fetch: (request, { parsed, upstream } = {}) =>
        requests.fetch(request, parsed, upstream?.incoming?.socket.remoteAddress),
      shareOf: () => null,
      unread: new UnreadBytes(httpSettings({}).maxOutgoingBytes),
    },
    limits: nodeRequestLimits({}),
    inForm: async (refused) => withAnswerHeaders(await adaptedRefusal(refused), null, undefined),
    onError,
    onResponse: () => undefined,
  });
  const handle = (incoming: ReceivedMessage, outgoing: ServerResponse, next?: NextFunction): void => {
    if (next !== undefined && !requests.serves(pathnameOf(incoming))) {
      next();
      return;
    }
    const parsed = wasRead(incoming) ? { value: incoming.body } : undefined;
    nodeRequests.handle(incoming, outgoing, { parsed });
  };
  return Object.assign(handle, {
    path: requests.path,
    serves: (pathname: string) => requests.serves(pathname),
    fetch: (request: Request, { parsedBody }: Pick<RequestContext, "parsedBody"> = {}) =>
      requests.fetch(request, parsedBody === undefined ? undefined : { value: parsedBody }),
    close: () => requests.close(),
  });
}
