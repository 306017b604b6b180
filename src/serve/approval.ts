import type { JsonForm } from "../runtime/questions/form.ts";
import type { TaskContext } from "../runtime/tool/task-context.ts";
import type { TimeSpan } from "../task/time.ts";
import { filled, type Scope } from "./template.ts";

/** Who has to agree before a call of a tool begins. The task waits meanwhile, without a process. */
export interface Approval {
  /** `user`: the client's user. `operator`: somebody who operates the server. */
  readonly by: "user" | "operator";
  /** The question, with placeholders for the arguments. Default: whether to call the tool with its arguments. */
  readonly message?: string | undefined;
  /** How long to wait; then the call fails. Default: as long as the task lives. */
  readonly timeoutMs?: TimeSpan | undefined;
}

const yesOrNo: JsonForm = {
  type: "object",
  properties: { approve: { type: "boolean", title: "Approve this call?" } },
  required: ["approve"],
};

/** Waits until whoever has to agree has decided. Resolves with why the call may not begin; undefined if it may. */
export async function refusalOf(
  approval: Approval,
  tool: string,
  args: Scope,
  task: TaskContext,
): Promise<string | undefined> {
  const { message = `Call ${tool} with ${JSON.stringify(args)}?`, timeoutMs } = approval;
  const text = filled(message, args) ?? message;
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  const answer = await task.elicit("approval", { message: text, requestedSchema: yesOrNo }, options);
  const isApproved = answer.action === "accept" && answer.content?.["approve"] === true;
  return isApproved ? undefined : `${tool} was not called: the ${approval.by} did not approve it.`;
}
