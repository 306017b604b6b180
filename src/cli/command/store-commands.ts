import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { exportJournal, type StoredTasks } from "../../store/export-journal.ts";
import { readStore, databaseOfStore, existingStore } from "../../store/from-url.ts";
import { type TaskRecord, versionOf } from "../../task/record.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, UsageError, interruptedBy } from "../errors.ts";
import type { Io } from "../io.ts";
import { encryptionKeys, recordCopy, withAdmin, adminFailure } from "./admin/with-admin.ts";
import { type Column, fittedTable } from "../output/table.ts";
import { migratePostgres, type PostgresMigration } from "../../store/postgres/migrate.ts";
import { randomBytes } from "node:crypto";
import { aborted, watchSignals } from "../terminal/signal-watch.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { InboxMessage } from "../../host/conversation.ts";
import type { Host } from "../../host/host.ts";
import { textOf } from "../../host/for-models.ts";
import { openedStore } from "../../store/encrypted-store.ts";

const tasksPerPage = 500;

const columns: readonly Column<ReturnType<typeof asListed>>[] = [
  ["TASK", Number.POSITIVE_INFINITY, ({ id }) => id],
  ["TOOL", 8, ({ tool }) => tool],
  ["VERSION", 9, ({ toolVersion }) => (toolVersion === null ? "not started" : `version ${toolVersion}`)],
  ["STATE", 5, ({ state, waiting }) => (waiting ? "waits" : state)],
  ["CREATED", 10, ({ createdAt }) => createdAt],
];

/** `holdfast journal ls STORE`: lists the unfinished tasks of a server's store, with the versions of their tools. */
export async function listStored({ io, output }: Context, { store }: Given<"journal ls">): Promise<ExitCode> {
  const records = await readTasks(io, store, unfinished);
  const tasks = records.map(asListed);
  return output.say({
    json: { tasks },
    text: tasks.length === 0 ? "" : fittedTable(columns, tasks, output.columns),
  });
}

/** `holdfast journal export STORE ID`: prints what the store has of a task, as input for `checkReplay`. */
export async function exportTask(
  context: Context,
  { store, id, options }: Given<"journal export">,
): Promise<ExitCode> {
  const { io, output } = context;
  const recording = await readTasks(io, store, (tasks) => exportJournal(tasks, id));
  const { principal } = recording;
  const { exportBegins } = await import("../../admin/store-care.ts");
  const unrecorded = await recordCopy(context, store, (to) => exportBegins(to, { id, principal }));
  if (unrecorded !== undefined) output.note(unrecorded);
  // Indented for people and version control.
  const text = `${JSON.stringify(recording, undefined, 2)}\n`;
  if (options.output === undefined) await output.print(text);
  else await writeFile(resolve(io.cwd, options.output), text);
  return exitCodes.done;
}

async function readTasks<T>(io: Io, store: string, read: (tasks: StoredTasks) => Promise<T>): Promise<T> {
  try {
    return await readStore(store, (path) => resolve(io.cwd, path), read, encryptionKeys(io));
  } catch (error) {
    throw adminFailure(error);
  }
}

async function unfinished(tasks: StoredTasks): Promise<readonly TaskRecord[]> {
  const found: TaskRecord[] = [];
  for (let after = ""; ;) {
    const page = await tasks.unfinished(after, tasksPerPage);
    found.push(...page);
    if (page.length < tasksPerPage) return found;
    after = page.at(-1)?.id ?? "";
  }
}

function asListed(task: TaskRecord) {
  const { id, tool, startedAt, state, waiting, createdAt } = task;
  const toolVersion = startedAt === null ? null : versionOf(task);
  return { id, tool, toolVersion, state, waiting, createdAt: new Date(createdAt).toISOString() };
}

/** `holdfast migrate URL`: updates the schema of a store in Postgres. */
export async function migrate({ output }: Context, { url, options }: Given<"migrate">): Promise<ExitCode> {
  const { dryRun = false } = options;
  const done = await run(url, options);
  return output.say({ json: { ...done, dryRun }, text: `${described(done, dryRun)}\n` });
}

async function run(
  given: string,
  { schema, dryRun }: Given<"migrate">["options"],
): Promise<PostgresMigration> {
  try {
    const { url, options } = databaseOfStore(given);
    return await migratePostgres(url, {
      ...options,
      ...(schema !== undefined && { schema }),
      dryRun: dryRun === true,
    });
  } catch (error) {
    throw adminFailure(error);
  }
}

function described({ schema, from, to }: PostgresMigration, dryRun: boolean): string {
  const is = dryRun ? "would be" : "was";
  const step = from === 0 ? `${is} created: version ${to}` : `${is} migrated: version ${from} to ${to}`;
  return `Schema ${schema} ${from >= to ? `is up to date: version ${from}` : step}.`;
}

/** `holdfast dashboard STORE`: serves the dashboard until it is interrupted, and prints a link to it. */
export async function dashboard(
  context: Context,
  { store: place, options }: Given<"dashboard">,
): Promise<ExitCode> {
  const { output } = context;
  const { host, port, path, readOnly } = options;
  return withAdmin(context, { place, options, endsItself: true }, async ({ admin, actor, interrupts }) => {
    // Reports a wrong token or a store of another version here, not in the browser.
    await admin.list({ limit: 1 });
    // Loaded on demand, so that other commands start faster.
    const { serveDashboard } = await import("../../server/http/dashboard/serve-dashboard.ts");
    const served = await serveDashboard({
      admin,
      operator: { actor, role: readOnly === true ? "read" : "admin" },
      token: randomBytes(32).toString("base64url"),
      host,
      port,
      path,
      onError: (error) => output.note(error instanceof Error ? error.message : String(error)),
    });
    try {
      const { link } = served;
      const can = readOnly === true ? "see the tasks" : `act as ${actor}`;
      const notes = [`Anyone with this link can ${can}. Press Ctrl-C to stop.`];
      await output.say({ json: { link }, text: `${link}\n`, notes });
      await aborted(interrupts.signal);
    } finally {
      await served.close();
    }
    return interruptedBy(interrupts);
  });
}

/** `holdfast inbox STORE CONVERSATION`: shows the results that a conversation of an agent has not acknowledged, or hands them to a program. */
export async function inbox(
  context: Context,
  { store: place, conversation: id, options: { exec, follow } }: Given<"inbox">,
): Promise<ExitCode> {
  const { io, output } = context;
  if (follow === true && exec === undefined)
    throw new UsageError("--follow waits for results to hand them to a program: name it with --exec.");
  // Loaded on demand, so that other commands start faster.
  const [{ createTasks }, { connectAll }] = await Promise.all([
    import("../../server/tasks.ts"),
    import("../../host/host.ts"),
  ]);
  using interrupts = watchSignals();
  const onError = (error: unknown): void =>
    output.note(error instanceof Error ? error.message : String(error));
  const opened = async (): Promise<Host> => {
    const existing = existingStore(place, (path) => resolve(io.cwd, path));
    const store = openedStore(existing, encryptionKeys(io));
    return connectAll({ tasks: createTasks({ store, roles: ["serve"], onError }), servers: {}, onError });
  };
  const host = await opened().catch((error: unknown) => {
    throw adminFailure(error);
  });
  try {
    const conversation = host.conversation(id);
    if (exec === undefined) {
      const messages = await conversation.results();
      return await output.say({
        json: { messages },
        text: messages.map((message) => `${shown(message)}\n`).join(""),
        warnings: [messages.length === 0 && `The inbox of ${id} is empty.`],
      });
    }
    const { signal } = interrupts;
    for await (const message of conversation.inbox({ untilEmpty: follow !== true, signal })) {
      const code = await handOver(io, exec, message);
      if (code !== 0) {
        output.note(
          `${exec} ended with ${code ?? "a signal"}, so the result of ${message.id} stays in the inbox.`,
        );
        return exitCodes.failed;
      }
    }
    return interrupts.signal.aborted ? interruptedBy(interrupts) : exitCodes.done;
  } finally {
    await host.close();
  }
}

function shown({ id, tool, args, result }: InboxMessage): string {
  const verb = result.isError === true ? "failed" : "ended";
  return `${id}  ${tool}(${JSON.stringify(args)}) ${verb}\n${textOf(result)}`;
}

async function handOver({ cwd }: Io, program: string, message: InboxMessage): Promise<number | null> {
  const child = spawn(program, { cwd, stdio: ["pipe", "inherit", "inherit"] });
  child.stdin.on("error", () => undefined); // one that does not read its input may still end well
  child.stdin.end(`${JSON.stringify(message)}\n`);
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return code;
  } catch (cause) {
    throw new UsageError(`${program} cannot be started: ${(cause as Error).message}`);
  }
}
