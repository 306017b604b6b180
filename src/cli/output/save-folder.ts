import { mkdir, open, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { UsageError } from "../errors.ts";
import { fileName } from "./file-name.ts";

/** The content of one file. */
export interface Saveable {
  /** The server's name for it, or its URI. */
  readonly named?: string | undefined;
  readonly mimeType?: string | undefined;
  /** The name if the server gives none. */
  readonly kind: string;
  readonly content: string | Uint8Array;
}

/** The folder of `--save`. */
export class SaveFolder {
  readonly #given: string;
  readonly #path: string;

  private constructor(given: string, path: string) {
    this.#given = given;
    this.#path = path;
  }

  /** Creates the folder, before anything is sent to a server; undefined without `--save`. Rejects with a UsageError. */
  static async open(given: string | undefined, cwd: string): Promise<SaveFolder | undefined> {
    if (given === undefined) return undefined;
    const path = resolve(cwd, given);
    try {
      await mkdir(path, { recursive: true });
    } catch (error) {
      throw new UsageError(`--save: ${error instanceof Error ? error.message : String(error)}`);
    }
    return new SaveFolder(given, path);
  }

  /** Saves it under an unused name, and returns its path. */
  async save({ named, mimeType, kind, content }: Saveable): Promise<string> {
    const { stem, ending } = fileName(named, mimeType, kind);
    for (let number = 1; ; number++) {
      const numbered = number === 1 ? stem : `${stem}-${number}`;
      const name = ending === "" ? numbered : `${numbered}.${ending}`;
      try {
        await writeNew(join(this.#path, name), content);
        return join(this.#given, name);
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      }
    }
  }
}

/** Fails if anything exists there, even a link. Leaves no partial file behind, such as on a full disk. */
async function writeNew(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(path, "wx");
  try {
    await file.writeFile(content);
  } catch (error) {
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
}
