import { generation, serverCancels, serverLists, serverTakesTasks } from "../../generation/2025-11-25.ts";
import type { JsonObject } from "../../generation/message.ts";
import type { ClientGeneration } from "../generation.ts";
import { CoreProtocol } from "./core-protocol.ts";

/** The tasks in the core of protocol 2025-11-25. */
export const core: ClientGeneration = {
  options: { protocolVersion: generation },
  mayBindToSession: true,
  serverTasks: (server) =>
    serverTakesTasks(server)
      ? {
          title: "the core of 2025-11-25",
          cancels: serverCancels(server),
          lists: serverLists(server),
          listens: false,
        }
      : undefined,
  receiving: {
    capability: tasksCapability,
    load: async () => {
      const { CoreReceivedTasks } = await import("./received-tasks.ts");
      return (parts) => new CoreReceivedTasks(parts);
    },
  },
  prepare: () => ({
    protocol: (parts) => new CoreProtocol(parts),
  }),
};

/** Declares the requests that a client with these capabilities runs as tasks (C-004, C-006). */
function tasksCapability({ elicitation, sampling }: JsonObject): object {
  const requests = {
    ...(elicitation !== undefined && { elicitation: { create: {} } }),
    ...(sampling !== undefined && { sampling: { createMessage: {} } }),
  };
  return { list: {}, cancel: {}, requests };
}
