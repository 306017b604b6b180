import type { CallToolResult } from "@modelcontextprotocol/server";
import { tableOf, text } from "../../options/options.ts";
import { isMimeType } from "../../task/artifact.ts";
import type { StructuredContent, ToolSchema } from "./schema.ts";

class DeclaredArtifactOptions {
  /** The media type. Default `text/plain` for a string, otherwise `application/octet-stream`. */
  readonly mimeType?: string = text('a media type, such as "text/csv"', isMimeType, {});
}

/** Options of `task.artifact`. */
export interface ArtifactOptions extends DeclaredArtifactOptions {}

export const artifactOptions = tableOf<ArtifactOptions>(DeclaredArtifactOptions);

/** The content of an artifact: all of it, or what gives it part by part, such as a stream of Node, of the web, or of `fs`. */
export type ArtifactData = string | Uint8Array | Blob | AsyncIterable<string | Uint8Array>;

/** The same, or a function that returns it, which is not called if the artifact is already stored. */
export type ArtifactSource = ArtifactData | (() => ArtifactData | Promise<ArtifactData>);

/** What a handler may return, and what tells an author at compile time that it does not. */

type Schema = ToolSchema | undefined;

/**
 * What a handler returns: a tool result, or what becomes one. With an output schema that is the structured content, which is checked
 * against the schema. Without one it is a text, or plain data, which becomes a text as JSON.
 */
export type HandlerReturn<Output extends Schema = undefined> =
  CallToolResult | ([Output] extends [undefined] ? PlainData : StructuredContent<Output>);

/** JSON data that cannot be taken for a tool result. */
export type PlainData = string | number | boolean | readonly (PlainData | null)[] | PlainObject;

interface PlainObject {
  readonly [name: string]: PlainData | null | undefined;
  readonly content?: never;
  readonly structuredContent?: never;
  readonly isError?: never;
  readonly _meta?: never;
}

/** Anything, with the literals that a tool result has: what is returned is typed by itself, and then checked. */
export type Returnable = CallToolResult | PlainData | object | null | undefined | void;

/** `unknown` for what a handler may return; otherwise a type that no handler has, whose name says what is wrong. */
export type ReturnCheck<Returned, Output extends Schema> = [Returned] extends [never]
  ? unknown
  : [ReturnProblem<Returned, Output>] extends [never]
    ? unknown
    : { readonly [Problem in ReturnProblem<Returned, Output>]: never };

type ReturnProblem<Returned, Output extends Schema> = [Output] extends [undefined]
  ? [Returnable] extends [Returned]
    ? never
    : [Returned] extends [CallToolResult | PlainData]
      ? never
      : "a handler returns a tool result, a text or plain data"
  : unknown extends StructuredContent<Output>
    ? never
    : StructuredProblem<Returned, ReadOnly<StructuredContent<Output>>>;

/** With members that may be read-only: they are only read. */
type ReadOnly<Value> = unknown extends Value
  ? unknown
  : { readonly [Name in keyof Value]: ReadOnly<Value[Name]> };

type StructuredProblem<Returned, Structured> = Returned extends { readonly isError: true }
  ? never
  : IsResult<Returned> extends true
    ? Returned extends { readonly structuredContent: infer Given }
      ? ContentProblem<Given, Structured>
      : MissingStructured<Returned>
    : ContentProblem<Returned, Structured>;

/** Whether it has a member that only results have. */
type IsResult<Returned> = Returned extends
  | { readonly structuredContent: unknown }
  | { readonly content: readonly { readonly type: CallToolResult["content"][number]["type"] }[] }
  ? true
  : false;

/** A result of the SDK's own type may have structured content. */
type MissingStructured<Returned> = string extends keyof Returned
  ? never
  : "the tool has an outputSchema: return its structuredContent, or isError: true";

type ContentProblem<Given, Structured> = unknown extends Given
  ? Misfit
  : Given extends Structured
    ? Unknown<Exclude<SetKeys<Given>, KeysOf<Structured>>>
    : Given extends object
      ? string extends keyof Given
        ? never // of any members: only a run can tell
        : [MemberProblem<Given, Structured>] extends [never]
          ? Misfit
          : MemberProblem<Given, Structured>
      : Misfit;

type Misfit = "what the handler returns does not fit the outputSchema";

/** The members of an object that are not just left out. */
type SetKeys<Given> = Given extends readonly unknown[]
  ? never
  : Given extends object
    ? { [Name in keyof Given]-?: [Given[Name]] extends [undefined] ? never : Name }[keyof Given]
    : never;

type KeysOf<Structured> = Structured extends unknown ? keyof Structured : never;

type Unknown<Name> = [Name] extends [never]
  ? never
  : `the outputSchema has no "${Extract<Name, string>}", which the handler returns`;

type MemberProblem<Given, Structured> = {
  [Name in keyof Structured]-?: Name extends keyof Given
    ? Given[Name] extends Structured[Name]
      ? never
      : `the handler's "${Extract<Name, string>}" does not fit the outputSchema`
    : undefined extends Structured[Name]
      ? never
      : `the handler does not return "${Extract<Name, string>}", which the outputSchema requires`;
}[keyof Structured];
