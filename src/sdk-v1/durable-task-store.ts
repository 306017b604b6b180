import type { CreateTaskOptions, TaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import type { Request, RequestId, Result, Task } from "@modelcontextprotocol/sdk/types.js";
import type { CommandResult, TaskCommand } from "../task/command.ts";
import { isGone } from "../runtime/dispatch/sweeper.ts";
import { HoldfastError } from "../task/fault.ts";
import type { TaskRecord } from "../task/record.ts";
import { resolveTtl, type SdkV1Services } from "./options.ts";
import { listTasks } from "./list-tasks.ts";
import { assertCreate, assertResult, assertStatus } from "./check-arguments.ts";
import { createTask, isSdkV1Task, resultCommand, statusCommand } from "./task-commands.ts";
import { readResult, sdkStatus, sdkTask } from "./sdk-task.ts";

/**
 * The SDK's `TaskStore`, kept in a Holdfast store. Errors have the texts of the SDK's own store, since servers show
 * them to clients. A task of another owner is reported as not found.
 */
export class DurableTaskStore implements TaskStore {
  readonly #services: SdkV1Services;

  constructor(services: SdkV1Services) {
    this.#services = services;
  }

  async createTask(
    params: CreateTaskOptions,
    requestId: RequestId,
    request: Request,
    sessionId?: string,
  ): Promise<Task> {
    assertCreate(params, request);
    const { options } = this.#services;
    const owner = options.owner(sessionId);
    const ttlMs = resolveTtl(params.ttl, options);
    const command = createTask({ params, requestId, request, sessionId, owner, ttlMs }, this.#services);
    const created = await this.#write(command);
    if (!created.ok) throw new HoldfastError("internal", `Task with ID ${command.task.id} already exists`);
    return sdkTask(created.task);
  }

  async getTask(taskId: string, sessionId?: string): Promise<Task | null> {
    const task = await this.#find(taskId, sessionId);
    return task === undefined ? null : sdkTask(task);
  }

  async storeTaskResult(
    taskId: string,
    status: "completed" | "failed",
    result: Result,
    sessionId?: string,
  ): Promise<void> {
    assertResult(status, result);
    await this.#get(taskId, sessionId);
    const written = await this.#write(resultCommand(taskId, status, result, this.#services.clock.now()));
    if (written.ok) return;
    const ended = sdkStatus(await this.#get(taskId, sessionId));
    throw new HoldfastError(
      "finished",
      `Cannot store result for task ${taskId} in terminal status '${ended}'. Task results can only be stored once.`,
    );
  }

  async getTaskResult(taskId: string, sessionId?: string): Promise<Result> {
    await this.#get(taskId, sessionId);
    const { store, retrievals } = this.#services;
    const snapshot = await store.snapshot(taskId);
    const result = readResult(taskId, snapshot);
    if (snapshot !== undefined) retrievals.deliver(snapshot.task, "tasks/result");
    return result;
  }

  async updateTaskStatus(
    taskId: string,
    status: Task["status"],
    statusMessage?: string,
    sessionId?: string,
  ): Promise<void> {
    assertStatus(status, statusMessage);
    await this.#get(taskId, sessionId);
    const now = this.#services.clock.now();
    const written = await this.#write(statusCommand(taskId, status, statusMessage, now));
    if (written.ok) return;
    const ended = sdkStatus(await this.#get(taskId, sessionId));
    throw new HoldfastError(
      "finished",
      `Cannot update task ${taskId} from terminal status '${ended}' to '${status}'. Terminal states (completed, failed, cancelled) cannot transition to other states.`,
    );
  }

  async listTasks(cursor?: string, sessionId?: string): Promise<{ tasks: Task[]; nextCursor?: string }> {
    return listTasks(this.#services, this.#services.options.owner(sessionId), cursor);
  }

  /** Ends a task that has expired and hides one that is due for deletion, even if the sweeper has not run yet. */
  async #find(taskId: unknown, sessionId: string | undefined): Promise<TaskRecord | undefined> {
    if (typeof taskId !== "string") return undefined;
    const { store, clock, sweeper, options } = this.#services;
    const found = await store.get(taskId);
    if (found === undefined || !isSdkV1Task(found)) return undefined;
    const owner = options.owner(sessionId);
    if (owner !== undefined && found.principal !== null && found.principal !== owner) return undefined;
    const task = await sweeper.ended(found);
    return isGone(task, clock) ? undefined : task;
  }

  async #get(taskId: string, sessionId: string | undefined): Promise<TaskRecord> {
    const task = await this.#find(taskId, sessionId);
    if (task === undefined) throw new HoldfastError("unknown_task", `Task with ID ${taskId} not found`);
    return task;
  }

  async #write(
    command: TaskCommand<"create" | "update" | "settle" | "cancel">,
  ): Promise<CommandResult<"update">> {
    const { store, sweeper } = this.#services;
    const written = await store.write(command);
    if (written.ok) sweeper.consider(written.task.sweepAt);
    return written;
  }
}
