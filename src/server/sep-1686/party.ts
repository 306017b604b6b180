import { generation } from "../../generation/sep-1686/name.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import { unknownTask } from "../../task/fault.ts";
import type { Connection } from "../connection/connection.ts";
import type { TaskDesk } from "../desk/task-desk.ts";
import { scopeOf } from "../plain/owner.ts";
import type { Rates } from "../rates/rates.ts";

/** A connection whose client can have tasks of SEP-1686, and what these are served with. */
export interface Party {
  readonly runtime: Runtime;
  readonly desk: TaskDesk;
  readonly rates: Rates;
  readonly connection: Connection;
  readonly requestor: Requestor;
  /** In what the client's ids are unique: its principal, else its session. */
  readonly scope: string;
  /** Cancels that came and are not in the store yet: what is asked after them on this connection shows them (S-063). */
  readonly cancels: Set<Promise<void>>;
}

/**
 * Undefined for a client that is told apart from others by nothing at all: an id that it makes up would be everybody's,
 * so it has no tasks (S-009).
 */
export function partyOf(setup: Omit<Party, "requestor" | "scope" | "cancels">): Party | undefined {
  const { principal, streams } = setup.connection;
  const scope = scopeOf({ principal, session: streams.sessionId });
  if (scope === undefined) return undefined;
  return { ...setup, scope, requestor: { generation, principal }, cancels: new Set() };
}

/** Settles as `work` does, which cancels a task of the party. */
export async function cancelling({ cancels }: Party, work: Promise<void>): Promise<void> {
  cancels.add(work);
  try {
    await work;
  } finally {
    cancels.delete(work);
  }
}

/** The id of the task that the client calls so; rejects with `unknown_task`, for another's too. */
export async function ownTask({ runtime, scope }: Party, wireId: string): Promise<string> {
  const id = await runtime.find({ generation, scope, wireId });
  if (id === undefined) throw unknownTask();
  return id;
}
