import type { CommandResult, TaskCommand, TaskCommandName, TaskCommands } from "../../task/command.ts";
import { assertCommand } from "../../task/command-shape.ts";
import { Lifecycle } from "../lifecycle.ts";
import type { TaskStore } from "../store.ts";
import { encryptedAdmin, encryptedLogs, encryptedMessages } from "./encrypted-parts.ts";
import { encryptedSessions } from "./encrypted-sessions.ts";
import type { Encryption } from "./encryption.ts";
import { readKeys, type EncryptionKey } from "./encryption-keys.ts";
import { each, clear, members, type Form, type Texts, body, words, type Members } from "./form.ts";
import { keyedEncryption } from "./keyed-encryption.ts";
import { opened, openedReads } from "./opened-reads.ts";
import {
  journalEnd,
  record,
  inputAnswer,
  inputRequest,
  journalEntry,
  line,
  newTask,
  outcome,
  progress,
  request,
} from "./task-forms.ts";
import type { TaskChanges } from "../../task/record.ts";

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
    assertCommand(command); // before its texts are taken for texts
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

type Done<N extends TaskCommandName> = Extract<CommandResult<N>, { readonly ok: true }>;

const done = members<{ readonly ok: true }>({ ok: clear });

const changed = members<Done<"start">>({ ok: clear, task: record });

/** Which texts of each result are encrypted. */
const resultForms: { readonly [N in TaskCommandName]: Form<Done<N>> } = {
  create: members<Done<"create">>({ ok: clear, task: record, created: clear }),
  start: changed,
  claim: members<Done<"claim">>({
    ok: clear,
    tasks: each(record),
    unreadable: clear,
    turns: clear,
    heldBack: clear,
  }),
  release: changed,
  retry: changed,
  park: changed,
  wake: members<Done<"wake">>({ ok: clear, woken: clear, unreadable: clear }),
  mark: changed,
  record_step: changed,
  retry_step: changed,
  open_input: changed,
  close_wait: changed,
  sleep: changed,
  end_sleep: changed,
  call_tool: changed,
  wait_event: changed,
  send_event: members<Done<"send_event">>({ ok: clear, task: record, isNew: clear, ended: clear }),
  answer_inputs: members<Done<"answer_inputs">>({ ok: clear, task: record, accepted: clear }),
  update: changed,
  append: changed,
  settle: changed,
  fail: changed,
  expire: changed,
  request_cancel: changed,
  join: changed,
  leave: changed,
  cancel: members<Done<"cancel">>({ ok: clear, task: record, released: clear }),
  reclaim: members<Done<"reclaim">>({ ok: clear, reclaimed: clear, unreadable: clear, next: clear }),
  release_key: done,
  retrieve: changed,
  extend: changed,
  pause_tool: done,
  resume_tool: done,
  delete: done,
  keep_secret: members<Done<"keep_secret">>({ ok: clear, value: clear }),
  delete_expired: members<Done<"delete_expired">>({ ok: clear, deleted: clear }),
  claim_deliveries: members<Done<"claim_deliveries">>({ ok: clear, deliveries: clear }),
  end_delivery: done,
  retry_delivery: done,
  resend_deliveries: members<Done<"resend_deliveries">>({ ok: clear, resent: clear }),
  trim_deliveries: members<Done<"trim_deliveries">>({ ok: clear, dropped: clear }),
};

/** The inner store's result of a command, as its caller gets it. */
export function openedResult<N extends TaskCommandName>(
  type: N,
  result: CommandResult<N>,
  opening: Texts,
): CommandResult<N> {
  if (!result.ok) return result;
  // Only the results of a command that are ok have texts.
  const form = resultForms[type] as unknown as Form<CommandResult<N>>;
  return form(result, opening);
}

const changes = members<TaskChanges>({
  statusMessage: words,
  pollIntervalMs: clear,
  expiry: clear,
  progress,
  waiting: clear,
});

/** Which texts of each command are encrypted. A command or member that is missing here does not compile. */
const commandForms: { readonly [N in TaskCommandName]: Members<TaskCommands[N]> } = {
  create: {
    task: newTask,
    request,
    token: clear,
    version: clear,
    forAnyOwner: clear,
    awaited: clear,
    promised: clear,
    quota: clear,
    journal: each(journalEntry),
    formerHash: clear,
  },
  start: { id: clear, token: clear, limited: clear, version: clear },
  claim: { handlers: clear, tokens: clear, turns: clear },
  release: { id: clear, token: clear, until: clear },
  retry: { id: clear, token: clear, until: clear, statusMessage: words, stack: words },
  park: { id: clear, token: clear },
  wake: { limit: clear },
  mark: { id: clear, token: clear, rest: clear },
  record_step: {
    id: clear,
    token: clear,
    key: clear,
    value: body,
    error: body,
    begunAt: clear,
    beforeHandler: clear,
  },
  retry_step: {
    id: clear,
    token: clear,
    key: clear,
    error: body,
    tries: clear,
    until: clear,
    begunAt: clear,
    rest: clear,
  },
  open_input: {
    id: clear,
    token: clear,
    input: inputRequest,
    requestHash: clear,
    deadlineAt: clear,
    rest: clear,
  },
  close_wait: { id: clear, token: clear, key: clear, error: body },
  sleep: { id: clear, token: clear, key: clear, until: clear, rest: clear },
  end_sleep: { id: clear, token: clear, key: clear },
  call_tool: {
    id: clear,
    token: clear,
    key: clear,
    requestHash: clear,
    child: newTask,
    request,
    cancelGraceMs: clear,
    rest: clear,
  },
  wait_event: {
    id: clear,
    token: clear,
    key: clear,
    name: clear,
    requestHash: clear,
    deadlineAt: clear,
    rest: clear,
  },
  send_event: { id: clear, name: clear, value: body, dedupeId: clear, limit: clear },
  answer_inputs: { id: clear, answers: each(inputAnswer) },
  update: { id: clear, token: clear, changes },
  append: { id: clear, token: clear, lines: each(line), forget: clear },
  settle: { id: clear, token: clear, outcome, statusMessage: words, stack: words },
  fail: { id: clear, outcome, statusMessage: words, orphaned: clear },
  expire: { id: clear, outcome, statusMessage: words, visibleUntil: clear },
  request_cancel: { id: clear, cancelBy: clear },
  join: { id: clear, alone: clear, key: clear },
  leave: { id: clear, stays: clear, promised: clear, cancelBy: clear },
  cancel: { id: clear, statusMessage: words, scheduled: clear, unlessWanted: clear },
  reclaim: { owner: clear, after: clear, limit: clear, backoff: clear },
  release_key: { id: clear, deleteBy: clear },
  retrieve: { id: clear, via: clear },
  extend: { id: clear, until: clear },
  pause_tool: { tool: clear, actor: clear },
  resume_tool: { tool: clear },
  delete: { id: clear },
  // Kept separately, under one name for each key.
  keep_secret: { name: clear, value: clear },
  delete_expired: { limit: clear },
  // Webhook deliveries contain nothing encrypted.
  claim_deliveries: { hook: clear, limit: clear, until: clear },
  end_delivery: { seq: clear, tries: clear },
  retry_delivery: { seq: clear, tries: clear, at: clear, problem: clear },
  resend_deliveries: { hook: clear, limit: clear },
  trim_deliveries: { most: clear, before: clear, limit: clear },
};

const forms = new Map(
  Object.entries(commandForms).map(([name, form]) => [name, members(form as Members<object>)]),
);

/** A command as the inner store gets it. */
export function sealedCommand<N extends TaskCommandName>(
  command: TaskCommand<N>,
  sealing: Texts,
): TaskCommand<N> {
  const form = forms.get(command.type);
  if (form === undefined) throw new TypeError(`The command ${command.type} has no encrypted form.`);
  // The form of a command only changes its texts.
  return form(command, sealing) as TaskCommand<N>;
}
