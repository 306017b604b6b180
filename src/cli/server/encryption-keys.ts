import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readKeys, type KeyRing } from "../../store/encryption-keys.ts";
import { HoldfastError } from "../../task/fault.ts";
import { UsageError } from "../errors.ts";
import type { Io } from "../io.ts";

/** The keys of encrypted stores from the environment; undefined if it has none. */
export function encryptionKeys(io: Pick<Io, "env" | "cwd">): KeyRing | undefined {
  const text = textOf(io);
  if (text === undefined) return undefined;
  try {
    return readKeys(text);
  } catch (error) {
    if (error instanceof HoldfastError)
      throw new UsageError(`HOLDFAST_ENCRYPTION_KEYS: ${error.message}`, { cause: error });
    throw error;
  }
}

function textOf({ env, cwd }: Pick<Io, "env" | "cwd">): string | undefined {
  const given = set(env["HOLDFAST_ENCRYPTION_KEYS"]);
  const file = set(env["HOLDFAST_ENCRYPTION_KEYS_FILE"]);
  if (file === undefined) return given;
  if (given !== undefined)
    throw new UsageError(
      "HOLDFAST_ENCRYPTION_KEYS and HOLDFAST_ENCRYPTION_KEYS_FILE are both set: leave one of them out.",
    );
  try {
    return readFileSync(resolve(cwd, file), "utf8");
  } catch {
    throw new UsageError(`HOLDFAST_ENCRYPTION_KEYS_FILE names ${file}, which cannot be read.`);
  }
}

function set(value: string | undefined): string | undefined {
  return value?.trim() === "" ? undefined : value;
}
