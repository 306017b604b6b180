import { createHash } from "node:crypto";
import { HoldfastError } from "../../task/fault.ts";
import { type Tables, tablesNamed } from "../dialect.ts";
import type { WireName } from "../store.ts";

/** The tables of a schema, as statements name them. They do not depend on a connection's settings. */
export interface Names extends Tables {
  /** The schema itself, and as it is written in statements. */
  readonly schema: string;
  readonly quoted: string;
}

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
  return { ...tablesNamed((table) => `${quoted}.${table}`), schema, quoted };
}

/** One name for an idempotency key and its principal; all callers that are not distinguished have the same principal. */
export function keyName(principal: string | null, key: string): string {
  return JSON.stringify([principal ?? "", key]);
}

/** The same for a wire id. */
export function wireName({ generation, scope, wireId }: WireName): string {
  return JSON.stringify([generation, scope, wireId]);
}

/** How many different statements a connection keeps at most: an update has a text for each combination of columns. */
const mostNames = 500;

/** The first and last number of commands after which statements are planned anew. */
const [firstCommands, lastCommands] = [64, 10_000];

/**
 * The names under which connections keep statements, so that Postgres parses each once and plans it a few times. A plan that was made while a
 * table was small may read all of a large one, and Postgres makes a new one only after it has looked at the table, which may take it a
 * minute. So statements get new names after a number of commands that doubles, up to the last one.
 */
export class StatementNames {
  #names = new Map<string, string>();
  /** How often there were new names. */
  #generation = 0;
  #commands = 0;
  #next = firstCommands;

  /** Undefined for a statement that is not kept. */
  nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql);
    if (known !== undefined || this.#names.size >= mostNames) return known;
    const name = `${createHash("sha256").update(sql).digest("base64url").slice(0, 22)}_${this.#generation}`;
    this.#names.set(sql, name);
    return name;
  }

  /** A connection that had others has to give up those that it keeps. */
  get generation(): number {
    return this.#generation;
  }

  /** Rows were written for so many commands. */
  wrote(commands: number): void {
    this.#commands += commands;
    if (this.#commands < this.#next) return;
    this.#commands = 0;
    this.#next = Math.min(2 * this.#next, lastCommands);
    this.#generation++;
    this.#names = new Map();
  }
}
