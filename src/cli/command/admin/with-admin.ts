import { resolve } from "node:path";
import { readFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { TaskClientError, type TaskClientErrorCode } from "../../../client/task-client-error.ts";
import { type FaultCode, HoldfastError } from "../../../task/fault.ts";
import { type ExitCode, exitCodeOf, exitCodes, interruptedBy, Stopped, UsageError } from "../../errors.ts";
import { call, type Input, methodsOf, misfitOf, type Operation } from "../../../admin/operation.ts";
import { acts, type Admin, type AdminActs, type AdminReads, reads } from "../../../admin/operations.ts";
import { isTaskId } from "../../../task/record-changes.ts";
import type { BlobCopies } from "../../../store/blobs.ts";
import type { Context } from "../../context.ts";
import type { Io } from "../../io.ts";
import { type KeyRing, readKeys } from "../../../store/encryption-keys.ts";
import { openAdmin, type OpenAdmin } from "../../../admin/create-admin.ts";
import type { RecordServices } from "../../../admin/record-reads.ts";
import { remoteAdmin } from "../../../admin/remote-admin.ts";
import { openedStore } from "../../../store/encrypted-store.ts";
import { existingStore } from "../../../store/from-url.ts";
import type { TaskStore } from "../../../store/store.ts";
import { aborted, type SignalWatch, watchSignals } from "../../terminal/signal-watch.ts";

/** The error of a store or an endpoint, with the exit code for it. */
const kinds: Readonly<Partial<Record<FaultCode, TaskClientErrorCode | "usage">>> = {
  unknown_task: "unknown_task",
  store_unusable: "connection",
  store_locked: "connection",
  store_failed: "connection",
  store_lost: "connection",
  store_closed: "connection",
  stopping: "connection",
  limit_reached: "connection",
  unauthenticated: "unauthorized",
  insufficient_scope: "unauthorized",
  internal: "rpc",
  store_url: "usage",
  configuration: "usage",
  address_in_use: "usage",
  node_too_old: "usage",
  task_unreadable: "usage",
  invalid_params: "usage",
  invalid_request: "usage",
  too_large: "usage",
  store_refused: "usage",
  method_not_found: "usage",
  idempotency_conflict: "usage",
  finished: "usage",
  unfinished: "usage",
};

/** How a command ends. */
export function adminFailure(error: unknown): unknown {
  if (!(error instanceof HoldfastError)) return error;
  const kind = kinds[error.code];
  if (kind === undefined) return error;
  const { message } = error;
  return kind === "usage"
    ? new UsageError(message, { cause: error })
    : new TaskClientError(kind, message, { cause: error });
}

/** The exit code of an error from `adminFailure`. */
export function exitCodeOfAdmin(failure: Error): ExitCode {
  if (failure instanceof UsageError) return exitCodes.usage;
  return failure instanceof TaskClientError ? exitCodeOf(failure.code) : exitCodes.fault;
}

/** Sorts after every character of an id. */
const afterAll = "~";

/** The id of a task, given whole or as a unique beginning, which is all that lists on a terminal show. */
export async function findTask(admin: Admin, given: string): Promise<string> {
  if (given === "") throw new UsageError("The id is empty. Give a task's id or the start of it.");
  if (isTaskId(given)) return given;
  const { tasks } = await admin.list({ after: `${given}${afterAll}`, limit: 2 });
  const found = tasks.map(({ id }) => id).filter((id) => id.startsWith(given));
  const [id] = found;
  if (id === undefined) throw new TaskClientError("unknown_task", `There is no task ${given}.`);
  if (found.length > 1 && !found.includes(given))
    throw new UsageError(`The ids of several tasks start with ${given}: give more of it.`);
  return found.includes(given) ? given : id;
}

/** The files of tasks in the folder of the option `--blobs`, or else of the environment. */
export async function blobsIn({ io }: Context, given: string | undefined): Promise<BlobCopies | undefined> {
  const folder = blobFolder(io, given);
  if (folder === undefined) return undefined;
  const { blobCopiesIn } = await import("../../../admin/store-care.ts");
  return blobCopiesIn(folder);
}

/** The folder in which tasks keep files outside of their store; undefined if none is named. */
function blobFolder({ cwd, env }: Pick<Io, "cwd" | "env">, given?: string): string | undefined {
  const folder = given ?? env["HOLDFAST_BLOBS"] ?? "";
  if (folder === "") return undefined;
  if (/^[a-z][\w+.-]+:/i.test(folder))
    throw new UsageError(
      `Files can be read from a folder, and ${folder} is none. Copy a bucket with its own tools; the admin endpoint and the dashboard of a server show the files in it.`,
    );
  return resolve(cwd, folder);
}

/** The dump can be loaded, but what it restores has no such files. */
export function missingFiles(tasks: string, folder: string | undefined): string {
  const where = folder === undefined ? "" : ` that are not in ${folder}`;
  return `Files of ${tasks} are kept outside of the store (blobs)${where}, and are not in the dump. If they are in a folder, dump again with --blobs FOLDER. If they are in a bucket, or where your own functions keep them, copy them with the tools of that place, and give a store that is loaded from this dump the copy.`;
}

/** The keys of encrypted stores from the environment; undefined if it has none. */
export function encryptionKeys(io: Pick<Io, "env" | "cwd">): KeyRing | undefined {
  const text = textOf(io);
  if (text === undefined) return undefined;
  try {
    return readKeys(text);
  } catch (error) {
    if (error instanceof HoldfastError)
      throw new UsageError(`HOLDFAST_ENCRYPTION_KEYS: ${error.message}`, { cause: error });
    throw error;
  }
}

function textOf({ env, cwd }: Pick<Io, "env" | "cwd">): string | undefined {
  const given = set(env["HOLDFAST_ENCRYPTION_KEYS"]);
  const file = set(env["HOLDFAST_ENCRYPTION_KEYS_FILE"]);
  if (file === undefined) return given;
  if (given !== undefined)
    throw new UsageError(
      "HOLDFAST_ENCRYPTION_KEYS and HOLDFAST_ENCRYPTION_KEYS_FILE are both set: leave one of them out.",
    );
  try {
    return readFileSync(resolve(cwd, file), "utf8");
  } catch {
    throw new UsageError(`HOLDFAST_ENCRYPTION_KEYS_FILE names ${file}, which cannot be read.`);
  }
}

function set(value: string | undefined): string | undefined {
  return value?.trim() === "" ? undefined : value;
}

/** Options of every command of `holdfast admin`. */
export interface AdminOptions {
  /** The name to record actions under. */
  readonly as?: string;
  /** The folder of files that tasks keep outside of the store. */
  readonly blobs?: string;
}

/** An open store or endpoint, while a command uses it. */
export interface AdminSession {
  readonly admin: Admin;
  /** Undefined for an admin endpoint. */
  readonly store: TaskStore | undefined;
  /** What the store's clock shows (epoch ms), as far as it is known here. */
  readonly now: () => number;
  /** The name to act under, as far as it is known here: an admin endpoint takes it from its token. */
  readonly actor: string;
  readonly acts: () => AdminActs;
  /** Ctrl-C and SIGTERM. */
  readonly interrupts: SignalWatch;
}

interface AdminPlace {
  /** As given: a store, or the URL of an admin endpoint. */
  readonly place: string;
  readonly options: AdminOptions;
  /** Whether the command ends by itself after an interrupt, and reports what it has done. Default false. */
  readonly endsItself?: boolean;
}

/** Runs a command on a store or an admin endpoint, and closes it afterwards, however the command ends. */
export async function withAdmin<Result>(
  { io }: Context,
  { place, options, endsItself = false }: AdminPlace,
  work: (session: AdminSession) => Promise<Result>,
): Promise<Result> {
  let odd: string | undefined;
  try {
    const opened = await open(io, place, options);
    try {
      using interrupts = watchSignals();
      const { store } = opened;
      const admin = isEndpoint(place)
        ? withChecks(opened.admin, (problem) => (odd ??= problem))
        : opened.admin;
      const actor = isEndpoint(place)
        ? `token of ${new URL(place).host}`
        : (options.as ?? operatingSystemUser());
      const now = (): number => io.now() + opened.offsetMs();
      const done = work({ admin, store, now, actor, acts: () => admin.as(actor), interrupts });
      return await (endsItself ? done : unlessInterrupted(done, interrupts));
    } finally {
      await opened.close();
    }
  } catch (error) {
    const isOdd = odd !== undefined && (error instanceof TypeError || error instanceof RangeError);
    if (!isOdd) throw adminFailure(error);
    const why = `The answer of ${new URL(place).host} cannot be used (${odd}). Either its server is of another version, or this is not the URL of an admin endpoint.`;
    throw new TaskClientError("protocol", why, { cause: error });
  }
}

/**
 * An endpoint's `Admin` that tells what is wrong with an answer, and gives it all the same: a server of a later version may answer more than is
 * known here, most of which can be shown.
 */
function withChecks(admin: Admin, onMisfit: (problem: string) => void): Admin {
  const asking = (methods: object) => (operation: Operation, input: Input, signal?: AbortSignal) => {
    const asked = call(methods, operation, input, signal);
    if (operation.isStream === true) return asked;
    return Promise.resolve(asked).then((answer) => {
      const problem = misfitOf(operation, answer);
      if (problem !== undefined) onMisfit(`${operation.name}: ${problem.replace(/\.$/, "")}`);
      return answer;
    });
  };
  return {
    ...methodsOf<AdminReads>(reads, asking(admin)),
    as: (actor) => methodsOf<AdminActs>(acts, asking(admin.as(actor))),
  };
}

/**
 * Records what reads a store without opening it as an operator does, a dump or an export. That of a damaged store, or of one that is only to be
 * read, is made all the same: it resolves with a warning that says why it cannot be recorded.
 */
export async function recordCopy(
  context: Context,
  place: string,
  record: (services: RecordServices) => Promise<void>,
): Promise<string | undefined> {
  try {
    await withAdmin(context, { place, options: {} }, async ({ store, now, actor }) =>
      store === undefined ? undefined : record({ store, now, actor }),
    );
    return undefined;
  } catch (error) {
    if (error instanceof Stopped) throw error;
    return `This is not among the recorded actions: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function open(io: Io, place: string, options: AdminOptions): Promise<OpenAdmin> {
  if (isEndpoint(place)) return atEndpoint(io, place, options);
  const store = existingStore(place, (path) => resolve(io.cwd, path));
  return openAdmin(openedStore(store, encryptionKeys(io)), blobFolder(io, options.blobs));
}

function isEndpoint(place: string): boolean {
  return /^https?:/i.test(place);
}

function atEndpoint({ env }: Io, url: string, { as }: AdminOptions): OpenAdmin {
  const token = env["HOLDFAST_ADMIN_TOKEN"] ?? "";
  if (token === "") throw new UsageError("An admin endpoint needs a token: set HOLDFAST_ADMIN_TOKEN.");
  if (as !== undefined)
    throw new UsageError("--as is for stores: an admin endpoint identifies the operator by the token.");
  return { admin: remoteAdmin(url, { token }), offsetMs: () => 0, close: () => Promise.resolve() };
}

async function unlessInterrupted<Result>(done: Promise<Result>, interrupts: SignalWatch): Promise<Result> {
  const stopped = aborted(interrupts.signal).then((): never => {
    throw new Stopped(interruptedBy(interrupts), "Interrupted");
  });
  // It also takes what `done` rejects with later, once the store is closed.
  return Promise.race([done, stopped]);
}

/** Such as `ann@reports-1`. */
function operatingSystemUser(): string {
  return `${userName()}@${hostname()}`;
}

/** A container may run under a user id without a user. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
}
