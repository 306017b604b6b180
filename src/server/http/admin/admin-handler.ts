import type { IncomingMessage, ServerResponse } from "node:http";
import { withAnswerHeaders } from "../answer-headers.ts";
import { nodeRequestLimits, unreadLimit } from "../limits.ts";
import type { RequestContext } from "../http-options.ts";
import type { NextFunction } from "../node-handler.ts";
import { pathnameOf, wasRead, type ReceivedMessage } from "../node-request.ts";
import { NodeRequests } from "../node-requests.ts";
import { UnreadBytes } from "../unread-bytes.ts";
import { adaptedRefusal } from "./admin-answers.ts";
import type { AdminHandlerOptions } from "./admin-handler-options.ts";
import { AdminRequests, type Administered } from "./admin-requests.ts";

/** Serves operators: as a request listener of `node:http`, as middleware of Express and others, and as a function from request to response. */
export interface AdminHandler {
  /** The `next` of a middleware gets the requests that are not for us. */
  (incoming: IncomingMessage, outgoing: ServerResponse, next?: NextFunction): void;
  /** `parsedBody` is the body, if a framework has read it. */
  fetch(request: Request, context?: Pick<RequestContext, "parsedBody">): Promise<Response>;
  /** The path of the endpoint. */
  readonly path: string;
  /** Whether a request of this path is for the endpoint. */
  serves(pathname: string): boolean;
  /** Answers 503 from now on. The tasks are their owner's to stop. Idempotent. */
  close(): void;
}

/** As `createAdminHandler`, for what it is given. */
export function adminHandler(administered: Administered, options: AdminHandlerOptions): AdminHandler {
  const requests = new AdminRequests(administered, options);
  const nodeRequests = new NodeRequests({
    fastPath: { takes: () => false },
    handler: {
      fetch: (request, { parsed } = {}) => requests.fetch(request, parsed),
      holderOf: () => null,
      unread: new UnreadBytes(unreadLimit({})),
    },
    limits: nodeRequestLimits({}),
    inForm: async (refused) => withAnswerHeaders(await adaptedRefusal(refused), null, undefined),
    onError: administered.onError,
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
