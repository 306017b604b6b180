import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { TaskClientError } from "../../client/task-client-error.ts";

const ended: ReadonlySet<string> = new Set([SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected]);

/** Throws `connection` if a request failed because the connection ended or timed out. */
export function throwIfLost(cause: unknown): void {
  if (!(cause instanceof SdkError)) return;
  if (ended.has(cause.code)) {
    throw new TaskClientError("connection", "The connection ended: the server, or its process, is gone", {
      cause,
    });
  }
  if (cause.code === SdkErrorCode.RequestTimeout) {
    throw new TaskClientError("connection", "The server did not answer in time", { cause });
  }
}
