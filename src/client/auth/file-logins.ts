import { createHash } from "node:crypto";
import { chmod, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { retryWhileInUse } from "../handles/retry-while-in-use.ts";
import { makeFolder, writeAtomically } from "../handles/write-atomically.ts";
import { systemClock, type ClientClock } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";
import { withFileLock } from "./file-lock.ts";
import { loginText, readLogin } from "./login-format.ts";
import type { LoginStore } from "./login.ts";

/** Encrypts the contents of the files. If `open` returns `null`, the text can no longer be read and counts as no login. */
export interface Sealing {
  seal(text: string): Promise<string>;
  open(sealed: string): Promise<string | null>;
}

interface FileLoginsOptions {
  readonly sealing?: Sealing | undefined;
  readonly clock?: ClientClock;
}

/**
 * Stores logins as files in a folder, which is created if it is missing. Only their owner may read them: a file that others can read is
 * refused with the code `unauthorized`. Several processes can share the folder.
 */
export function fileLogins(folder: string): LoginStore {
  return fileLoginsWith(folder, {});
}

/** `fileLogins` with encrypted files, or with a given clock. */
export function fileLoginsWith(
  folder: string,
  { sealing, clock = systemClock }: FileLoginsOptions,
): LoginStore {
  const pathOf = (server: string): string =>
    join(folder, createHash("sha256").update(server).digest("hex").slice(0, 40));
  const fileOf = (server: string): string => `${pathOf(server)}.json`;
  return {
    async load(server) {
      const path = fileOf(server);
      const text = await readOwn(path);
      if (text === undefined) return undefined;
      const opened = sealing === undefined ? text : await sealing.open(text);
      return opened === null ? undefined : readLogin(server, opened);
    },
    async save(server, login) {
      await makePrivate(folder);
      const text = loginText(server, login);
      await writeAtomically(fileOf(server), sealing === undefined ? text : await sealing.seal(text));
    },
    async delete(server) {
      await retryWhileInUse(() => rm(fileOf(server), { force: true }));
    },
    async exclusively(server, work) {
      await makePrivate(folder);
      return withFileLock(`${pathOf(server)}.lock`, clock, work);
    },
  };
}

async function makePrivate(folder: string): Promise<void> {
  await makeFolder(folder);
  if (process.platform !== "win32") await chmod(folder, 0o700);
}

/** Windows has other permissions, and a user's folders are private there. */
async function readOwn(path: string): Promise<string | undefined> {
  try {
    const { mode } = await stat(path);
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      throw new TaskClientError(
        "unauthorized",
        `Other users can read the login in ${path}, and may know its token. Log in again`,
      );
    }
    return await retryWhileInUse(() => readFile(path, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
