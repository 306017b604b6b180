import * as z from "zod/mini";
import { setTimeout } from "node:timers/promises";
import { parametersOf, type Parameter } from "../../../admin/endpoint.ts";
import { call, type Input, type Operation } from "../../../admin/operation.ts";
import { acts, type Admin, reads } from "../../../admin/operations.ts";
import { type Schema, shapeNames } from "../../../admin/shape.ts";
import type { BulkAction } from "../../../task/bulk.ts";
import { countOf, oneTask, optionOf, pastTime, selectingMany, wordOf } from "./selection.ts";
import { exactJson } from "../../arguments/parse-arguments.ts";
import {
  type DeclaredCommand,
  type DeclaredOption,
  idForms,
  addParts,
  databaseForms,
  json,
  placeForms,
  exampleText,
} from "../../declare.ts";
import type { Context } from "../../context.ts";
import type { ExitCode } from "../../errors.ts";
import { type AdminOptions, findTask } from "./with-admin.ts";
import { actPages, readPages, topPage, type Page } from "./operation-pages.ts";
import { movesCursor } from "../../terminal/terminal.ts";
import { Progress } from "../../terminal/text.ts";
import { behindText } from "./operation-tables.ts";
import type { Command } from "commander";
import { givenTo } from "../../arguments/rewrite-argv.ts";
import { type DatabaseCommands, databaseCommands } from "../../database-commands.ts";

// The commands of operations. Name, words, arguments, options and `--json` come from the table of operations, and the rest from
// `operation-pages.ts`: a new operation is an entry there, and a page here.

const words: Readonly<Record<string, string>> = {
  id: idForms,
  tool: "the tool's name",
  cause: "the cause, as incidents and failures print it",
  webhook: "the webhook's name",
  session: "its id, as sessions prints it, or the start of it",
};

const as = ["--as <name>", "record actions under this name instead of your user name"] as const;

const inEpochMs = " (epoch ms)";

interface OperationCommand {
  readonly name: string;
  readonly declared: DeclaredCommand;
  readonly operation: Operation;
  readonly page: Page<unknown>;
}

export const operationCommands: readonly OperationCommand[] = [
  ...commandsOf(reads, readPages),
  commandOf(reads.counts, topPage as Page<unknown>),
  ...commandsOf(acts, actPages),
];

function commandsOf(operations: object, pages: object): readonly OperationCommand[] {
  const pageOf = new Map(Object.entries(pages) as [string, Page<unknown>][]);
  return (Object.values(operations) as Operation[]).flatMap((operation) => {
    const page = pageOf.get(operation.name);
    return page === undefined ? [] : [commandOf(operation, page)];
  });
}

function commandOf(operation: Operation, page: Page<unknown>): OperationCommand {
  const { summary, method } = operation;
  const { all, examples } = page;
  const inPath = namesIn(operation).map((word) => [`<${word}>`, words[word] ?? ""] as const);
  const own = page.options ?? parametersOf(operation).map(optionFor);
  const declared = {
    does: page.does ?? `${summary.slice(0, 1).toLowerCase()}${summary.slice(1)}`,
    args: page.args ?? (all ? ([["[id]", `${idForms}; or --all`]] as const) : inPath),
    options: [...(method === "GET" ? [] : [as]), ...(all ? selectingMany : []), ...own],
    examples,
    prints: page.prints ?? shapeOf(operation),
  };
  return { name: page.command ?? wordOf(operation.name), declared, operation, page };
}

/** How often to look how far something is (ms). */
const lookEveryMs = 500;

/** What was typed, by the names of arguments and options. */
export interface Typed extends Input {
  readonly store: string;
  readonly options: AdminOptions & Input & { readonly json?: true };
}

export async function runOperation(
  context: Context,
  { operation, page }: OperationCommand,
  { store: place, options: { as: name, json: _, ...options }, ...named }: Typed,
): Promise<ExitCode> {
  const { output, io } = context;
  const actor = name === undefined ? {} : { as: name };
  const given = Object.values(named).flat() as string[];
  const typed = (await page.typed?.(given, options, io)) ?? { ...options, ...named };
  if (page.all) {
    const id = oneTask(typed["id"], options, page.all.alone);
    if (id === undefined) {
      const { actOnMany } = await import("./act-on-many.ts");
      const action = operation.name as BulkAction;
      const { until } = typed as { readonly until?: number | null };
      return actOnMany(context, { place, action, options: { ...options, ...actor }, until });
    }
  }
  const { withAdmin } = await import("./with-admin.ts");
  const { live } = page;
  if (live !== undefined && options["once"] !== true && !output.json && movesCursor(io.stdout, io.env)) {
    const { watch } = await import("./watch.ts");
    return watch(context, place, live);
  }
  return withAdmin(context, { place, options: actor }, async ({ admin, acts: act, now, actor: reader }) => {
    const { task: _task, ...whole } = { ...typed, ...(await idsOf(typed, admin)) };
    const input = page.input
      ? await page.input(whole, { admin, now: now() })
      : { ...whole, ...valuesOf(operation, whole, now()) };
    const { readsAs } = await import("../../../admin/record-reads.ts");
    // Whoever has the store open may read it, recorded or not.
    const shown = readsAs(admin, reader, () => undefined);
    const methods = operation.method === "GET" ? shown : act();
    using progress = new Progress(io.stderr, !output.json);
    let got = await (page.give?.(shown, input) ?? call(methods, operation, input));
    for (let later = await page.later?.(admin, got); later !== undefined;) {
      got = later;
      if (page.progress) progress.show(page.progress(got));
      await setTimeout(lookEveryMs);
      later = await page.later?.(admin, got);
    }
    return await output.say({
      json: page.json?.(got, input) ?? (got as object),
      // Programs get any answer, also one that cannot be shown.
      text: output.json ? "" : page.text(got, input, { now: now(), cells: output.columns, place }),
      notes: output.json
        ? []
        : [...[(await page.note?.(got, input, shown)) ?? false].flat(), behindText(got)],
    });
  });
}

/** The ids of tasks that were typed, which may be the start of one. */
async function idsOf(typed: Input, admin: Admin): Promise<Input> {
  const given = (
    [
      ["id", typed["id"]],
      ["taskId", typed["task"]],
    ] as const
  ).flatMap(([name, id]) => (typeof id === "string" ? [[name, id] as const] : []));
  const found = given.map(async ([name, id]) => [name, await findTask(admin, id)] as const);
  return Object.fromEntries<string>(await Promise.all(found));
}

/** The name of what it gives. */
function shapeOf({ gives }: Operation): string | undefined {
  const named = gives && shapeNames.get(gives);
  return named && `\`${named.id}\``;
}

function namesIn({ path }: Operation): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** A time is told by its words: it is given as a date, or as how long ago it was. */
function optionFor({ name, schema }: Parameter): DeclaredOption {
  const told = wordsOf(schema);
  const option = optionOf(name);
  if (schema instanceof z.ZodMiniBoolean) return [option, told];
  if (schema instanceof z.ZodMiniRecord) return [`${option} <json>`, told];
  if (isTime(schema))
    return [`${option} <time>`, told.replace(inEpochMs, " (a date, or 2h for two hours ago)")];
  if (schema instanceof z.ZodMiniNumber) return [`${option} <count>`, told, { parse: countOf }];
  if (schema instanceof z.ZodMiniArray)
    return [`${option} <number>`, `${told}; can be repeated`, { parse: collectCounts }];
  if (schema instanceof z.ZodMiniEnum)
    return [`${option} <name>`, told, { choices: schema.options.map(String) }];
  return [`${option} <text>`, told];
}

function collectCounts(text: string, before: unknown = []): readonly number[] {
  return [...(before as readonly number[]), countOf(text)];
}

function wordsOf(schema: Schema): string {
  const { description = "" } = z.globalRegistry.get(schema) ?? {};
  return `${description.slice(0, 1).toLowerCase()}${description.slice(1)}`.replace(/\.$/, "");
}

function isTime(schema: Schema): boolean {
  return wordsOf(schema).includes(inEpochMs);
}

/** The times and the JSON among the options, as the operation takes them. */
function valuesOf(operation: Operation, typed: Input, now: number): Input {
  const values = parametersOf(operation).flatMap(
    ({ name, schema }): readonly (readonly [string, unknown])[] => {
      const given = typed[name];
      if (typeof given !== "string") return [];
      if (schema instanceof z.ZodMiniRecord) return [[name, exactJson(optionOf(name), given)]];
      return isTime(schema) ? [[name, pastTime(optionOf(name), given, now)]] : [];
    },
  );
  return Object.fromEntries(values);
}

// The commands of `holdfast admin STORE`: those of operations, which have a table of their own, and those that need the store's database.
// The code of stores is loaded when one runs.

/** All commands of `admin`, by their names. */
export const adminCommands: Readonly<Record<string, DeclaredCommand>> = {
  ...Object.fromEntries(operationCommands.map(({ name, declared }) => [name, declared])),
  ...databaseCommands,
};

export function addAdminCommands(admin: Command, context: Context, end: (code: ExitCode) => void): void {
  for (const each of operationCommands) {
    const made = addCommand(admin, each.name, each.declared, placeForms);
    made.action(async (...given: readonly unknown[]) =>
      end(await runOperation(context, each, givenTo(made, given) as Typed)),
    );
  }
  for (const [name, declared] of Object.entries<DeclaredCommand>(databaseCommands)) {
    const made = addCommand(admin, name, declared, databaseForms);
    made.action(async (...given: readonly unknown[]) => {
      const { runOnDatabase } = await import("./on-database.ts");
      const typed = givenTo(made, given) as { readonly store: string };
      end(await runOnDatabase(context, name as keyof DatabaseCommands, typed));
    });
  }
}

/** On the command line, the store comes before the command (`moveActionFirst`). */
function addCommand(admin: Command, name: string, declared: DeclaredCommand, storeForms: string): Command {
  const { does, args = [], options = [], examples = [] } = declared;
  const made = admin.command(name).description(does).configureHelp({ commandUsage: usage });
  made.allowExcessArguments(false).addHelpText("after", exampleText(examples));
  addParts(made, { args: [["<store>", storeForms], ...args], options: [json, ...options] });
  return made;
}

function usage(command: Command): string {
  const [store = "", ...others] = command
    .usage()
    .split(" ")
    .filter((word) => word !== "[options]");
  return ["holdfast admin", store, command.name(), ...others, "[options]"].join(" ");
}
