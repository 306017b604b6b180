import type { Runtime } from "../../runtime/runtime.ts";
import type { Access } from "../access.ts";
import type { ErrorOf, OnError } from "../answer.ts";
import type { TaskDesk } from "../desk/task-desk.ts";
import type { Companions } from "../plain/companions.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import type { Rates } from "../rates/rates.ts";
import type { HeldRequests } from "../sep-1686/held-requests.ts";
import type { Streams } from "../streams.ts";

/** What the tools and tasks of a connection of an earlier revision are served with. */
export interface Attachment {
  readonly runtime: Runtime;
  /** The tasks of 2025-11-25 that somebody cares about, and those of SEP-1686. */
  readonly desk: TaskDesk;
  readonly sepDesk: TaskDesk;
  readonly rates: Rates;
  /** Who is on the other side of this server; null where callers are not told apart. */
  readonly principal: string | null;
  /** What the request that made the connection may do; left out: everything that its principal may. */
  readonly access?: Access | undefined;
  readonly streams: Streams;
  readonly errorOf: ErrorOf;
  readonly onError: OnError;
  /** Calls of clients that know nothing of tasks. */
  readonly plain: PlainCalls;
  readonly companions: Companions;
  /** Where the questions of such calls are. */
  readonly asking: TaskDesk;
  /** Requests that become tasks and that the author's own server answers. */
  readonly held: HeldRequests;
  /** Refuses calls that do not ask for a task although they could (C-029). */
  readonly requireTasks: boolean;
}
