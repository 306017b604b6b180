import { hostname, userInfo } from "node:os";
import { resolve } from "node:path";
import type { Admin, AdminActs } from "../../../admin/operations.ts";
import { openAdmin, type OpenAdmin } from "../../../admin/open-admin.ts";
import { remoteAdmin } from "../../../admin/remote-admin.ts";
import { openedStore } from "../../../store/encrypted-store.ts";
import { existingStore } from "../../../store/from-url.ts";
import type { TaskStore } from "../../../store/store.ts";
import type { Context } from "../../context.ts";
import { Stopped, UsageError } from "../../errors.ts";
import { interruptedBy } from "../../exit-code.ts";
import type { Io } from "../../io.ts";
import { encryptionKeys } from "../../server/encryption-keys.ts";
import { watchSignals, type SignalWatch } from "../../terminal/signal-watch.ts";
import { adminFailure } from "./admin-failure.ts";
import { blobFolder } from "./blobs-in.ts";

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
  try {
    const opened = await open(io, place, options);
    try {
      using interrupts = watchSignals();
      const { admin, store } = opened;
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
    throw adminFailure(error);
  }
}

/** Resolves with why a dump cannot be recorded: one of a damaged store, or of one that is only to be read, is made all the same. */
export async function recordDump(context: Context, place: string): Promise<string | undefined> {
  const { recordAction } = await import("../../../admin/record-action.ts");
  try {
    await withAdmin(context, { place, options: {} }, async ({ store, now, actor }) =>
      store === undefined ? undefined : recordAction({ store, now, actor }, "dump"),
    );
    return undefined;
  } catch (error) {
    if (error instanceof Stopped) throw error;
    return error instanceof Error ? error.message : String(error);
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

const isInterrupted = Symbol("interrupted");

async function unlessInterrupted<Result>(done: Promise<Result>, interrupts: SignalWatch): Promise<Result> {
  const { promise: interrupted, resolve: stop } = Promise.withResolvers<typeof isInterrupted>();
  const { signal } = interrupts;
  signal.addEventListener("abort", () => stop(isInterrupted), { once: true });
  const first = await Promise.race([done, interrupted]);
  if (first !== isInterrupted) return first;
  done.catch(() => undefined); // it fails once the store is closed
  throw new Stopped(interruptedBy(interrupts), "Interrupted");
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
