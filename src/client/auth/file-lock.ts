import { open, readFile, rename, rm } from "node:fs/promises";
import type { ClientClock } from "../clock.ts";
import { retryWhileInUse } from "../handles/retry-while-in-use.ts";

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
