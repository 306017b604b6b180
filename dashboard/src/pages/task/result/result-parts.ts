import { seemsMarkdown } from "../../../parts/markdown/blocks.ts";

/** A part of a result or a file, and as what it is shown. */
export type ResultPart =
  | { readonly shown: "text" | "markdown"; readonly text: string; readonly label: string }
  | { readonly shown: "image"; readonly src: string; readonly mimeType: string }
  | { readonly shown: "json"; readonly value: unknown; readonly label: string };

type Kind = ResultPart["shown"];

/** As what each type is shown. Browsers run no script in these images. Pages, SVG and all other types are data to save. */
const kinds: ReadonlyMap<string, Kind> = new Map([
  ["image/png", "image"],
  ["image/jpeg", "image"],
  ["image/gif", "image"],
  ["image/webp", "image"],
  ["text/markdown", "markdown"],
  ["text/plain", "text"],
  ["text/csv", "text"],
  ["application/json", "json"],
]);
const base64 = /^[A-Za-z0-9+/\s]+(?:=\s*){0,2}$/;

/** Longer ones are shown as they were written. */
const mostMarkdown = 200_000;

/** As what a file of this type is shown; undefined: not at all. */
export function kindOf(mimeType: string): Kind | undefined {
  const [type = ""] = mimeType.toLowerCase().split(";");
  return kinds.get(type.trim()) ?? (type.trim().endsWith("+json") ? "json" : undefined);
}

/** A task's outcome: the content of a result block by block, and anything else as JSON. */
export function partsOf(body: unknown): readonly ResultPart[] {
  if (typeof body === "string") return [textPart(body)];
  if (!isObject(body) || !Array.isArray(body["content"])) return [json(body, "Result")];
  const { content, structuredContent, isError: _, ...others } = body;
  return [
    ...(content as readonly unknown[]).map(blockPart),
    ...(structuredContent === undefined ? [] : [json(structuredContent, "Structured content")]),
    ...(Object.keys(others).length === 0 ? [] : [json(others, "Other fields")]),
  ];
}

/** A content block of a result or an output. */
export function blockPart(block: unknown): ResultPart {
  if (!isObject(block)) return json(block, "Content");
  const { type, text, data, mimeType, resource, ...others } = block;
  const isPlain = Object.keys(others).length === 0;
  if (type === "text" && typeof text === "string" && isPlain) return textPart(text);
  const image = type === "image" ? imagePart(mimeType, data) : undefined;
  const embedded = type === "resource" && isPlain && isObject(resource) ? resourcePart(resource) : undefined;
  return image ?? embedded ?? json(block, typeof type === "string" ? `Content of type ${type}` : "Content");
}

function resourcePart({
  uri,
  mimeType,
  text,
  blob,
}: Readonly<Record<string, unknown>>): ResultPart | undefined {
  if (typeof text !== "string") return imagePart(mimeType, blob);
  const kind = typeof mimeType === "string" ? kindOf(mimeType) : undefined;
  return textPart(text, { label: typeof uri === "string" ? uri : "Resource", kind: kind ?? "text" });
}

export function imagePart(mimeType: unknown, data: unknown): ResultPart | undefined {
  if (typeof mimeType !== "string" || typeof data !== "string") return undefined;
  if (kindOf(mimeType) !== "image" || !base64.test(data)) return undefined;
  return { shown: "image", src: `data:${mimeType};base64,${data}`, mimeType };
}

/** A text as what it is known to be, or else seems to be. */
export function textPart(
  text: string,
  { label = "Text", kind }: { readonly label?: string; readonly kind?: Kind } = {},
): ResultPart {
  const value = kind === undefined || kind === "json" ? jsonIn(text) : undefined;
  if (value !== undefined) return json(value, label === "Text" ? "JSON" : label);
  const isMarkdown = kind === "markdown" || (kind === undefined && seemsMarkdown(text));
  return { shown: isMarkdown && text.length <= mostMarkdown ? "markdown" : "text", text, label };
}

/** An object or a list; undefined for other texts, and for numbers that would change. */
function jsonIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text) || /\d{16}|\d[eE]/.test(text)) return undefined;
  try {
    const value = JSON.parse(text) as object;
    JSON.stringify(value, null, 2); // throws for what is too deep to be shown
    return value;
  } catch {
    return undefined;
  }
}

function json(value: unknown, label: string): ResultPart {
  return { shown: "json", value, label };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
