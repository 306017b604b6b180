import { mkdir, open, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { UsageError } from "../errors.ts";
import { fileName } from "./file-name.ts";

/** What is saved as one file. */
export interface Saveable {
  /** What the server calls it: a name or a URI. */
  readonly named?: string | undefined;
  readonly mimeType?: string | undefined;
  /** What it is called where the server does not say. */
  readonly kind: string;
  readonly content: string | Uint8Array;
}

/** Where `--save` puts files. */
export class SaveFolder {
  readonly #given: string;
  readonly #path: string;

  private constructor(given: string, path: string) {
    this.#given = given;
    this.#path = path;
  }

  /** Makes the folder, before anything is sent to a server; undefined where none is given. Rejects with a UsageError. */
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

  /** Saves it under a name that no file has yet, and returns its path. */
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

/** Fails for whatever is there already, a link too. Leaves no part of a file behind, as where the disk is full. */
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
