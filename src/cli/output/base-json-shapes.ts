import type {
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from "@modelcontextprotocol/client";
import type { ServerJson } from "./json-shapes.ts";

/** What `resources --json` prints: each as the server sent it. */
export interface ResourcesJson {
  readonly server: ServerJson;
  readonly resources: readonly Resource[];
  readonly resourceTemplates: readonly ResourceTemplateType[];
}

/** What `read --json` prints. */
export interface ReadJson {
  /** As it was given. */
  readonly server: string;
  readonly uri: string;
  /** As the server sent it. */
  readonly result: ReadResourceResult;
  /** With `--save`: the files. */
  readonly saved?: readonly string[];
}

/** What `prompts --json` prints: each as the server sent it. */
export interface PromptsJson {
  readonly server: ServerJson;
  readonly prompts: readonly Prompt[];
}

/** What `prompt --json` prints. */
export interface PromptJson {
  /** As it was given. */
  readonly server: string;
  readonly prompt: string;
  /** As the server sent it. */
  readonly result: GetPromptResult;
  /** With `--save`: the files. */
  readonly saved?: readonly string[];
}

/** What `complete --json` prints. */
export interface CompleteJson {
  readonly values: readonly string[];
  /** The total; missing if the server does not report it. */
  readonly total?: number;
  readonly hasMore: boolean;
}

/** What `ping --json` prints. */
export interface PingJson {
  readonly server: ServerJson;
  readonly protocolVersion: string;
  /** Milliseconds until connected, and then until answered. */
  readonly connectMs: number;
  readonly pingMs: number;
}
