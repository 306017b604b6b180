import { createHash } from "node:crypto";

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
