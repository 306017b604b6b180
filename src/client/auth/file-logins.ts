import { createHash } from "node:crypto";
import { chmod, readFile, rm, stat, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, replaceFile } from "../../runtime/replace-file.ts";
import { systemClock, type ClientClock } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";
import { type LoginStore, grants, type Login, type LoginClient } from "./login.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";

/** What Windows answers while another process reads, replaces or removes the same file, as virus scanners do too. */
const inUse: ReadonlySet<unknown> = new Set(["EACCES", "EBUSY", "EPERM"]);

/** About two seconds in all. They grow, so that a short read by another process costs little. */
const pausesMs = [10, 20, 40, 80, 160, 320, 640, 640];

interface Surroundings {
  readonly platform?: NodeJS.Platform;
  readonly clock?: Pick<ClientClock, "sleep">;
}

/**
 * Does something with a file, and on Windows again while others have the file open. Elsewhere an open file can be replaced and
 * removed, and the same errors mean that there is no permission.
 */
export async function retryWhileInUse<Value>(
  act: () => Promise<Value>,
  { platform = process.platform, clock = systemClock }: Surroundings = {},
): Promise<Value> {
  const pauses = platform === "win32" ? pausesMs : [];
  for (const pauseMs of pauses) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Error && "code" in error && inUse.has(error.code))) throw error;
      await clock.sleep(pauseMs, new AbortController().signal);
    }
  }
  return act();
}

/** As `replaceFile`, and on Windows again while others have the file open. */
export function writeAtomically(path: string, text: string): Promise<void> {
  return replaceFile(path, text, (from, to) => retryWhileInUse(() => rename(from, to)));
}

/** Encrypts the contents of the files. If `open` returns `null`, the text can no longer be read and counts as no login. */
export interface Sealing {
  /** `before`: what the file contained, if there is one. */
  seal(text: string, before: string | undefined): Promise<string>;
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
      const [path, text] = [fileOf(server), loginText(server, login)];
      await writeAtomically(
        path,
        sealing === undefined ? text : await sealing.seal(text, await readable(path)),
      );
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

/** Undefined if there is no file, or none that may be used. */
async function readable(path: string): Promise<string | undefined> {
  return readOwn(path).catch(() => undefined);
}

/** Incremented by changes that an earlier version could not read. */
const format = 1;

export function loginText(server: string, login: Login): string {
  return `${JSON.stringify({ format, server, login })}\n`;
}

/** The login of a server; undefined if the text contains none. */
export function readLogin(server: string, text: string): Login | undefined {
  const stored = parsed(text);
  if (!isJsonObject(stored) || stored["format"] !== format || stored["server"] !== server) return undefined;
  const login = stored["login"];
  if (!isJsonObject(login)) return undefined;
  const { issuer, tokenEndpoint, accessToken } = login;
  const client = readClient(login["client"]);
  const grant = grants.find((known) => known === login["grant"]);
  if (typeof issuer !== "string" || typeof tokenEndpoint !== "string" || typeof accessToken !== "string")
    return undefined;
  if (client === undefined || grant === undefined) return undefined;
  const expiresAt = login["expiresAt"];
  return {
    issuer,
    tokenEndpoint,
    accessToken,
    client,
    grant,
    authMethods: readMethods(login["authMethods"]),
    revocationEndpoint: textIn(login, "revocationEndpoint"),
    resource: textIn(login, "resource"),
    refreshToken: textIn(login, "refreshToken"),
    scope: textIn(login, "scope"),
    expiresAt: typeof expiresAt === "number" ? expiresAt : undefined,
  };
}

function readClient(value: unknown): LoginClient | undefined {
  if (!isJsonObject(value) || typeof value["id"] !== "string") return undefined;
  return { id: value["id"], secret: textIn(value, "secret"), method: textIn(value, "method") };
}

function readMethods(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((method) => typeof method === "string") : undefined;
}

function textIn(object: JsonObject, name: string): string | undefined {
  const value = object[name];
  return typeof value === "string" ? value : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The pause between attempts to take a lock that another process holds. */
const tryMs = 50;

/** The longest time to hold a lock: requests to authorization servers end earlier. */
const longestMs = 60_000;

/** Runs `work` while this process holds the lock file. Takes over the lock of a process that has died. */
export async function withFileLock<Value>(
  path: string,
  clock: ClientClock,
  work: () => Promise<Value>,
): Promise<Value> {
  const own = `${process.pid} ${crypto.randomUUID()}`;
  await take(path, own, clock);
  try {
    return await work();
  } finally {
    if ((await holder(path)) === own) await retryWhileInUse(() => rm(path, { force: true }));
  }
}

async function take(path: string, own: string, clock: ClientClock): Promise<void> {
  const unending = new AbortController().signal;
  let held: string | undefined;
  let since = 0;
  while (!(await create(path, own))) {
    const now = await holder(path);
    if (now !== held) since = clock.elapsed();
    held = now;
    if (now !== undefined && (!isAlive(now) || clock.elapsed() - since >= longestMs)) await remove(path, now);
    else await clock.sleep(tryMs, unending);
  }
}

async function create(path: string, own: string): Promise<boolean> {
  try {
    // Windows refuses the name of a file that is just being removed.
    const file = await retryWhileInUse(() => open(path, "wx", 0o600));
    try {
      await file.writeFile(own);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** The lock's holder: undefined if the lock is free, empty while a process is writing it. */
async function holder(path: string): Promise<string | undefined> {
  return retryWhileInUse(() => readFile(path, "utf8")).catch(() => undefined);
}

/** Only one process can rename a lock away. It then checks whose lock it was. */
async function remove(path: string, seen: string): Promise<void> {
  const aside = `${path}.${crypto.randomUUID()}`;
  try {
    await retryWhileInUse(() => rename(path, aside));
  } catch {
    return; // another process was faster
  }
  // If another process took the lock meanwhile, give it back, unless it was taken again.
  if ((await holder(aside)) !== seen) await create(path, (await holder(aside)) ?? "");
  await retryWhileInUse(() => rm(aside, { force: true }));
}

function isAlive(held: string): boolean {
  const pid = Number.parseInt(held, 10);
  if (Number.isNaN(pid)) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
