import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { hash } from "node:crypto";
import { errorResult, type Outcome } from "../task/outcome.ts";
import { isJsonObject, type JsonObject } from "../generation/message.ts";

/** A part of a result, as models take them. */
export type ModelPart =
  | { readonly type: "text"; readonly text: string }
  /** `data` is base64. */
  | { readonly type: "file"; readonly mediaType: string; readonly data: string; readonly name?: string };

/** The result that a model gets of a call that has ended. One that was cancelled or failed is a result that says so. */
export function resultOf(outcome: Outcome | null): CallToolResult {
  if (outcome === null) return failed("The call was cancelled.");
  const body: unknown = JSON.parse(outcome.body);
  if (outcome.kind !== "error") return body as CallToolResult;
  const message = isJsonObject(body) ? body["message"] : undefined;
  return failed(
    typeof message === "string" && message !== ""
      ? `The call failed: ${message}`
      : "The call failed, and the server does not say why.",
  );
}

/** A result with `isError` and this text. */
export function failed(text: string): CallToolResult {
  return JSON.parse(errorResult(text).body) as CallToolResult;
}

/** What a model is told of a call that goes on in the background. */
export function startedNotice(callId: string): CallToolResult {
  const text =
    `This call runs in the background as ${labelOf(callId)}. Its result will be given to you when it is there. ` +
    `Do not call the tool again for it, and do not wait: go on with what does not need it, or tell the user.`;
  return { content: [{ type: "text", text }] };
}

/** The result of such a call, as a message of the conversation. */
export function endedNotice(callId: string, tool: string, args: JsonObject, result: CallToolResult): string {
  const verb = result.isError === true ? "has failed" : "has ended";
  const call = `${tool}(${JSON.stringify(args)})`;
  return `The call ${labelOf(callId)}, ${call}, ${verb}. Its result:\n\n${textOf(result)}`;
}

/** What the messages of a conversation have of a call. */
interface KnownOfCall {
  /** That the call runs in the background is what its model was told. */
  readonly isBackground: boolean;
  /** The model has made it. */
  readonly isCalled: boolean;
  /** It has a result, perhaps that it runs in the background. */
  readonly isAnswered: boolean;
  /** They have the message with its result. */
  readonly isTold: boolean;
}

/**
 * Where messages get the result of a call, so that they have it once however often it comes: as the result of the call, if that has none, otherwise as
 * a message of the user that says which call has ended. Undefined: they have it.
 */
export function placeOf({
  isBackground,
  isCalled,
  isAnswered,
  isTold,
}: KnownOfCall): "call" | "user" | undefined {
  if (isTold || (isAnswered && !isBackground)) return undefined;
  return isCalled && !isAnswered ? "call" : "user";
}

/** Letters and digits that nobody confuses. */
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/** What people and models call it: four characters, which differ within any usual conversation. */
export function labelOf(callId: string): string {
  return [...hash("sha256", callId, "buffer").subarray(0, 4)]
    .map((byte) => alphabet[byte % alphabet.length])
    .join("");
}

/** All parts of a result in order. Structured content stands for content that is empty. */
export function partsOf(result: CallToolResult): readonly ModelPart[] {
  const parts = (result.content as readonly ContentBlock[]).map(partOf);
  if (parts.length > 0 || result.structuredContent === undefined) return parts;
  return [{ type: "text", text: JSON.stringify(result.structuredContent) }];
}

function partOf(block: ContentBlock): ModelPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
    case "audio":
      return fileOf({ mediaType: block.mimeType, data: block.data });
    case "resource_link":
      return { type: "text", text: `${block.title ?? block.name}: ${block.uri}` };
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return { type: "text", text: resource.text };
      return fileOf({ mediaType: resource.mimeType ?? "", data: resource.blob, name: resource.uri });
    }
    default:
      return { type: "text", text: JSON.stringify(block) }; // of a newer protocol
  }
}

type FilePart = Extract<ModelPart, { readonly type: "file" }>;

/** Providers refuse files that are empty, or of no type, and with them the whole conversation. */
function fileOf({ mediaType, ...file }: Omit<FilePart, "type">): ModelPart {
  const part = {
    type: "file",
    mediaType: mediaType === "" ? "application/octet-stream" : mediaType,
    ...file,
  } as const;
  return part.data === "" ? { type: "text", text: labelOfFile(part) } : part;
}

function labelOfFile({ name, mediaType, data }: FilePart): string {
  return `[${name ?? mediaType}, ${sizeOf(data)} bytes]`;
}

/** For models that take text only: says of files what they are. */
export function textOf(result: CallToolResult): string {
  const texts = partsOf(result).map((part) => (part.type === "text" ? part.text : labelOfFile(part)));
  return texts.join("\n");
}

function sizeOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

/** What providers of models take as the name of a tool. */
const longestName = 64;

/** A name that all providers of models take; one that has to be changed stays unique by its hash. */
export function modelName(name: string): string {
  const plain = name.replaceAll(/[^\w-]/g, "_");
  if (plain === name && name.length <= longestName) return name;
  return `${plain.slice(0, longestName - 7)}_${hash("sha256", name, "hex").slice(0, 6)}`;
}
