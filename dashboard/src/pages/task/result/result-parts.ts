/** A part of a result, and whether it is shown as text, as an image, or as JSON. */
export type ResultPart =
  | { readonly shown: "text"; readonly text: string }
  | { readonly shown: "image"; readonly src: string; readonly mimeType: string }
  | { readonly shown: "json"; readonly value: unknown; readonly label: string };

/** Image types in which browsers run no script. */
const imageTypes: readonly unknown[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const base64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

/** A task's outcome: the content of a result block by block, and anything else as JSON. */
export function partsOf(body: unknown): readonly ResultPart[] {
  if (typeof body === "string") return [{ shown: "text", text: body }];
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
  const { type, text, data, mimeType, ...others } = block;
  const isPlain = Object.keys(others).length === 0;
  if (type === "text" && typeof text === "string" && isPlain) return { shown: "text", text };
  if (
    type === "image" &&
    typeof data === "string" &&
    typeof mimeType === "string" &&
    imageTypes.includes(mimeType) &&
    base64.test(data)
  )
    return { shown: "image", src: `data:${mimeType};base64,${data}`, mimeType };
  return json(block, typeof type === "string" ? `Content of type ${type}` : "Content");
}

function json(value: unknown, label: string): ResultPart {
  return { shown: "json", value, label };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
