import { isSpecType, type CallToolResult, type ReadResourceResult } from "@modelcontextprotocol/client";
import { describeCause } from "../../client/transport/describe-cause.ts";
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

export type ReadLink = (uri: string) => Promise<ReadResourceResult>;

/** Saves all content that is not plain text, after reading links. Content that cannot be saved is described as without `--save`. */
export async function saveContent(
  content: readonly unknown[],
  folder: SaveFolder,
  readLink: ReadLink,
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
      for (const part of await partsOf(block, readLink)) {
        const path = await folder.save(part);
        saved.push(path);
        text += savedLine(path, part);
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
export async function saveResource(result: ReadResourceResult, folder: SaveFolder): Promise<SavedContent> {
  const blocks = result.contents.map((resource): Block => ({ type: "resource", resource }));
  return saveContent(blocks, folder, async () => result);
}

async function partsOf(
  block: Exclude<Block, { type: "text" }>,
  readLink: ReadLink,
): Promise<readonly Saveable[]> {
  switch (block.type) {
    case "image":
    case "audio":
      return [{ kind: block.type, mimeType: block.mimeType, content: Buffer.from(block.data, "base64") }];
    case "resource":
      return [ofResource(block.resource)];
    case "resource_link": {
      const { contents } = await readLink(block.uri);
      return contents.map((content) => ofResource(content, block.mimeType));
    }
  }
}

function ofResource(content: ResourceContent, linkType?: string): Saveable {
  const { uri, mimeType = linkType } = content;
  const data = "blob" in content ? Buffer.from(content.blob, "base64") : content.text;
  return { kind: "resource", named: uri, mimeType, content: data };
}

function savedLine(path: string, { mimeType, content }: Saveable): string {
  const facts = [mimeType, sizeText(Buffer.byteLength(content))].filter((fact) => fact !== undefined);
  return `saved ${path} (${facts.join(", ")})\n`;
}
