import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { Io } from "../io.ts";
import { UsageError } from "../errors.ts";
import { parseExactJson } from "./exact-json.ts";

/** The object that `--args` gives: JSON, `@file`, or `-` for stdin. */
export async function readJsonArgument(given: string | undefined, { stdin, cwd }: Io): Promise<JsonObject> {
  if (given === undefined) return {};
  const json =
    given === "-"
      ? await text(stdin)
      : given.startsWith("@")
        ? await read(resolve(cwd, given.slice(1)))
        : given;
  let value: unknown;
  try {
    value = parseExactJson(json);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `--args is not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (!isJsonObject(value)) throw new UsageError("--args must be a JSON object.");
  return value;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(`--args: ${error instanceof Error ? error.message : String(error)}`);
  }
}
