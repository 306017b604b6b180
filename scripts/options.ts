// Makes the tables of options and events in docs/ from the source: npm run docs:options
import { glob, readFile, writeFile } from "node:fs/promises";
import { format, resolveConfig } from "prettier";
import { environmentOptions, serverVariables, variableTables } from "../src/env/variables.ts";
import { connectOptions, receiveTasksOptions } from "../src/client/connect-options.ts";
import { eventTable } from "./event-table.ts";
import { hostOptions } from "../src/host/host-options.ts";
import type { Row, Table } from "../src/options/options.ts";
import { webhookOptions } from "../src/runtime/webhooks/webhook-options.ts";
import { corsOptions, httpOptions } from "../src/server/http/http-options.ts";
import {
  adminEndpointOptions,
  dashboardEndpointOptions,
  metricsEndpointOptions,
} from "../src/server/http/operator-options.ts";
import { rateOptions } from "../src/server/limits.ts";
import { stdioOptions } from "../src/server/stdio/serve-stdio.ts";
import { pollingToolOptions, tasksOptions } from "../src/server/tasks-options.ts";
import { postgresStoreOptions } from "../src/store/postgres/options.ts";
import { sqliteStoreOptions } from "../src/store/sqlite/sqlite-store.ts";

/** What the tables are of. */
const declared: ReadonlyMap<Table<object>, string> = new Map<Table<object>, string>([
  [environmentOptions, "EnvironmentOptions"],
  [tasksOptions, "TasksOptions"],
  [rateOptions, "RateOptions"],
  [pollingToolOptions, "PollingToolOptions"],
  [webhookOptions, "WebhookOptions"],
  [httpOptions, "HttpOptions"],
  [corsOptions, "CorsOptions"],
  [adminEndpointOptions, "AdminEndpointOptions"],
  [metricsEndpointOptions, "MetricsEndpointOptions"],
  [dashboardEndpointOptions, "DashboardEndpointOptions"],
  [stdioOptions, "StdioOptions"],
  [connectOptions, "ConnectOptions"],
  [receiveTasksOptions, "ReceiveTasksOptions"],
  [hostOptions, "HostOptions"],
  [sqliteStoreOptions, "SqliteStoreOptions"],
  [postgresStoreOptions, "PostgresStoreOptions"],
]);

/** The tables of options by the page that has them. */
export const pages: ReadonlyMap<string, readonly Table<object>[]> = new Map([
  ["reference/options", [tasksOptions, httpOptions, stdioOptions, sqliteStoreOptions, postgresStoreOptions]],
  ["operate/webhooks", [webhookOptions]],
  ["reference/client-options", [connectOptions]],
  ["recipes/agents", [hostOptions]],
  ["operate/events", []],
]);

/** An option with its comment in the source: what it means, and the words about its default. */
export interface DescribedOption {
  readonly name: string;
  readonly row: Row;
  readonly meaning: string;
  readonly default: string;
}

interface DeclaredClass {
  readonly parent: string | undefined;
  readonly comments: ReadonlyMap<string, string>;
}

const classes = await readClasses();

/** The comments of members that declare options, by class. */
async function readClasses(): Promise<ReadonlyMap<string, DeclaredClass>> {
  const found = new Map<string, DeclaredClass>();
  for await (const path of glob(new URL("../src/**/*.ts", import.meta.url).pathname)) {
    const source = await readFile(path, "utf8");
    for (const [, name = "", parent, body = ""] of source.matchAll(
      /^(?:export )?class Declared(\w+)(?: extends Declared(\w+))? \{\n([^]*?)^\}/gm,
    )) {
      const members = body.matchAll(
        /^ {2}\/\*\*([^]*?)\*\/\n(?: {2}\/\/.*\n)* {2}(?:override )?readonly (\w+)\??:/gm,
      );
      const comments = [...members].map(
        ([, comment = "", member = ""]) => [member, comment.replace(/\s*\n\s*\*/g, "").trim()] as const,
      );
      found.set(name, { parent, comments: new Map(comments) });
    }
  }
  return found;
}

function commentOf(className: string | undefined, member: string): string {
  const { parent, comments } = classes.get(className ?? "") ?? {};
  const comment = comments?.get(member);
  if (comment !== undefined) return comment;
  if (parent === undefined) throw new Error(`The option ${member} has no comment.`);
  return commentOf(parent, member);
}

/** The options of a table, and below each those that are in it. */
export function describedOptions(table: Table<object>, prefix = ""): readonly DescribedOption[] {
  return [...table.rows].flatMap(([member, row]) => {
    const comment = commentOf(declared.get(table), member);
    const [, meaning = "", words = ""] =
      /^([^]*?)(?:\s*\bDefault(?::|(?= [\d`]))\s*([^]*)\.)?$/.exec(comment) ?? [];
    const own = { name: `${prefix}${member}`, row, meaning, default: words.trim() };
    return row.table === undefined ? [own] : [own, ...describedOptions(row.table, `${prefix}${member}.`)];
  });
}

function optionTable(table: Table<object>): string {
  const rows = describedOptions(table).map(
    ({ name, row: { kind }, meaning, default: words }) =>
      `| \`${name}\` | ${kind.words}${kind.or === undefined ? "" : `, or ${kind.or.inCode}`} | ${words} | ${meaning} |`,
  );
  return ["| option | takes | default | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function variableTable(): string {
  const described = variableTables.flatMap((table) => describedOptions(table));
  const rows = [...serverVariables].map(([name, row]) => {
    const { meaning, default: words } = described.find((each) => each.row === row) ?? {};
    const { kind, isSecret } = row;
    const value =
      row.default !== undefined && row.default !== null
        ? `\`${kind.textOf(row.default)}\``
        : row.default === null
          ? "`none`"
          : (words ?? "");
    const names = isSecret ? `\`${name}\`, \`…_FILE\`` : `\`${name}\``;
    return `| ${names} | ${kind.words}${kind.or === undefined ? "" : `, or ${kind.or.inText}`} | ${value} | ${meaning ?? ""} |`;
  });
  return ["| variable | takes | default | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

/** A page with its tables made anew: each stands between two comments. */
export async function withTables(name: string, page: string): Promise<string> {
  const tables = new Map((pages.get(name) ?? []).map((table) => [declared.get(table), optionTable(table)]));
  const events = await eventTable();
  const made = page.replace(
    /(<!-- (\w+): .*? -->\n)[^]*?(\n<!-- end -->)/g,
    (_, begin: string, which: string, end: string) =>
      `${begin}\n${which === "variables" ? variableTable() : which === "ServerEvent" ? events : (tables.get(which) ?? "")}\n${end}`,
  );
  const url = pageUrl(name);
  return format(made, { ...(await resolveConfig(url)), parser: "markdown" });
}

export function pageUrl(name: string): URL {
  return new URL(`../docs/${name}.md`, import.meta.url);
}

// Not when a test imports this.
if (import.meta.main) {
  for (const name of pages.keys()) {
    const url = pageUrl(name);
    await writeFile(url, await withTables(name, await readFile(url, "utf8")));
  }
}
