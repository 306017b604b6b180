import { rename } from "node:fs/promises";
import { type ClientClock, systemClock } from "../clock.ts";
import { replaceFile } from "../../runtime/replace-file.ts";

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
