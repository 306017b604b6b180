import type { RequestId } from "@modelcontextprotocol/server";
import { generation as core } from "../../generation/2025-11-25.ts";
import { generation as sepGeneration } from "../../generation/sep-1686.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { Origin, TaskSnapshot } from "../../task/record.ts";
import { sentElsewhere } from "../../task/unanswered.ts";
import { taskCreated } from "../2025-11-25/call-tool.ts";
import type { Answer } from "../answer.ts";
import { generation as plain } from "../plain/plain-call.ts";
import { departureByReason } from "../plain/departure.ts";
import type { ToolRequest } from "../request.ts";
import { answerAtEnd } from "../sep-1686/answer-as-task.ts";
import { cancelTask } from "../sep-1686/sep-session.ts";
import type { SessionContext, SessionServices } from "./session-context.ts";

/** The task of a request, and what it remembers of that. */
interface Found {
  readonly snapshot: TaskSnapshot;
  readonly origin: Origin;
}

/** Requests that another process has received in this session, mostly one that has ended, and has not answered. */
export class EarlierRequests {
  readonly #context: SessionContext;
  readonly #services: SessionServices;

  constructor(context: SessionContext, services: SessionServices) {
    this.#context = context;
    this.#services = services;
  }

  /**
   * Answers a request with the task that it created, or with the one that it joined. Only the id of `request` is known. Rejects with
   * `stream_lost` if no task stores it.
   */
  async answer(request: ToolRequest, joined?: string): Promise<Answer> {
    const { core: session, sep } = this.#context;
    const { calls, runtime } = this.#services;
    const { scopes } = request.access ?? {};
    const found = await this.#find(request.id, joined, scopes);
    if (found === undefined) throw sentElsewhere();
    const { snapshot, origin } = found;
    const { task } = snapshot;
    session.connection.streams.needs?.(task.requiredScopes, request.id);
    const { progressToken } = origin;
    const params = progressToken === undefined ? {} : { _meta: { progressToken } };
    const asked = { ...request, params };
    const tool = runtime.registry.handlerOf(task);
    if (task.generation === plain) return calls.resume(task, tool, asked, session.connection);
    if (task.generation === core) return taskCreated(snapshot, tool, asked, session);
    if (sep === undefined) throw sentElsewhere();
    return answerAtEnd(snapshot, asked, sep.session);
  }

  /** The client does not wait for the answer any more. */
  async cancelled(request: RequestId, reason: unknown, scopes?: readonly string[]): Promise<void> {
    const { sep } = this.#context;
    const found = await this.#find(request, undefined, scopes);
    if (found === undefined) return;
    const { task } = found.snapshot;
    if (task.finishedAt !== null) return;
    if (task.generation === plain) {
      await this.#services.calls.leave(task, departureByReason(reason));
    } else if (task.generation === sepGeneration && sep !== undefined) {
      await cancelTask(sep.session, task.id);
    }
  }

  async #find(request: RequestId, joined?: string, scopes?: readonly string[]): Promise<Found | undefined> {
    const { runtime } = this.#services;
    const { principal, streams } = this.#context.core.connection;
    const [made] = (await runtime.sessions?.tasksOf(streams.sessionKey ?? "", 1, request)) ?? [];
    const id = joined ?? made;
    if (id === undefined) return undefined;
    for (const generation of [plain, core, sepGeneration] as const) {
      const requestor = { generation, principal, scopes };
      try {
        return { snapshot: await runtime.get(id, requestor), origin: await runtime.originOf(id, requestor) };
      } catch (error) {
        if (!isUnknownTask(error)) throw error; // else it is of another generation, or gone
      }
    }
    return undefined;
  }
}
