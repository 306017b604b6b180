import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { withClient } from "./with-client.ts";

/** The URL of a database that all tests of a run share: of HOLDFAST_TEST_POSTGRES, or of a server that the first to ask starts. */
export async function sharedDatabase(): Promise<string> {
  const elsewhere = process.env["HOLDFAST_TEST_POSTGRES"];
  if (elsewhere !== undefined && elsewhere !== "") return elsewhere;
  const response = await fetch(inject("postgres"));
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return answer;
}

/** A name for a schema that nobody has, in the shared database. */
export class FreshSchema implements AsyncDisposable {
  readonly url: string;
  readonly schema: string;

  private constructor(url: string, schema: string) {
    this.url = url;
    this.schema = schema;
  }

  static async inSharedDatabase(): Promise<FreshSchema> {
    return new FreshSchema(await sharedDatabase(), freshName());
  }

  drop(): Promise<void> {
    return dropSchema(this.url, this.schema);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.drop();
  }
}

/** An empty database beside the shared one, for what takes a URL and nothing else. */
export class FreshDatabase implements AsyncDisposable {
  readonly url: string;
  readonly #name: string;

  private constructor(url: string, name: string) {
    this.url = url;
    this.#name = name;
  }

  static async create(): Promise<FreshDatabase> {
    const url = new URL(await sharedDatabase());
    const name = freshName();
    await withClient(url.href, (client) => client.query(`create database ${name} template template0`));
    url.pathname = `/${name}`;
    return new FreshDatabase(url.href, name);
  }

  /** Whoever is connected to it loses that connection. */
  async drop(): Promise<void> {
    await withClient(await sharedDatabase(), (client) =>
      client.query(`drop database ${this.#name} with (force)`),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.drop();
  }
}

/** Drops a schema, and all whose names start with its own and a low line. */
export async function dropSchema(url: string, schema: string): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      "select nspname as name from pg_namespace where nspname = $1 or starts_with(nspname, $1 || '_')",
      [schema],
    );
    for (const { name } of rows) await client.query(`drop schema ${client.escapeIdentifier(name)} cascade`);
  });
}

/** For a schema or a database; what is left under such names is dropped when the run ends. */
export function freshName(): string {
  return `${inject("postgresNames")}_${randomBytes(6).toString("hex")}`;
}
