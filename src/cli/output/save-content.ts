import { isSpecType, type CallToolResult, type ReadResourceResult } from "@modelcontextprotocol/client";
import type { SavedArtifact } from "../../client/artifact/save-artifact.ts";
import type { TaskClient } from "../../client/task-client.ts";
import { artifactResourceAt } from "../../generation/extensions.ts";
import { describeCause } from "../../client/transport/send-failure.ts";
import { sizeText } from "./amounts.ts";
import type { Saveable, SaveFolder } from "./save-folder.ts";
import { showBlock, withNewline } from "./show-content.ts";

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
