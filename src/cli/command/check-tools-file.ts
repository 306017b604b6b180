import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import { placeOfStore, readStore } from "../../store/from-url.ts";
import { filesAtRisk } from "../../store/sqlite/private-files.ts";
import type { Finding } from "../../serve/source.ts";
import type { Variables } from "../../serve/file/read-tools-file.ts";
import { settingsOf, type ServedPlace } from "../../serve/file/serve-file.ts";

/**
 * What works of all that a file names: its programs, the services and servers that it reaches, with their credentials, and its store. Calls no tool, and
 * creates nothing. Throws a `ToolsFileError` for what is wrong with the file itself, and `configuration` for its settings.
 */
export async function checkServed(place: ServedPlace, env: Variables): Promise<readonly Finding[]> {
  const { file, sources } = place.load();
  const { store } = settingsOf(file, place.path, { env });
  const findings = await Promise.all([
    ...sources.map(async (source) => (await source.check?.()) ?? []),
    checkStore(store),
  ]);
  return findings.flat();
}

async function checkStore(store: string): Promise<readonly Finding[]> {
  const check = "store";
  if (store === "memory:")
    return [{ check, works: null, detail: "is in memory: a restart forgets all tasks" }];
  const place = placeOfStore(store, (path) => path);
  try {
    if (place.kind === "sqlite" && !existsSync(place.path)) {
      const folder = dirname(place.path);
      if (!existsSync(folder))
        return [{ check, works: null, detail: `${folder} is created at the first start` }];
      await access(folder, constants.W_OK);
      return [{ check, works: true, detail: `${place.path} is created at the first start` }];
    }
    await readStore(
      store,
      (path) => path,
      async () => undefined,
    );
    const risks = place.kind === "sqlite" ? filesAtRisk(place.path) : [];
    const shown = place.kind === "sqlite" ? place.path : new URL(store).host;
    if (risks.length > 0) return [{ check, works: false, detail: risks.join("; ") }];
    return [{ check, works: true, detail: `${shown} can be read` }];
  } catch (error) {
    return [{ check, works: false, detail: error instanceof Error ? error.message : String(error) }];
  }
}
