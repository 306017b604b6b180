import { join } from "node:path";
import { endProcess } from "../postgres/end-owner.ts";
import { FreshDatabase } from "../postgres/test-database.ts";
import { defaultSchema } from "./store-at.ts";

/** A new, empty place for the tasks of several processes. */
export interface Place {
  /** For `storeAt`, in any process. */
  readonly at: string;
  /** Comes after the kill of a process that had a store there: the others are to know at once. */
  killed(pid: number): Promise<void>;
  remove(): Promise<void>;
}

/** Whether such suites keep tasks in Postgres: `HOLDFAST_TEST_STORE=postgres`. */
export const onPostgres = process.env["HOLDFAST_TEST_STORE"] === "postgres";

export function newPlace(folder: string): Promise<Place> {
  return onPostgres ? placeInPostgres() : Promise.resolve(placeInFile(join(folder, "tasks.db")));
}

/** It goes with the folder, and the system tells others at once who has died. */
export function placeInFile(at: string): Place {
  return { at, killed: () => Promise.resolve(), remove: () => Promise.resolve() };
}

/** A database of its own. */
export async function placeInPostgres(): Promise<Place> {
  const fresh = await FreshDatabase.create();
  const { url } = fresh;
  return { at: url, killed: (pid) => endProcess(url, defaultSchema, pid), remove: () => fresh.drop() };
}
