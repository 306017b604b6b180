/** Reads a file of tools: YAML or JSON, with the values of variables and of other files in it, and says of each mistake where it is. */

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  isCollection,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type Document,
} from "yaml";
import type * as z from "zod/mini";
import { didYouMean } from "../../task/option-names.ts";
import { toolsFile, type ToolsFile } from "./schema.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

/** Where in a file is what is wrong. */
export interface FileProblem {
  /** From 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

type Path = readonly PropertyKey[];

/** A file that was read. */
export interface ReadFile {
  readonly file: ToolsFile;
  /** Where the value at a path is, or what is nearest around it. */
  readonly placeOf: (path: Path) => Omit<FileProblem, "message">;
}

/** A file, or all that is wrong with it. */
export type FileReading = ReadFile | { readonly problems: readonly FileProblem[] };

export function readToolsFile(path: string, env: Variables): FileReading {
  const lines = new LineCounter();
  const text = readFileSync(path, "utf8");
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const placeAt = (offset: number): Omit<FileProblem, "message"> => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (document.errors.length > 0)
    return { problems: document.errors.map(({ pos, message }) => ({ ...placeAt(pos[0]), message })) };
  const problems: FileProblem[] = [];
  expand(document, dirname(path), env, (offset, message) => problems.push({ ...placeAt(offset), message }));
  if (problems.length > 0) return { problems }; // what else is wrong may come of them
  const placeOf = (at: Path): Omit<FileProblem, "message"> => placeAt(offsetOf(document, at));
  const checked = toolsFile.safeParse(document.toJS() ?? {});
  if (checked.success) return { file: checked.data, placeOf };
  for (const issue of checked.error.issues) problems.push(...problemsOf(issue, [], placeOf));
  return { problems: problems.toSorted((a, b) => a.line - b.line || a.column - b.column) };
}

/** Where the key of a path is, or the nearest key around it. */
function offsetOf(document: Document, path: Path): number {
  for (let length = path.length; length > 0; length--) {
    const parent: unknown = document.getIn(path.slice(0, length - 1), true);
    const name = path[length - 1];
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(name))
      : undefined;
    const node: unknown = pair === undefined ? document.getIn(path.slice(0, length), true) : pair.key;
    if ((isScalar(node) || isCollection(node)) && node.range) return node.range[0];
  }
  return 0;
}

/** Puts in the values of `${env:NAME}` and the texts of `${file:PATH}`, whose last line break is left out. */
function expand(
  document: Document,
  folder: string,
  env: Variables,
  onProblem: (offset: number, message: string) => void,
): void {
  visit(document, {
    Scalar(key, node, ancestors) {
      if (key === "key" || typeof node.value !== "string" || !node.value.includes("${")) return;
      const path = ancestors.flatMap((each) =>
        isPair(each) && isScalar(each.key) ? [String(each.key.value)] : [],
      );
      const put = (text: string): string =>
        // What is in a secret is no placeholder of a tool.
        isTemplate(path) ? text.replace(/\{([A-Za-z_][\w-]*(?:\/[^{}\s]*)?)\}/g, "{{$1}}") : text;
      node.value = node.value.replace(/\$\{(env|file):([^}]*)\}/g, (_, kind: string, name: string) => {
        const value = kind === "env" ? env[name] : textIn(resolve(folder, name));
        if (value !== undefined) return put(value);
        const missing =
          kind === "env" ? `The variable ${name} is not set.` : `The file ${name} cannot be read.`;
        onProblem(node.range?.[0] ?? 0, missing);
        return "";
      });
    },
  });
}

/** Where the texts of a tool have placeholders. */
const templates: Readonly<Record<string, readonly string[]>> = {
  command: ["run", "stdin", "env"],
  http: ["url", "query", "headers", "body", "poll", "result", "cancel"],
  approval: ["message"],
};

function isTemplate([top, , kind = "", member]: readonly string[]): boolean {
  if (top !== "tools" || !Object.hasOwn(templates, kind)) return false;
  return member === undefined || (templates[kind]?.includes(member) ?? false);
}

function textIn(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch {
    return undefined;
  }
}

type Issue = z.core.$ZodIssue;

function problemsOf(issue: Issue, before: Path, placeOf: ReadFile["placeOf"]): readonly FileProblem[] {
  const path = [...before, ...issue.path];
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({
      ...placeOf([...path, key]),
      message: `${nameOf(path)} has no ${JSON.stringify(key)}.${didYouMean(key, knownKeys(path))}`,
    }));
  if (issue.code === "invalid_union") {
    // What was meant is the form whose type fits.
    const fitting = issue.errors.filter(
      (each) => !each.some(({ code, path: at }) => code === "invalid_type" && at.length === 0),
    );
    const [first] = fitting.toSorted((a, b) => a.length - b.length);
    if (first !== undefined) return first.flatMap((each) => problemsOf(each, path, placeOf));
  }
  return [{ ...placeOf(path), message: `${nameOf(path)} ${saidOf(issue)}` }];
}

function nameOf(path: Path): string {
  return path.length === 0 ? "The file" : path.map(String).join(".");
}

function saidOf(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing." : `must be of type ${issue.expected}.`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}.`;
    case "invalid_format":
      return `${issue.message.startsWith("must") ? issue.message : "is not valid"}.`;
    default:
      return `is not valid: ${issue.message}.`;
  }
}

/** The names that an object of the schema has at a path. */
function knownKeys(path: Path): readonly string[] {
  let schemas: readonly unknown[] = [toolsFile];
  for (const name of path) schemas = schemas.flatMap((each) => below(each, name));
  return schemas.flatMap((each) => Object.keys(shapeOf(each) ?? {}));
}

interface Definition {
  readonly def?: {
    readonly innerType?: unknown;
    readonly valueType?: unknown;
    readonly options?: readonly unknown[];
    readonly shape?: Readonly<Record<string, unknown>>;
  };
}

function alternatives(schema: unknown): readonly unknown[] {
  const { def } = schema as Definition;
  if (def?.innerType !== undefined) return alternatives(def.innerType);
  return def?.options === undefined ? [schema] : def.options.flatMap(alternatives);
}

function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  return (schema as Definition).def?.shape;
}

function below(schema: unknown, name: PropertyKey): readonly unknown[] {
  return alternatives(schema)
    .flatMap((each) => shapeOf(each)?.[String(name)] ?? (each as Definition).def?.valueType ?? [])
    .flatMap(alternatives);
}
