/** Parts of Holdfast that run on one side only. The runtime runs on a server, and under a client that takes requests as tasks. */
export type Part = "client" | "clientAsReceiver" | "server" | "serverAsRequestor" | "runtime";

/** Which parts have run since the test began. The code of each part says so itself: see `mark-parts.ts`. */
export const driven: Record<Part, boolean> = {
  client: false,
  clientAsReceiver: false,
  server: false,
  serverAsRequestor: false,
  runtime: false,
};
