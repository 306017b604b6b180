import { declaresTasks } from "../../generation/2026-07-28.ts";
import type { ClientGeneration } from "../generation.ts";
import { declaredOnConnect, envelope, withoutTasksOnCall } from "./envelope.ts";
import { ExtensionProtocol } from "./extension-protocol.ts";
import { ToolHeaders } from "./tool-headers.ts";

/** The tasks of the extension on protocol 2026-07-28. */
export const extension: ClientGeneration = {
  options: {},
  mayBindToSession: false,
  declared: declaredOnConnect,
  serverTasks: (server) =>
    declaresTasks(server)
      ? { title: "the extension of 2026-07-28", cancels: true, lists: undefined, listens: true }
      : undefined,
  prepare: ({ capabilities, clientInfo }) => {
    const headers = new ToolHeaders();
    return {
      rewriteOutgoing: (message) => {
        headers.sent(message);
        return withoutTasksOnCall(message);
      },
      rewriteIncoming: (message) => {
        headers.received(message);
        return message;
      },
      protocol: ({ requester, clock, server }) =>
        new ExtensionProtocol({
          requester,
          clock,
          meta: envelope(capabilities, clientInfo),
          server,
          headers,
        }),
    };
  },
};
