import { expect, it } from "vitest";
import { Connection } from "../../../src/server/connection/connection.ts";
import { onePipe } from "../../../src/server/streams.ts";

it.each(["tools/list", "initialize"])(
  "forgets what it was to make of the answer to a cancelled %s",
  (method) => {
    const connection = new Connection({
      principal: "ann",
      streams: onePipe,
      declare: () => ({ ours: {} }),
      list: () => undefined,
    });
    const answer = {
      jsonrpc: "2.0" as const,
      id: 1,
      result: { tools: [{ name: "own" }], protocolVersion: "2025-11-25" },
    };
    connection.received({ jsonrpc: "2.0", id: 1, method });
    expect(connection.sending(answer)).not.toEqual(answer);
    connection.received({ jsonrpc: "2.0", id: 1, method });
    connection.received({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    // The id belongs to another request now, whose answer is as its author made it.
    expect(connection.sending(answer)).toEqual(answer);
  },
);
