import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { TaskStore } from "../../../store/store.ts";
import type { StorePlace } from "../../../store/from-url.ts";
import { HoldfastError } from "../../../task/fault.ts";
import type { DatabaseCommands } from "../../database-commands.ts";
import type { GivenTo } from "../../declare.ts";
import { readTimeSpan, selectionOf } from "./selection.ts";
import type { Context } from "../../context.ts";
import { type ExitCode, exitCodes, interruptedBy, Stopped, UsageError } from "../../errors.ts";
import type { Said } from "../../output/output.ts";
import { sizeText, spanText, tasksText, timeText, type Column, fittedTable } from "../../output/table.ts";
import { adminFailure, type AdminSession, blobsIn, encryptionKeys, missingFiles } from "./with-admin.ts";
import { confirm } from "../../terminal/prompts.ts";
import { unlessStopped } from "../../terminal/signal-watch.ts";

// The commands of `holdfast admin STORE` that need the store's database. The code of stores is loaded when one runs.

interface Place {
  /** As it was typed. */
  readonly store: string;
  readonly at: StorePlace;
}

type Given<Name extends keyof DatabaseCommands> = Place & GivenTo<DatabaseCommands[Name]>;

const code: {
  readonly [Name in keyof DatabaseCommands]: (
    context: Context,
    given: Given<Name>,
  ) => Promise<Said | ExitCode>;
} = {
  dump,
  load,
  export: exportTasks,
  gc,
  keys,
  reseal,
  "rotate-secrets": rotateSecrets,
  "delete-principal": deletePrincipal,
};

/** A store, opened as by any operator. */
type OpenSession = AdminSession & { readonly store: TaskStore };

/** Runs a command by its name, with what was typed. */
export async function runOnDatabase(
  context: Context,
  name: keyof DatabaseCommands,
  given: { readonly store: string },
): Promise<ExitCode> {
  const run = code[name] as (context: Context, given: never) => Promise<Said | ExitCode>;
  try {
    const done = await run(context, { ...given, at: await storePlace(context, given.store) } as never);
    return typeof done === "number" ? done : await context.output.say(done);
  } catch (error) {
    throw adminFailure(error);
  }
}

/** The store of a command that needs its database. Throws a UsageError for an admin endpoint. */
async function storePlace({ io }: Context, place: string): Promise<StorePlace> {
  if (/^https?:/i.test(place))
    throw new UsageError("An admin endpoint cannot do this. Give the server's store instead.");
  const { placeOfStore } = await import("../../../store/from-url.ts");
  return placeOfStore(place, (path) => resolve(io.cwd, path));
}

/** The exit code by whether nothing is left. */
function wholeness(isWhole: boolean): ExitCode {
  return isWhole ? exitCodes.done : exitCodes.failed;
}

async function opened<Result extends Said | ExitCode>(
  context: Context,
  place: string,
  work: (session: OpenSession) => Promise<Result>,
  endsItself = false,
): Promise<Result> {
  const { withAdmin } = await import("./with-admin.ts");
  return withAdmin(context, { place, options: {}, endsItself }, async (session) => {
    const { store } = session;
    if (store === undefined) throw new TypeError("A store was opened as an endpoint.");
    return work({ ...session, store });
  });
}

async function dump(context: Context, { store, at, file: word, options }: Given<"dump">): Promise<Said> {
  const { io } = context;
  const begun = performance.now();
  const file = resolve(io.cwd, word);
  const since = options.since === undefined ? undefined : resolve(io.cwd, options.since);
  const blobs = await blobsIn(context, options.blobs);
  const { dumpStore } = await import("../../../store/data-care.ts");
  const { recordCopy } = await import("./with-admin.ts");
  const { recordAction } = await import("../../../admin/record-reads.ts");
  const unrecorded = await recordCopy(context, store, (services) => recordAction(services, "dump"));
  const made = await unlessStopped("no dump was made", (signal) =>
    dumpStore(at, file, { now: io.now(), since, blobs, signal }),
  );
  const { tasks, changed, unreadable, withoutFiles, bytes } = made;
  const ms = Math.round(performance.now() - begun);
  const what = since === undefined ? tasksText(tasks) : `${changed} of ${tasksText(tasks)}, which changed`;
  return {
    json: { file, tasks, changed, unreadable, withoutFiles, bytes, seconds: ms / 1_000 },
    text: `dumped ${what} to ${word}: ${sizeText(bytes)}, ${spanText(ms)}\n`,
    notes: [unreadable.length > 0 && `not dumped, because they cannot be read: ${unreadable.join(", ")}`],
    warnings: [unrecorded ?? false, withoutFiles > 0 && missingFiles(tasksText(withoutFiles), options.blobs)],
    code: wholeness(unreadable.length === 0),
  };
}

async function load(context: Context, { at, file: word, options }: Given<"load">): Promise<Said> {
  const { io } = context;
  const file = resolve(io.cwd, word);
  const [partial, beside] = [options.partial === true, options.beside === true];
  const blobs = await blobsIn(context, options.blobs);
  const { loadStore } = await import("../../../store/data-care.ts");
  const { header, tasks } = await unlessStopped("to go on, run the same command again", (signal) =>
    loadStore(at, file, { beside, partial, blobs, signal }),
  );
  const json = { file, tasks, at: Date.parse(header.at), partial, beside };
  const more =
    "Servers cannot open the store yet. Stop those of the original, dump it again with --since and this file, and load that dump.";
  return { json, text: `loaded ${tasksText(tasks)} as of ${timeText(json.at)}\n`, notes: [partial && more] };
}

/** Prints one line of JSON for each task, newest first. */
async function exportTasks(
  context: Context,
  { store: place, options }: Given<"export">,
): Promise<Said | ExitCode> {
  const { exportBegins, exportTask } = await import("../../../admin/store-care.ts");
  return opened(context, place, async ({ admin, store, now, actor }) => {
    const selection = selectionOf(options, now());
    await exportBegins({ store, now, actor }, selection);
    let isWhole = true;
    for (let next: string | null = null, isFirst = true; isFirst || next !== null; isFirst = false) {
      const page = await admin.list({ ...selection, limit: 200, ...(next !== null && { after: next }) });
      for (const { id } of page.tasks) {
        try {
          await context.output.printJson(await exportTask(store, id), { line: true });
        } catch (error) {
          if (!(error instanceof HoldfastError)) throw error;
          if (error.code === "unknown_task") continue; // deleted in the meantime
          if (error.code !== "task_unreadable") throw error;
          context.output.note(error.message);
          isWhole = false;
        }
      }
      next = page.next;
    }
    return wholeness(isWhole);
  });
}

async function gc(context: Context, { at, store: place, options }: Given<"gc">): Promise<Said> {
  const { compactStore, sizeOfStore } = await import("../../../store/data-care.ts");
  const { deleteExpired } = await import("../../../admin/store-care.ts");
  return opened(context, place, async ({ store, now }) => {
    const before = await sizeOfStore(at);
    const { tasks, sessions, deliveries } = await deleteExpired(store, now());
    const { others } = await store.renew();
    const left = await compactStore(at, { isAlone: others === 0, full: options.full === true });
    const after = await sizeOfStore(at);
    const messages =
      deliveries === 0 ? "" : ` and ${deliveries} ${deliveries === 1 ? "message" : "messages"} for webhooks`;
    const deleted = `${tasksText(tasks)} and ${sessions} ${sessions === 1 ? "session" : "sessions"}${messages}`;
    return {
      json: { tasks, sessions, deliveries, bytes: { before, after }, left },
      text: `deleted ${deleted}: ${sizeText(before)} before, ${sizeText(after)} now\n`,
      notes: [left ?? false],
    };
  });
}

async function keys({ io, output }: Context, { at }: Given<"keys">): Promise<Said> {
  const given = encryptionKeys(io);
  const { keyUsageOfStore } = await import("../../../store/data-care.ts");
  const { keys: used, clear, unopened } = await keyUsageOfStore(at, given);
  const ids = new Set([...(given?.keys() ?? []), ...Object.keys(used)]);
  const rows = [...ids].map((id) => ({ id, isGiven: given?.has(id) === true, texts: used[id] ?? {} }));
  const all = [...rows, ...(sumOf(clear) === 0 ? [] : [{ id: "in clear", isGiven: null, texts: clear }])];
  const columns: readonly Column<(typeof all)[number]>[] = [
    ["KEY", 4, ({ id: key }) => key],
    ["GIVEN", 5, ({ isGiven }) => (isGiven === null ? "" : isGiven ? "yes" : "no")],
    ["TEXTS", 5, ({ texts }) => sumOf(texts), "right"],
    ["WHERE", 10, ({ texts }) => byTable(texts)],
  ];
  const isWhole = Object.keys(unopened).length === 0;
  return {
    json: { keys: rows, clear, unopened },
    text: all.length === 0 ? "the store has no data\n" : fittedTable(columns, all, output.columns),
    warnings: [!isWhole && `rows that the given keys do not open: ${byTable(unopened)}`],
    code: wholeness(isWhole),
  };
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function byTable(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([table, count]) => `${table} ${count}`)
    .join(", ");
}

function linesOf(title: string, rows: Readonly<Record<string, number>>): string {
  return [`${title}:`, ...Object.entries(rows).map(([table, count]) => `${table} ${count}`), ""].join("\n");
}

/** Servers that store in clear notice at their next renewal, within a second, that the store is encrypted. */
const untilNoticedMs = 3_000;

async function reseal({ io }: Context, { at }: Given<"reseal">): Promise<Said> {
  const given = encryptionKeys(io);
  if (given === undefined)
    throw new UsageError("Set HOLDFAST_ENCRYPTION_KEYS to the keys of the store: the first one seals.");
  const { resealStore } = await import("../../../store/data-care.ts");
  const json = await resealStore(at, { keys: given, pause: () => pause(untilNoticedMs) });
  const { rows, left, isClean } = json;
  const isAll = Object.keys(left).length === 0;
  return {
    json,
    text:
      Object.keys(rows).length === 0
        ? "everything is sealed with the first key\n"
        : linesOf("rows sealed", rows),
    warnings: [
      !isAll &&
        `rows that cannot be opened and stay as they are: ${byTable(left)}. Run the command again with the keys that they need, or delete their tasks.`,
      !isClean &&
        "The database's free space may still contain what was replaced, because other processes were using it. Run the command again.",
    ],
    code: wholeness(isAll && isClean),
  };
}

async function rotateSecrets(
  context: Context,
  { store: place, options }: Given<"rotate-secrets">,
): Promise<Said> {
  const acceptMs = readTimeSpan("--accept", options.accept);
  const rotation = await import("../../../admin/rotate-secrets.ts");
  return opened(context, place, async ({ store, now }) => {
    const services = { store, now, pause: (ms: number) => pause(ms) };
    const json = await rotation.rotateSecrets(services, acceptMs);
    const { secrets, acceptedUntil, rekeyed, left } = json;
    const until = acceptedUntil === null ? "now deleted" : `accepted until ${timeText(acceptedUntil)}`;
    const changed = rekeyed === 0 ? "" : `; ${tasksText(rekeyed)} got new keys`;
    return {
      json,
      text:
        secrets.length === 0
          ? "the store has no secrets yet\n"
          : `new: ${secrets.join(", ")}; the old ones are ${until}${changed}\n`,
      warnings: [
        left.length > 0 &&
          `not changed, because they cannot be read: ${left.join(", ")}. Equal calls start other tasks.`,
      ],
      code: wholeness(left.length === 0),
    };
  });
}

async function deletePrincipal(
  context: Context,
  { at, store: place, principal, options }: Given<"delete-principal">,
): Promise<Said> {
  const { output, io } = context;
  const graceMs = readTimeSpan("--grace", options.grace);
  if (principal === "") throw new UsageError("The name of the principal is empty.");
  const work = async ({ store, now, actor, interrupts }: OpenSession): Promise<Said> => {
    if (options.yes !== true) {
      if (output.json || !(io.stdin.isTTY && io.stderr.isTTY))
        throw new UsageError("Nothing was deleted: this cannot be undone, so it needs --yes.");
      const question = `Everything the store has about ${principal} will be deleted permanently. Continue?`;
      if (!(await confirm(io, question, interrupts))) throw new UsageError("Nothing was deleted.");
    }
    if (interrupts.signal.aborted)
      throw new Stopped(interruptedBy(interrupts), "Interrupted: nothing was changed");
    const { endTasksOf } = await import("../../../admin/store-care.ts");
    const services = { store, now, actor, pause: (ms: number) => pause(ms) };
    const isForgotten = await endTasksOf(services, principal, graceMs);
    const { erasePrincipal } = await import("../../../store/data-care.ts");
    const { rows, left, isClean } = await erasePrincipal(at, principal);
    // Somebody may have looked at what was still there.
    const { forgetPerson } = await import("../../../admin/record-reads.ts");
    await forgetPerson(services, principal);
    return {
      json: { principal, deleted: rows, left, isClean },
      text: linesOf(`rows deleted for ${principal}`, rows),
      notes: [
        left.length > 0 &&
          `not deleted, because they are still running: ${left.join(", ")}. Run the command again in a moment.`,
        !isForgotten &&
          "Recorded actions can still be found by this caller's name: the store is encrypted. Run the command again with its keys.",
        !isClean &&
          "The database's free space may still contain deleted data, because other processes were using it, or because this database role is not allowed to rewrite it. Run the command again, with another role if necessary.",
        "Earlier backups and copies of the database are unchanged.",
      ],
      code: wholeness(left.length === 0 && isClean && isForgotten),
    };
  };
  return opened(context, place, work, true);
}
