import { assertOptions, tableOf, text } from "../../options/options.ts";
import {
  addressedWait,
  type AddressedWait,
  approvalEvent,
  approvalQuestion,
} from "../../runtime/event-urls.ts";
import { HoldfastError } from "../../task/fault.ts";
import { stopping } from "../../task/unanswered.ts";
import { isTerminal } from "../../task/outcome.ts";
import type { InsideTasks } from "../request.ts";
import {
  adaptedRefusal,
  insideFor,
  operatorEndpoint,
  type OperatorEndpoint,
  refusal,
  sentBy,
} from "./operator-endpoint.ts";
import { type BodyForm, bodyReadLimits, BodyReads, type ParsedBody, readBody } from "./request-body.ts";
import { pathOf } from "./http-request.ts";
import { isOperatorPath, operatorPath } from "./operator-options.ts";
import type { Tasks } from "../tasks.ts";
import { escapeHtml } from "./dashboard/login.ts";

class DeclaredEventHandlerOptions {
  /** The full path of the endpoint, wherever the handler is mounted. Default `/events`. */
  readonly path?: string = text(operatorPath, isOperatorPath, { default: "/events" });
}

/** Options of `createEventHandler`. */
export interface EventHandlerOptions extends DeclaredEventHandlerOptions {}

const eventHandlerOptions = tableOf<EventHandlerOptions>(DeclaredEventHandlerOptions);

/** Answers requests to the addresses of waits, which name the wait and prove that they may end it. */
class EventRequests {
  readonly path: string;
  readonly #inside: InsideTasks;
  readonly #admin: Tasks["admin"];
  readonly #bodies: BodyReads;
  readonly #form: BodyForm;
  #closed = false;

  constructor(inside: InsideTasks, admin: Tasks["admin"], options: EventHandlerOptions) {
    assertOptions("createEventHandler", options, eventHandlerOptions);
    const { path = "/events" } = options;
    this.path = path;
    this.#inside = inside;
    this.#admin = admin;
    this.#bodies = new BodyReads(bodyReadLimits(inside.runtime, {}));
    const { maxNesting, maxNodes } = inside.runtime.options;
    this.#form = { maxNesting, maxNodes, maxBatch: Infinity };
  }

  serves(pathname: string): boolean {
    return pathname.startsWith(`${this.path}/`);
  }

  fetch(request: Request, parsed?: ParsedBody): Promise<Response> {
    const answer = this.#answer(request, parsed).catch((error: unknown) => {
      const refused = refusedBy(error);
      if (refused === undefined) throw error;
      return refused;
    });
    return sentBy(answer, { onError: this.#inside.onError });
  }

  close(): void {
    this.#closed = true;
    this.#bodies.close();
  }

  async #answer(request: Request, parsed: ParsedBody | undefined): Promise<Response> {
    const { runtime } = this.#inside;
    const pathname = pathOf(request);
    if (this.#closed) throw stopping();
    if (!this.serves(pathname)) return refusal(404, "method_not_found", `Nothing is served at ${pathname}.`);
    const wait = addressedWait(await runtime.secret("event-urls"), pathname.slice(this.path.length + 1));
    if (wait === undefined) return refusal(404, "unknown_event", "This address was not made by this server.");
    if (wait.name === approvalEvent) return this.#approval(request, wait);
    // An address in a mail is opened by programs that look for harm: only a POST ends the wait.
    if (request.method !== "POST")
      return refusal(405, "invalid_request", "Allowed methods: POST.", { Allow: "POST" });
    const read = await readBody(request, this.#bodies, this.#form, parsed);
    if (read instanceof Response) return adaptedRefusal(read);
    return (await this.#send(wait, read.body)) ?? new Response(null, { status: 204 });
  }

  /** A page for a person, who decides with a button: programs that look for harm only open it. */
  async #approval(request: Request, wait: AddressedWait): Promise<Response> {
    const { taskId } = wait;
    const { state, asks } = await this.#approvalOf(wait);
    if (request.method === "GET" || request.method === "HEAD") {
      if (state !== "open") return approvalPage(state);
      return asks === undefined ? notWaiting() : approvalPage({ asks });
    }
    const approve = new URL(request.url).searchParams.get("approve");
    if (request.method !== "POST" || (approve !== "true" && approve !== "false"))
      return refusal(405, "invalid_request", "Open the address, and choose.", { Allow: "GET, HEAD, POST" });
    if (state !== "open") return approvalPage(state);
    const answer = { action: "accept", content: { approve: approve === "true" } };
    try {
      await this.#admin.as(`link to ${hostOf(wait)}`).answer(taskId, { [approvalQuestion]: answer });
    } catch (error) {
      // Somebody else may have answered in the same moment.
      if (refusedBy(error)?.status !== 410) throw error;
      const { state: now } = await this.#approvalOf(wait);
      return now === "open" ? notWaiting() : approvalPage(now);
    }
    await this.#send(wait, answer.content).catch(() => undefined); // its task may have ended
    return approvalPage(answer.content.approve ? "approved" : "declined");
  }

  /** Whether the question is open, and if it was answered, how. Without `asks` it is not stored yet. */
  async #approvalOf({
    taskId,
    key,
  }: AddressedWait): Promise<{ readonly state: "open" | ApprovalEnd; readonly asks: string | undefined }> {
    const { store, clock } = this.#inside.runtime;
    const [task, link, question] = await Promise.all([
      store.get(taskId),
      store.journalEntry(taskId, key),
      store.journalEntry(taskId, approvalQuestion),
    ]);
    // All of it: the status of the task is cut.
    const asks = (JSON.parse(question?.request ?? "{}") as { readonly message?: string }).message;
    // There may be no process that ends a wait whose time is over. A clock that was set ahead ends none.
    const isOver = [link, question].some(
      (each) =>
        each !== undefined &&
        (each.doneAt !== null || clock.afterJumps(each.deadlineAt ?? Infinity, each.begunAt) <= clock.now()),
    );
    if (typeof question?.value === "string") return { state: endOf(question.value), asks };
    return { state: isOver || task === undefined || isTerminal(task.state) ? "gone" : "open", asks };
  }

  /** Ends the wait. Resolves with the refusal if it is too early. */
  async #send({ taskId, name, key }: AddressedWait, value: unknown): Promise<Response | undefined> {
    const { runtime } = this.#inside;
    // The handler may give out the address before its wait is stored.
    if ((await runtime.store.journalEntry(taskId, key)) === undefined && (await this.#isUnderWay(taskId)))
      return notWaiting();
    await runtime.sendEvent(taskId, { name, value, key });
    return undefined;
  }

  async #isUnderWay(taskId: string): Promise<boolean> {
    const task = await this.#inside.runtime.store.get(taskId);
    return task !== undefined && !isTerminal(task.state);
  }
}

function notWaiting(): Response {
  const message = "The task does not wait for this event yet. Send it again later.";
  return refusal(503, "not_waiting", message, { "Retry-After": "1" });
}

/** How the question was answered. */
function endOf(answer: string): ApprovalEnd {
  const { action, content } = JSON.parse(answer) as {
    readonly action?: unknown;
    readonly content?: { readonly approve?: unknown } | null;
  };
  return action === "accept" && content?.approve === true ? "wasApproved" : "wasDeclined";
}

/** Where the address of an approval was sent to. */
function hostOf({ key }: AddressedWait): string {
  return /"([^"]+)"\]$/.exec(key)?.[1] ?? key;
}

/** The answer to an event that came too late, too early or with a wrong value; undefined for another error. */
function refusedBy(error: unknown): Response | undefined {
  if (!(error instanceof HoldfastError)) return undefined;
  const { code, message } = error;
  if (code === "unknown_task" || code === "finished")
    return refusal(410, "gone", "Nothing waits for this event any more.");
  if (code === "invalid_params") return refusal(400, code, message);
  if (code === "too_large") return refusal(413, code, message);
  return undefined;
}

/**
 * Serves the addresses that `task.waitForEvent` gives as `url`. A POST with JSON ends that wait with the JSON as its value, once: the answer
 * is 204, 400 for a value that the tool does not declare, 410 if nothing waits for it any more, and 503 if the handler does not wait yet.
 * Nobody else is identified: whoever has the address may send. It neither starts nor stops the tasks.
 *
 * ```ts
 * const tasks = createTasks({ store, eventsUrl: "https://example.com/events" });
 * app.use(createEventHandler(tasks));
 * ```
 */
export function createEventHandler(tasks: Tasks, options: EventHandlerOptions = {}): OperatorEndpoint {
  const inside = insideFor(tasks, "createEventHandler(tasks)");
  return operatorEndpoint(new EventRequests(inside, tasks.admin, options), inside.onError);
}

const ends = {
  approved: [200, "Approved. The call goes on."],
  declined: [200, "Declined. Nothing is called."],
  wasApproved: [410, "This was approved before, and that counts. There is nothing to do."],
  wasDeclined: [410, "This was declined before, and that counts. Nothing is called."],
  gone: [410, "It is too late to decide this. There is nothing to do."],
} as const;

type ApprovalEnd = keyof typeof ends;

/** What a person sees who opens the address of an approval, or has decided. Nothing of it is kept, framed, or told to other sites. */
function approvalPage(state: ApprovalEnd | { readonly asks: string }): Response {
  const [status, said] = typeof state === "string" ? ends[state] : ([200, state.asks] as const);
  const button = (approve: boolean, name: string): string =>
    `<form method="post" action="?approve=${approve}"><button>${name}</button></form>`;
  const buttons =
    typeof state === "string" ? "" : `${button(true, "Approve")}\n${button(false, "Decline")}\n`;
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>Approval</title>
<h1>Approval</h1>
<p style="white-space: pre-wrap">${escapeHtml(said)}</p>
${buttons}</html>
`;
  return new Response(html, {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Cache-Control": "no-store",
      "Content-Security-Policy":
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
    },
  });
}
