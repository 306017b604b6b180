import { generation } from "../../generation/sep-1686.ts";
import type { ClientGeneration } from "../generation.ts";
import { readableHandshake, tasksCapability } from "./handshake.ts";
import { SepProtocol } from "./sep-protocol.ts";

/** The tasks of SEP-1686, which servers need not declare. */
export const sep: ClientGeneration = {
  options: { generation },
  mayBindToSession: false,
  receiving: {
    capability: tasksCapability,
    load: async () => {
      const { SepReceivedTasks } = await import("./receiver/received-tasks.ts");
      return (parts) => new SepReceivedTasks(parts);
    },
  },
  prepare: () => ({
    rewriteIncoming: readableHandshake,
    protocol: (parts) => new SepProtocol(parts),
  }),
};
