import { HoldfastError } from "../../task/fault.ts";

const tables = [
  "migration",
  "task",
  "request",
  "journal",
  "outcome",
  "child",
  "event",
  "line",
  "piece",
  "owner",
  "committed",
  "usage",
  "secret",
  "session",
  "message",
  "action",
  "delivery",
  "report",
] as const;

/** The tables of a schema, as statements name them. They do not depend on a connection's settings. */
export type Names = Readonly<Record<(typeof tables)[number], string>> & {
  readonly bulkJob: string;
  readonly bulkTask: string;
  readonly limitLine: string;
  readonly limitPlace: string;
  readonly causeMark: string;
  readonly pausedTool: string;
  readonly sessionNews: string;
  /** The schema itself, and as it is written in statements. */
  readonly schema: string;
  readonly quoted: string;
};

export const defaultSchema = "holdfast";

export function isSchema(name: string): boolean {
  return /^[a-z_][a-z0-9_]{0,47}$/.test(name);
}

/** Throws `configuration` for an invalid name. */
export function namesIn(schema: string): Names {
  if (!isSchema(schema)) {
    throw new HoldfastError(
      "configuration",
      `schema ${JSON.stringify(schema)} must begin with a letter or _, and contain only lower-case letters, digits and _.`,
    );
  }
  const quoted = `"${schema}"`;
  const named = Object.fromEntries(tables.map((table) => [table, `${quoted}.${table}`]));
  return {
    ...(named as Record<(typeof tables)[number], string>),
    bulkJob: `${quoted}.bulk_job`,
    bulkTask: `${quoted}.bulk_task`,
    limitLine: `${quoted}.limit_line`,
    limitPlace: `${quoted}.limit_place`,
    causeMark: `${quoted}.cause_mark`,
    pausedTool: `${quoted}.paused_tool`,
    sessionNews: `${quoted}.session_news`,
    schema,
    quoted,
  };
}
