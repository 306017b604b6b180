import { isDeepStrictEqual } from "node:util";
import { generation, declaresTasks } from "../../generation/2026-07-28.ts";
import { idempotencyMeta, readKeptMs, declaresTaskLines } from "../../generation/extensions.ts";
import type { ClientClock } from "../clock.ts";
import type { InputResult } from "../question/input-request.ts";
import type { JsonObject } from "../../generation/message.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { requestWithTimeout } from "../transport/request-with-timeout.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import { readReply, type Reply } from "../reply/reply.ts";
import type { CallAnswer, TaskProtocol, ToolCall } from "../task-protocol.ts";
import { followLines, listenToTasks } from "./listen.ts";
import { readAcknowledgement, readCallAnswer, readGetResult } from "./read-answers.ts";
import { headerMismatchCode, type ToolHeaders } from "./tool-headers.ts";

interface ExtensionProtocolOptions {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  /** The `_meta` of every request. */
  readonly meta: JsonObject;
  /** The server's capabilities. */
  readonly server: JsonObject;
  readonly headers: ToolHeaders;
}

/** The extension `io.modelcontextprotocol/tasks` on protocol 2026-07-28. */
export class ExtensionProtocol implements TaskProtocol {
  readonly generation = generation;
  readonly keepsQuestionKeys = true;
  readonly recognisesRepeats: boolean;
  readonly listen?: NonNullable<TaskProtocol["listen"]>;
  readonly followLines: TaskProtocol["followLines"];
  readonly #keptMs: number;
  readonly #services: Pick<ExtensionProtocolOptions, "requester" | "clock">;
  readonly #meta: JsonObject;
  readonly #headers: ToolHeaders;

  constructor({ requester, clock, meta, server, headers }: ExtensionProtocolOptions) {
    this.#services = { requester, clock };
    this.#meta = meta;
    this.#headers = headers;
    // Only a server that declares this extension recognises repeated calls.
    const keptMs = readKeptMs(server, "extensions");
    this.recognisesRepeats = keptMs !== undefined;
    this.#keptMs = keptMs ?? 0;
    this.followLines = declaresTaskLines(server, "extensions")
      ? async (uri, listener, signal) => followLines({ requester, clock, meta }, uri, listener, signal)
      : undefined;
    // Whether the server pushes tasks shows only in its answer.
    if (!declaresTasks(server)) return;
    this.listen = async (taskIds, listener, signal) =>
      listenToTasks({ requester, clock, meta }, taskIds, listener, signal);
  }

  /** The server alone decides how long it keeps a task. */
  recognisedMs(): number {
    return this.#keptMs;
  }

  async call(
    { name, args, idempotencyKey, round, repeat, progressToken }: ToolCall,
    signal: AbortSignal,
  ): Promise<Reply<CallAnswer>> {
    const params = {
      name,
      arguments: args,
      // requestState only if the server sent one (X-B-009).
      ...(round?.inputResponses !== undefined && { inputResponses: round.inputResponses }),
      ...(round?.requestState !== undefined && { requestState: round.requestState }),
      _meta: {
        ...this.#meta,
        ...(progressToken !== undefined && { progressToken }),
        ...idempotencyMeta(idempotencyKey, repeat),
      },
    };
    const headers = this.#headers.of(name, args);
    const { requester } = this.#services;
    const reply = await requester.request("tools/call", params, signal, { headers });
    if (reply.kind !== "error" || reply.error.code !== headerMismatchCode)
      return readReply(reply, readCallAnswer);
    await this.#headers.refresh(async (page) =>
      requestWithTimeout(this.#services, "tools/list", { ...page, _meta: this.#meta }, signal),
    );
    const now = this.#headers.of(name, args);
    if (isDeepStrictEqual(now, headers)) return reply;
    return readReply(await requester.request("tools/call", params, signal, { headers: now }), readCallAnswer);
  }

  async get(taskId: string, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const reply = await this.#about("tasks/get", taskId, {}, signal);
    return readReply(reply, (answer) => readGetResult(answer, taskId));
  }

  async answer(
    taskId: string,
    key: string,
    result: InputResult,
    signal: AbortSignal,
  ): Promise<Reply<undefined>> {
    const reply = await this.#about("tasks/update", taskId, { inputResponses: { [key]: result } }, signal);
    return readReply(reply, readAcknowledgement);
  }

  async cancel(taskId: string, signal: AbortSignal): Promise<Reply<undefined>> {
    return readReply(await this.#about("tasks/cancel", taskId, {}, signal), readAcknowledgement);
  }

  async #about(
    method: string,
    taskId: string,
    rest: object,
    signal: AbortSignal,
  ): Promise<Reply<JsonObject>> {
    return requestWithTimeout(this.#services, method, { taskId, ...rest, _meta: this.#meta }, signal);
  }
}
