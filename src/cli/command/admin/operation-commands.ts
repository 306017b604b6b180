import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import * as z from "zod/mini";
import { parametersOf, type Parameter } from "../../../admin/endpoint/request.ts";
import { call, type Input, type Operation } from "../../../admin/operation.ts";
import { acts, reads } from "../../../admin/operations.ts";
import type { Schema } from "../../../admin/shape.ts";
import type { BulkAction } from "../../../task/bulk.ts";
import { countOf, oneTask, optionOf, pastTime, selectingMany, wordOf } from "./selection.ts";
import { exactJson } from "../../arguments/parse-arguments.ts";
import { addParts, type DeclaredOption, idForms } from "../../declare.ts";
import type { Context } from "../../context.ts";
import type { ExitCode } from "../../errors.ts";
import { type AdminOptions, findTask } from "./with-admin.ts";
import { actPages, readPages, type Page } from "./operation-pages.ts";
import { Progress } from "../../terminal/text.ts";
import { behindText } from "./task-table.ts";

// The commands of operations. Name, words, arguments, options and `--json` come from the table of operations, and the rest from
// `operation-pages.ts`: a new operation is an entry there, and a page here. Commands that show several operations together, or act on many
// tasks, have files of their own.

interface OperationCommand {
  readonly operation: Operation;
  readonly page: Page<unknown>;
}

const pagedOperations: readonly OperationCommand[] = [
  ...pagedOf(reads, readPages),
  ...pagedOf(acts, actPages),
];

function pagedOf(operations: object, pages: object): readonly OperationCommand[] {
  const pageOf = new Map(Object.entries(pages) as [string, Page<unknown>][]);
  return (Object.values(operations) as Operation[]).flatMap((operation) => {
    const page = pageOf.get(operation.name);
    return page === undefined ? [] : [{ operation, page }];
  });
}

const words: Readonly<Record<string, string>> = {
  id: idForms,
  tool: "the tool's name",
  cause: "the cause, as incidents and failures print it",
  webhook: "the webhook's name",
  session: "its id, as sessions prints it, or the start of it",
};

/** Adds a command for each operation that has a page. */
export function addOperationCommands(
  command: (name: string, description: string, acts: boolean) => Command,
  context: Context,
  end: (code: ExitCode) => void,
): void {
  for (const each of pagedOperations) {
    const { operation, page } = each;
    const { name, summary, method } = operation;
    const does = page.does ?? `${summary.slice(0, 1).toLowerCase()}${summary.slice(1)}`;
    const made = command(wordOf(name), does, method !== "GET");
    const inPath = namesIn(operation).map((word) => [`<${word}>`, words[word] ?? ""] as const);
    const own = page.options ?? parametersOf(operation).map(optionFor);
    addParts(made, {
      args: page.args ?? (page.all ? [["[id]", `${idForms}; or --all`]] : inPath),
      options: [...(page.all ? selectingMany : []), ...own],
    });
    const count = made.registeredArguments.length - 1; // the store is one of them
    made.action(async (place: string, ...given: readonly unknown[]) => {
      const typed = given.slice(0, count).flat() as string[];
      end(await run(context, each, place, typed, given[count] as Options));
    });
  }
}

/** How often to look how far something is (ms). */
const lookEveryMs = 500;

type Options = AdminOptions & Input & { readonly json?: true };

async function run(
  context: Context,
  { operation, page }: OperationCommand,
  place: string,
  given: readonly string[],
  { as, json: _, ...options }: Options,
): Promise<ExitCode> {
  const { output, io } = context;
  const actor = as === undefined ? {} : { as };
  const typed = (await page.typed?.(given, options, io)) ?? { ...options, ...named(operation, given) };
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
  return withAdmin(context, { place, options: actor }, async ({ admin, acts: act, now, actor: reader }) => {
    const { id } = typed;
    const whole = { ...typed, ...(typeof id === "string" && { id: await findTask(admin, id) }) };
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
      text: output.json ? "" : page.text(got, input, { now: now(), cells: output.columns }),
      notes: [page.note?.(got) ?? false, behindText(got)],
    });
  });
}

function namesIn({ path }: Operation): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** The members of the input that are in the path. */
function named(operation: Operation, typed: readonly string[]): Input {
  return Object.fromEntries(namesIn(operation).map((name, at) => [name, typed[at]]));
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
  return [`${option} <text>`, told];
}

const inEpochMs = " (epoch ms)";

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
