import type { JsonForm } from "../runtime/questions/form.ts";
import type { TaskContext } from "../runtime/tool/task-context.ts";
import type { TimeSpan } from "../task/time.ts";
import { operatorsOnly } from "../runtime/questions/open-questions.ts";
import { filled, type Scope } from "./template.ts";

/** Who has to agree before a call of a tool begins. The task waits meanwhile, without a process. */
export interface Approval {
  /**
   * `user`: the client's user, or an operator in their place. `operator`: somebody who operates the server, in the dashboard or with `holdfast admin
   * STORE answer`; clients do not see the question. Who decided is in the log of what operators did.
   */
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
  const isOperators = approval.by === "operator";
  const question = {
    message: text,
    requestedSchema: yesOrNo,
    ...(isOperators && { _meta: { [operatorsOnly]: true } }),
  };
  if (isOperators) void task.status("Waits for an operator of the server, who has to approve the call");
  const answer = await task.elicit("approval", question, options);
  const isApproved = answer.action === "accept" && answer.content?.["approve"] === true;
  return isApproved ? undefined : `${tool} was not called: the ${approval.by} did not approve it.`;
}
