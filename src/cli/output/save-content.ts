import { mkdir, open, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type CallToolResult, isSpecType, type ReadResourceResult } from "@modelcontextprotocol/client";
import { UsageError } from "../errors.ts";
import type { SavedArtifact } from "../../client/artifact/save-artifact.ts";
import type { TaskClient } from "../../client/task-client.ts";
import { artifactResourceAt } from "../../generation/extensions.ts";
import { sizeText } from "./table.ts";
import { showBlock, withNewline } from "./show-content.ts";
import { describeCause } from "../../client/task-client-error.ts";

/** The content of one file. */
interface Saveable extends Named {
  readonly content: string | Uint8Array;
}

/** What a file gets its name from. */
export interface Named {
  /** The server's name for it, or its URI. */
  readonly named?: string | undefined;
  readonly mimeType?: string | undefined;
  /** The name if the server gives none. */
  readonly kind: string;
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
  async save({ content, ...named }: Saveable): Promise<string> {
    return this.#saveAs(named, (path) => writeNew(path, content));
  }

  /** The same for a file that `write` puts in place of an empty one. */
  async saveWith(named: Named, write: (path: string) => Promise<unknown>): Promise<string> {
    return this.#saveAs(named, async (path) => {
      await writeNew(path, "");
      try {
        await write(path);
      } catch (error) {
        await rm(path, { force: true }).catch(() => undefined);
        throw error;
      }
    });
  }

  async #saveAs({ named, mimeType, kind }: Named, write: (path: string) => Promise<void>): Promise<string> {
    const { stem, ending } = fileName(named, mimeType, kind);
    for (let number = 1; ; number++) {
      const numbered = number === 1 ? stem : `${stem}-${number}`;
      const name = ending === "" ? numbered : `${numbered}.${ending}`;
      try {
        await write(join(this.#path, name));
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

/** The file extensions of a type; new files get the first one. */
const endings: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    "application/gzip": ["gz", "tgz"],
    "application/json": ["json"],
    "application/pdf": ["pdf"],
    "application/xml": ["xml"],
    "application/yaml": ["yaml", "yml"],
    "application/zip": ["zip"],
    "audio/aac": ["aac"],
    "audio/flac": ["flac"],
    "audio/mp4": ["m4a", "mp4"],
    "audio/mpeg": ["mp3"],
    "audio/ogg": ["ogg", "oga", "opus"],
    "audio/wav": ["wav"],
    "audio/webm": ["webm"],
    "audio/x-wav": ["wav"],
    "image/avif": ["avif"],
    "image/bmp": ["bmp"],
    "image/gif": ["gif"],
    "image/jpeg": ["jpg", "jpeg"],
    "image/png": ["png"],
    "image/svg+xml": ["svg"],
    "image/tiff": ["tiff", "tif"],
    "image/webp": ["webp"],
    "text/css": ["css"],
    "text/csv": ["csv"],
    "text/html": ["html", "htm"],
    "text/javascript": ["js", "mjs"],
    "text/markdown": ["md", "markdown"],
    "text/xml": ["xml"],
    "video/mp4": ["mp4", "m4v"],
    "video/webm": ["webm"],
  }),
);

/** Generic types: a file keeps its own extension. */
const vague: ReadonlyMap<string, string> = new Map([
  ["text/plain", "txt"],
  ["application/octet-stream", "bin"],
]);

/** Longer names are cut: file systems allow 255 bytes, and a number may follow. */
const longest = 60;

/** Device names on Windows, with any extension. */
const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * A safe name for a file with a server's content: it cannot leave its folder, and is not hidden. `named` is the server's name for it, or
 * its URI; `kind` is used if there is none. The type decides the extension.
 */
export function fileName(
  named: string | undefined,
  mimeType: string | undefined,
  kind: string,
): { readonly stem: string; readonly ending: string } {
  const last = safe(lastPart(named ?? ""));
  const { stem = "", ending = "" } = /^(?<stem>.+)\.(?<ending>[A-Za-z0-9]{1,10})$/.exec(last)?.groups ?? {
    stem: last,
  };
  const type = (mimeType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const usual = endings.get(type) ?? [];
  const isFitting = usual.length === 0 ? ending !== "" : usual.includes(ending.toLowerCase());
  const whole = isFitting || ending === "" ? stem : last;
  const base = whole.slice(0, longest).toWellFormed() || kind;
  return {
    stem: devices.test(base) ? `_${base}` : base,
    ending: isFitting ? ending : (usual[0] ?? vague.get(type) ?? ""),
  };
}

/** The last part of a path or a URI, without its query. */
function lastPart(named: string): string {
  const path = /^[a-z][a-z\d+.-]*:/i.test(named) ? named.replace(/[?#].*$/s, "") : named;
  const part = path.split(/[/\\:]/).findLast((each) => each !== "") ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Removes what leads elsewhere, hides a file, or is invalid in a name. */
function safe(name: string): string {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}/\\:*?"<>|]+/gu, "_").replace(/^[.\s-]+|[.\s]+$/g, "");
}

type Block = CallToolResult["content"][number];
type ResourceContent = ReadResourceResult["contents"][number];

/** What was done with a result's content. */
export interface SavedContent {
  /** The texts, and one line for each file. */
  readonly text: string;
  /** The paths of the files. */
  readonly saved: readonly string[];
  /** Why each unsaved part was not saved. */
  readonly problems: readonly string[];
}

/** What reads the links in a result. */
export interface Links {
  readonly read: (uri: string) => Promise<ReadResourceResult>;
  /** Saves an artifact of a task under this path, however large it is. */
  readonly saveArtifact: (uri: string, path: string) => Promise<SavedArtifact>;
}

/** Links as a client reads them. */
export function linksOf(client: TaskClient, signal: AbortSignal): Links {
  return {
    read: (uri) => client.readResource(uri, { signal }),
    saveArtifact: (uri, path) => client.saveArtifact(uri, path, { signal }),
  };
}

/** Whether it is the URI of a whole artifact. */
export function isArtifact(uri: string): boolean {
  const artifact = artifactResourceAt(uri);
  return artifact !== undefined && artifact.name !== null && !uri.includes("?");
}

/** Saves all content that is not plain text, after reading links. Content that cannot be saved is described as without `--save`. */
export async function saveContent(
  content: readonly unknown[],
  folder: SaveFolder,
  links: Links,
): Promise<SavedContent> {
  const saved: string[] = [];
  const problems: string[] = [];
  let text = "";
  for (const block of content) {
    if (!isSpecType.ContentBlock(block) || block.type === "text") {
      text += withNewline(showBlock(block));
      continue;
    }
    try {
      if (block.type === "resource_link" && isArtifact(block.uri)) {
        const { path, line } = await savedArtifact(block, folder, links);
        saved.push(path);
        text += line;
        continue;
      }
      for (const part of await partsOf(block, links)) {
        const path = await folder.save(part);
        saved.push(path);
        text += savedLine(path, part.mimeType, Buffer.byteLength(part.content));
      }
    } catch (error) {
      const shown = block.type === "resource" ? `[resource ${block.resource.uri}]` : showBlock(block);
      problems.push(`could not save ${shown}: ${describeCause(error)}`);
      text += withNewline(showBlock(block));
    }
  }
  return { text, saved, problems };
}

/** Saves the contents of a resource. */
export async function saveResource(
  result: ReadResourceResult,
  folder: SaveFolder,
  links: Links,
): Promise<SavedContent> {
  const blocks = result.contents.map((resource): Block => ({ type: "resource", resource }));
  return saveContent(blocks, folder, links);
}

async function savedArtifact(
  { uri, name, mimeType: linkType }: Extract<Block, { type: "resource_link" }>,
  folder: SaveFolder,
  { saveArtifact }: Links,
): Promise<{ readonly path: string; readonly line: string }> {
  let [bytes, type]: [number, string | undefined] = [0, linkType];
  const path = await folder.saveWith({ named: name, mimeType: linkType, kind: "artifact" }, async (to) => {
    ({ bytes, mimeType: type = linkType } = await saveArtifact(uri, to));
  });
  return { path, line: savedLine(path, type, bytes) };
}

async function partsOf(
  block: Exclude<Block, { type: "text" }>,
  { read }: Links,
): Promise<readonly Saveable[]> {
  switch (block.type) {
    case "image":
    case "audio":
      return [{ kind: block.type, mimeType: block.mimeType, content: Buffer.from(block.data, "base64") }];
    case "resource":
      return [ofResource(block.resource)];
    case "resource_link": {
      const { contents } = await read(block.uri);
      return contents.map((content) => ofResource(content, block.mimeType));
    }
  }
}

function ofResource(content: ResourceContent, linkType?: string): Saveable {
  const { uri, mimeType = linkType } = content;
  const data = "blob" in content ? Buffer.from(content.blob, "base64") : content.text;
  return { kind: "resource", named: uri, mimeType, content: data };
}

function savedLine(path: string, mimeType: string | undefined, bytes: number): string {
  const facts = [mimeType, sizeText(bytes)].filter((fact) => fact !== undefined);
  return `saved ${path} (${facts.join(", ")})\n`;
}
