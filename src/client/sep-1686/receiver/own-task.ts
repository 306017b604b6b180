import { generation } from "../../../generation/sep-1686/name.ts";
import type { Requestor, Runtime } from "../../../runtime/runtime.ts";
import { unknownTask } from "../../../task/fault.ts";

/** A server that has tasks here, and what runs them. */
export interface Party {
  readonly runtime: Runtime;
  readonly requestor: Requestor;
  /** In what its ids are unique: the name that this client has for it, in place of a principal. */
  readonly scope: string;
}

/** The id of the task that the server calls so; rejects with `unknown_task`, for another server's too (S-075, S-087). */
export async function ownTask({ runtime, scope }: Party, wireId: string): Promise<string> {
  const id = await runtime.find({ generation, scope, wireId });
  if (id === undefined) throw unknownTask();
  return id;
}
