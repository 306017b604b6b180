import type { JsonForm } from "../runtime/questions/form.ts";
import type { TaskContext } from "../runtime/tool/task-context.ts";
import type { TimeSpan } from "../task/time.ts";
import { operatorsOnly, peopleOnly } from "../runtime/questions/questions.ts";
import { filledOrEmpty, type Scope } from "./template.ts";

/** Who has to agree before a call of a tool begins. The task waits meanwhile, without a process. Only for tools whose calls are tasks. */
export interface Approval {
  /**
   * `user`: the client's user, or an operator in their place, and no model: where the client cannot ask its user, an operator has to answer.
   * `operator`: somebody who operates the server, in the dashboard or with `holdfast admin STORE answer`; clients do not see the question. What an
   * operator decided is recorded as an action.
   */
  readonly by: "user" | "operator";
  /** The question, with placeholders for the arguments; nothing stands for one that is left out. Default: whether to call the tool with its arguments. */
  readonly message?: string | undefined;
  /** How long to wait; then the call fails. Default: as long as the task lives. */
  readonly timeoutMs?: TimeSpan | undefined;
}

const yesOrNo: JsonForm = {
  type: "object",
  properties: { approve: { type: "boolean", title: "Approve this call?" } },
  required: ["approve"],
};

/**
 * Waits until whoever has to agree has decided. Resolves with why the call may not begin; undefined if it may. What was asked first is what counts, also
 * if the approval is changed while the task waits, or after.
 */
export async function refusalOf(
  approval: Approval,
  tool: string,
  args: Scope,
  task: TaskContext,
): Promise<string | undefined> {
  const { by, message } = await task.step("approval-question", () => {
    const text =
      approval.message === undefined
        ? `Call ${tool} with ${JSON.stringify(args)}?`
        : filledOrEmpty(approval.message, args);
    return { by: approval.by, message: text };
  });
  const { timeoutMs } = approval;
  const { waits, mark } = ways[by];
  void task.status(`${waits}: ${message}`);
  const question = { message, requestedSchema: yesOrNo, _meta: { [mark]: true } };
  const answer = await task.elicit("approval", question, timeoutMs === undefined ? {} : { timeoutMs });
  const isApproved = answer.action === "accept" && answer.content?.["approve"] === true;
  if (!isApproved) return `${tool} was not called: the ${by} did not approve it.`;
  void task.status("The call was approved");
  return undefined;
}

const ways = {
  user: {
    waits:
      "Waits until the user, where the client can ask them, or an operator of the server approves the call",
    mark: peopleOnly,
  },
  operator: {
    waits: "Waits for an operator of the server, who has to approve the call",
    mark: operatorsOnly,
  },
} as const;
