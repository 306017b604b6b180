import type { Runtime } from "../../runtime/runtime.ts";
import type { Connection } from "../connection/connection.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import type { TaskDesk } from "../desk/task-desk.ts";

/** What a request on a connection is answered with. */
export interface Callee {
  readonly runtime: Runtime;
  readonly desk: TaskDesk;
  readonly connection: Connection;
  /** Whether the client was told that the server has tasks. */
  readonly hasTasks: boolean;
  /** Whether the client knows nothing of tasks. */
  readonly isPlain: boolean;
  /** Calls of such clients, and how their questions reach them. */
  readonly plain: PlainCalls;
  readonly asking: TaskDesk;
}
