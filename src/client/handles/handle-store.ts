import type { InputResult } from "../question/ask-user.ts";
import type { AnsweredRound } from "../task-protocol.ts";
import type { TaskReference } from "../task/remote-task.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";

/** A call whose outcome was not delivered yet. Plain JSON. */
export interface StoredCall {
  /** The call's idempotency key. Together with server and generation it identifies the call. */
  readonly key: string;
  /** The server's name, as in `TaskReference`. */
  readonly server: string;
  readonly generation: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The ttl that the caller asked for, in milliseconds. */
  readonly ttlMs?: number | undefined;
  /** Epoch milliseconds, by the client's clock. */
  readonly startedAt: number;
  /** The last answers to questions that the server asked before there was a task. */
  readonly round?: AnsweredRound | undefined;
  /** The task of the call; `null` while the server has not named one. */
  readonly taskId: string | null;
  /** When the server may delete the task: epoch milliseconds, by the client's clock; left out if unknown. */
  readonly expiresAt?: number | undefined;
  /** The session that created the task, before 2026-07-28: some servers show it in no other. */
  readonly sessionId?: string | undefined;
  /** The origin that the session's id came from. The id is sent only there. */
  readonly sessionOrigin?: string | undefined;
}

/** Identifies a call among those of all servers. */
export type CallName = Pick<StoredCall, "server" | "generation" | "key">;

/** A session at a server, before 2026-07-28. Plain JSON. Its id may be enough to see its tasks. */
export interface ResumableSession {
  /** As in `TaskReference`. Together with the generation it identifies the session. */
  readonly server: string;
  readonly generation: string;
  /** The origin that the id came from. The id is sent only there. */
  readonly origin: string;
  readonly id: string;
  /** The capabilities that the client declared. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** The server's answer to `initialize`. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** An entry that cannot be read; `name` says where it is. */
export interface DamagedEntry {
  readonly name: string;
  readonly error: Error;
}

/** The calls that a handle store keeps, and entries that cannot be read. */
export interface StoredCalls {
  /** Oldest first. */
  readonly calls: readonly StoredCall[];
  readonly damaged: readonly DamagedEntry[];
}

/**
 * Stores calls, and the answers to their tasks' questions, until their outcomes are delivered. Each method resolves once its change is
 * durable. Any number of clients may use one store at the same time.
 *
 * ```ts
 * const client = await connect(url, { handles: fileHandles("handles.db") });
 * ```
 */
export interface HandleStore {
  /**
   * Stores a call: before it is sent, with each round of answers, and as soon as the task's id is known. A stored call
   * keeps its task and its `startedAt`. Resolves with false if it was stored before without a task, so that it may have
   * been sent already.
   */
  keep(call: StoredCall): Promise<boolean>;
  /** Removes a call that ended without a task. Does nothing if it is not stored, or has a task. */
  drop(call: CallName): Promise<void>;
  /** Removes the calls of a finished task, and the answers to its questions. */
  dropTask(task: TaskReference): Promise<void>;
  list(): Promise<StoredCalls>;
  /** The call of this task, if it is stored. Rejects if it cannot be read. */
  find(task: TaskReference): Promise<StoredCall | undefined>;
  /** Whether a stored task was created in this session. */
  usesSession(session: ResumableSession): Promise<boolean>;
  /** Stores the session that the next client resumes: the newest one for each server and generation. */
  keepSession(session: ResumableSession): Promise<void>;
  findSession(server: string, generation: string): Promise<ResumableSession | undefined>;
  /**
   * Removes this session, before a client resumes it or if its server has lost it. Resolves with false if it is not stored: of several
   * clients, only one gets true.
   */
  dropSession(session: ResumableSession): Promise<boolean>;
  /** Stores the answer to one question of a task. */
  keepAnswer(task: TaskReference, question: string, answer: InputResult): Promise<void>;
  /** The answer, if one is stored. Rejects if it cannot be read. */
  answer(task: TaskReference, question: string): Promise<InputResult | undefined>;
}

/** Incremented by changes that an earlier version could not read. */
const format = 1;

/** How long a task that the server does not know is kept after its expiry: another token may still find it. */
export const keepAfterExpiryMs = 86_400_000;

/** The text of one entry: a call, an answer or a session. */
export function encodeEntry(content: object): string {
  return `${JSON.stringify({ format, ...content })}\n`;
}

/** The content of such a text; throws for any other. */
export function decodeEntry(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new TypeError("It does not contain a JSON object");
  if (value["format"] !== format)
    throw new TypeError(`Its format is unknown: ${JSON.stringify(value["format"])}`);
  return value;
}

export function decodeCall(text: string): StoredCall {
  const { format: _format, ...call } = decodeEntry(text);
  if (!isStoredCall(call)) throw new TypeError("It is not a stored call");
  return call;
}

export function decodeSession(text: string): ResumableSession {
  const { format: _format, ...session } = decodeEntry(text);
  if (!isResumableSession(session)) throw new TypeError("It is not a stored session");
  return session;
}

/** Whether the task of the call was made in this session. */
export function isMadeIn(call: StoredCall, { server, origin, id }: ResumableSession): boolean {
  const isOfSession = call.sessionId === id && call.sessionOrigin === origin;
  return isOfSession && call.server === server && call.taskId !== null;
}

function isResumableSession(value: JsonObject): value is JsonObject & ResumableSession {
  const { server, generation, origin, id, capabilities, result } = value;
  const hasNames = [server, generation, origin, id].every((name) => typeof name === "string");
  return hasNames && isJsonObject(capabilities) && isJsonObject(result);
}

/** Whether it is a call as it is stored, without its format. */
export function isStoredCall(value: JsonObject): value is JsonObject & StoredCall {
  const { key, server, generation, tool, args, ttlMs, startedAt, round, taskId, expiresAt } = value;
  const { sessionId, sessionOrigin } = value;
  return (
    [key, server, generation, tool].every((name) => typeof name === "string") &&
    isJsonObject(args) &&
    typeof startedAt === "number" &&
    (ttlMs === undefined || typeof ttlMs === "number") &&
    (expiresAt === undefined || typeof expiresAt === "number") &&
    (sessionId === undefined || typeof sessionId === "string") &&
    (sessionOrigin === undefined || typeof sessionOrigin === "string") &&
    (round === undefined || isRound(round)) &&
    (taskId === null || (typeof taskId === "string" && taskId !== ""))
  );
}

function isRound(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { inputResponses, requestState } = value;
  const hasAnswers = inputResponses === undefined || isJsonObject(inputResponses);
  return hasAnswers && (requestState === undefined || typeof requestState === "string");
}

/**
 * A handle store that lives as long as this process: for tests, and for tasks that must survive a connection but not the process, as when a
 * server is restarted.
 *
 * ```ts
 * const handles = memoryHandles();
 * const client = await connect(server, { handles });
 * ```
 */
export function memoryHandles(): HandleStore {
  const calls = new Map<string, StoredCall>();
  const sessions = new Map<string, ResumableSession>();
  const answers = new Map<string, Map<string, InputResult>>();
  return {
    async keep(call) {
      const name = nameOfCall(call);
      const known = calls.get(name);
      const { startedAt, taskId } = known ?? call;
      calls.set(name, { ...structuredClone(call), startedAt, taskId: call.taskId ?? taskId });
      return known === undefined || taskId !== null;
    },
    async drop(call) {
      const name = nameOfCall(call);
      if (calls.get(name)?.taskId === null) calls.delete(name);
    },
    async dropTask(task) {
      for (const [name, call] of calls) if (isOf(call, task)) calls.delete(name);
      answers.delete(nameOfTask(task));
    },
    async list() {
      const stored = [...calls.values()].map((call) => structuredClone(call));
      return { calls: stored.toSorted((one, other) => one.startedAt - other.startedAt), damaged: [] };
    },
    async find(task) {
      return structuredClone([...calls.values()].find((call) => isOf(call, task)));
    },
    async usesSession(session) {
      return [...calls.values()].some((call) => isMadeIn(call, session));
    },
    async keepSession(session) {
      sessions.set(nameOfSession(session), structuredClone(session));
    },
    async findSession(server, generation) {
      return structuredClone(sessions.get(nameOfSession({ server, generation })));
    },
    async dropSession(session) {
      const name = nameOfSession(session);
      return sessions.get(name)?.id === session.id && sessions.delete(name);
    },
    async keepAnswer(task, question, answer) {
      const name = nameOfTask(task);
      const ofTask = answers.get(name) ?? new Map<string, InputResult>();
      answers.set(name, ofTask);
      ofTask.set(question, structuredClone(answer));
    },
    async answer(task, question) {
      return structuredClone(answers.get(nameOfTask(task))?.get(question));
    },
  };
}

function isOf(call: StoredCall, { server, generation, taskId }: TaskReference): boolean {
  return call.server === server && call.generation === generation && call.taskId === taskId;
}

function nameOfCall({ server, generation, key }: CallName): string {
  return JSON.stringify([server, generation, key]);
}

function nameOfSession({ server, generation }: Pick<ResumableSession, "server" | "generation">): string {
  return JSON.stringify([server, generation]);
}

function nameOfTask({ server, generation, taskId }: TaskReference): string {
  return JSON.stringify([server, generation, taskId]);
}
