import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import { Lifecycle } from "../lifecycle.ts";
import type { TaskStore } from "../store.ts";
import { sealedCommand } from "./command-forms.ts";
import { encryptedAdmin, encryptedLogs, encryptedMessages } from "./encrypted-parts.ts";
import { encryptedSessions } from "./encrypted-sessions.ts";
import type { Encryption } from "./encryption.ts";
import { readKeys, type EncryptionKey } from "./encryption-keys.ts";
import { each } from "./form.ts";
import { keyedEncryption } from "./keyed-encryption.ts";
import { opened, openedReads } from "./opened-reads.ts";
import { openedResult } from "./result-forms.ts";
import { journalEnd, record } from "./task-forms.ts";

export interface EncryptionOptions {
  /** The first key encrypts, all keys decrypt. As text: `id:base64,id2:base64`, the form of `HOLDFAST_ENCRYPTION_KEYS`. */
  readonly keys: readonly EncryptionKey[] | string;
}

/**
 * A store whose texts are encrypted (AES-256-GCM) before `inner` gets them, and decrypted when they are read. Arguments, questions,
 * answers, logs, outputs and results of tasks never appear in clear in its database, files and notifications. Ids, names of tools,
 * principals, states and times do. Texts stored in clear before stay readable. Throws `configuration` for invalid keys.
 *
 * ```ts
 * import { createTasks } from "holdfast";
 * import { sqliteStore } from "holdfast/sqlite";
 * import { encryptedStore } from "holdfast/store";
 *
 * const keys = process.env["HOLDFAST_ENCRYPTION_KEYS"] ?? "";
 * const tasks = createTasks({ store: encryptedStore(sqliteStore("tasks.db"), { keys }) });
 * ```
 */
export function encryptedStore(inner: TaskStore, options: EncryptionOptions): TaskStore {
  return storeWith(inner, keyedEncryption(inner, readKeys(options.keys)));
}

/** All members of a store, so that a new member of the port must be handled here. */
type AllMembers = { readonly [K in keyof Required<TaskStore>]: TaskStore[K] };

/** A store that uses `encryption` for its texts. */
export function storeWith(inner: TaskStore, encryption: Encryption): TaskStore {
  const { sealing, opening } = encryption;
  const lifecycle = new Lifecycle();
  function write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  async function write(command: TaskCommand): Promise<CommandResult> {
    if (command.type === "keep_secret") return encryption.keepSecret(command);
    const result = await inner.write(sealedCommand(command, sealing));
    return openedResult(command.type, result, opening);
  }
  const all: AllMembers = {
    ...openedReads(inner, opening),
    open: (owner) =>
      lifecycle.open(async () => {
        await inner.open(owner);
        try {
          await encryption.start();
        } catch (error) {
          await inner.close();
          throw error;
        }
      }),
    close: () => lifecycle.close(() => inner.close()),
    renew: () => inner.renew(),
    rejoin: inner.rejoin && (() => inner.rejoin?.() ?? Promise.resolve()),
    setHandlers: (handlers) => inner.setHandlers(handlers),
    write,
    find: (wire) => inner.find(wire),
    withKeys: (...keys) => inner.withKeys(...keys),
    journalEnds: async (id, keys) => opened(id, each(journalEnd), await inner.journalEnds(id, keys), opening),
    list: async (...page) => (await inner.list(...page)).map((task) => record(task, opening)),
    hasClaimable: (handlers) => inner.hasClaimable(handlers),
    orphanedHandlers: () => inner.orphanedHandlers(),
    queued: (handler, limit) => inner.queued(handler, limit),
    due: (now, limit) => inner.due(now, limit),
    nextSweepAt: (after) => inner.nextSweepAt(after),
    sharesLoad: inner.sharesLoad,
    hashKey: () => encryption.hashKey(),
    sessions: inner.sessions && encryptedSessions(inner.sessions, encryption),
    logs: inner.logs && encryptedLogs(inner.logs, encryption),
    admin: inner.admin && encryptedAdmin(inner.admin, encryption),
    outbox: inner.outbox,
    reports: inner.reports,
    messages: inner.messages && encryptedMessages(inner.messages, encryption),
    subscribe: (listener) => inner.subscribe(listener),
    onWork: inner.onWork && ((listener) => inner.onWork?.(listener) ?? none),
    onListening: inner.onListening && ((listener) => inner.onListening?.(listener)),
    onCommit: inner.onCommit && ((listener) => inner.onCommit?.(listener)),
  };
  return withoutUndefined(all);
}

const none = (): void => undefined;

/** Leaves out what the inner store leaves out. */
function withoutUndefined({
  rejoin,
  sharesLoad,
  sessions,
  logs,
  admin,
  outbox,
  reports,
  messages,
  onListening,
  onCommit,
  hashKey,
  ...others
}: AllMembers): TaskStore {
  return {
    ...others,
    ...(rejoin && { rejoin }),
    ...(sharesLoad !== undefined && { sharesLoad }),
    ...(sessions && { sessions }),
    ...(logs && { logs }),
    ...(admin && { admin }),
    ...(outbox && { outbox }),
    ...(reports && { reports }),
    ...(messages && { messages }),
    ...(onListening && { onListening }),
    ...(onCommit && { onCommit }),
    ...(hashKey && { hashKey }),
  };
}
