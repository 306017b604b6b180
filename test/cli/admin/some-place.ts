import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import type { Requestor, Runtime } from "../../../src/runtime/runtime.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import type { Blobs } from "../../../src/store/blobs.ts";
import { storeFromUrl } from "../../../src/store/from-url.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { FreshDatabase, FreshSchema } from "../../postgres/test-database.ts";
import { folder, type Run } from "../run-cli.ts";
import { runMain } from "../run-main.ts";

export const kinds = ["SQLite", "Postgres"] as const;
export type Kind = (typeof kinds)[number];

/** Where a store is, or is to be. */
export interface Place {
  /** As the command takes it. */
  readonly url: string;
  readonly cwd: string;
  store(): TaskStore;
}

export async function somePlace(kind: Kind): Promise<Place> {
  const cwd = await folder();
  const url = kind === "SQLite" ? `sqlite:${join(cwd, "tasks.db")}` : await schemaUrl();
  return { url, cwd, store: () => storeFromUrl(url) };
}

/** The same in a database of its own, whose files have what no other test wrote, and which no other test reads. */
export async function placeApart(kind: Kind): Promise<Place> {
  if (kind === "SQLite") return somePlace(kind);
  const database = await FreshDatabase.create();
  onTestFinished(() => database.drop());
  const url = new URL(database.url);
  url.searchParams.set("schema", "holdfast");
  return { url: url.href, cwd: await folder(), store: () => storeFromUrl(url.href) };
}

async function schemaUrl(): Promise<string> {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const url = new URL(fresh.url);
  url.searchParams.set("schema", fresh.schema);
  return url.href;
}

export const ann: Requestor = { generation: "2026-07-28", principal: "ann" };

/** A server without a network, for as long as the test runs. */
export async function serve(
  place: Place,
  register: (tools: Registry) => void,
  also: { readonly blobs?: Blobs } = {},
): Promise<Runtime> {
  const registry = new Registry();
  register(registry);
  const runtime = createRuntime({ store: place.store(), registry, ...also });
  await runtime.start();
  onTestFinished(() => runtime.stop());
  return runtime;
}

export async function call(
  runtime: Runtime,
  tool: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  const origin = { capabilities: { elicitation: {} } };
  return (await runtime.create({ ...ann, tool, arguments: args, origin })).task.id;
}

/** `holdfast admin PLACE …`, which has to succeed; resolves with its output. */
export async function admin(place: Place, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runAdmin(place, ...words);
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
}

export async function adminJson(place: Place, ...words: readonly string[]): Promise<unknown> {
  return JSON.parse(await admin(place, ...words, "--json"));
}

export async function runAdmin({ url, cwd }: Place, ...words: readonly string[]): Promise<Run> {
  return runMain(["admin", url, ...words], { cwd });
}
