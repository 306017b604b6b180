import { systemClock } from "../client/clock.ts";
import { approvalEvent, approvalQuestion } from "../runtime/event-urls.ts";
import type { JsonForm } from "../runtime/questions/form.ts";
import type { TaskContext } from "../runtime/tool/task-context.ts";
import { operatorsOnly, peopleOnly } from "../runtime/questions/questions.ts";
import { HoldfastError } from "../task/fault.ts";
import { millisecondsOf, type TimeSpan } from "../task/time.ts";
import { Sender } from "./http/send.ts";
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
  /** Sends a link by which whoever gets it decides as an operator does, once: an action of "link to" the host. Only with `by: "operator"`. Default: there is no link. */
  readonly link?: ApprovalLink | undefined;
}

/**
 * A link to a page with two buttons. It is signed by a secret of the store for this one approval, and good until it was used, the approval is decided, or
 * its time is over. Whoever has it decides, so send it where only they can read. It needs an address for events (`publicUrl` of a file).
 */
export interface ApprovalLink {
  /** Where a POST of JSON goes: `{ tool, message, task, link, expiresAt }`. */
  readonly notify: string;
  /** Headers of that, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Hosts and ranges outside the public internet that may be reached. */
  readonly allow?: readonly string[] | undefined;
  /** How long the link is good. Default one day. */
  readonly timeoutMs?: TimeSpan | undefined;
}

/** Throws `configuration` for an approval that nobody could give. `hasAddresses`: whether the server has addresses for events. */
export function assertApproval(what: string, { by, link }: Approval, hasAddresses: boolean): void {
  const fail = (problem: string): never => {
    throw new HoldfastError("configuration", `${what}: ${problem}`);
  };
  if (!Object.hasOwn(ways, by)) fail(`by must be "user" or "operator", not ${JSON.stringify(by)}.`);
  if (link === undefined) return;
  if (by !== "operator") fail('a link is for operators. Set by: "operator", or remove the link.');
  if (!/^https?:$/.test(URL.parse(link.notify)?.protocol ?? ""))
    fail(`notify must be an address of http or https, not ${JSON.stringify(link.notify)}.`);
  if (!hasAddresses)
    fail(
      "a link leads to this server, which does not know where it is reached. Set publicUrl in the file, or eventsUrl of createTasks; or remove the link.",
    );
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
  const asked = task.elicit(approvalQuestion, question, timeoutMs === undefined ? {} : { timeoutMs });
  const { link } = approval;
  if (by === "operator" && link !== undefined) sendLink(link, { tool, message }, task).catch(() => undefined); // the task has ended
  const answer = await asked;
  const isApproved = answer.action === "accept" && answer.content?.["approve"] === true;
  if (!isApproved) return `${tool} was not called: the ${by} did not approve it.`;
  void task.status("The call was approved");
  return undefined;
}

/**
 * Sends the link, by which the question is answered as an operator answers it: what is answered first counts. Where it cannot be sent, operators
 * decide alone.
 */
async function sendLink(
  { notify, headers = {}, allow = [], timeoutMs = "1d" }: ApprovalLink,
  asked: { readonly tool: string; readonly message: string },
  task: TaskContext,
): Promise<void> {
  const { host } = new URL(notify);
  const open = task.waitForEvent<unknown>(["approval-link", host], approvalEvent, { timeoutMs });
  open.catch(() => undefined); // the link is good no longer
  try {
    await task.step("approval-notify", { retries: 5 }, async ({ signal }) => {
      const expiresAt = new Date(systemClock.now() + millisecondsOf(timeoutMs)).toISOString();
      const body = JSON.stringify({ ...asked, task: task.id, link: open.url, expiresAt });
      const request = {
        method: "POST",
        url: notify,
        headers: { "content-type": "application/json", ...headers },
        body,
      };
      const { status } = await new Sender(allow).send(request, { signal, maxBytes: 0, timeoutMs: notifyMs });
      if (status >= 300) throw new Error(`${host} answered HTTP ${status}`);
    });
  } catch (error) {
    task.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    await task.log("warning", `Nobody can approve by the link that was to go to ${host}: ${why}`);
  }
}

/** How long it may take to send a link, in milliseconds. */
const notifyMs = 10_000;

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
