import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { HttpRequest } from "../http/send.ts";
import type { OpenApiDocument, Schemas } from "./document.ts";

/** How the body of a request is written. */
export interface Body {
  readonly mediaType: string;
  readonly isRequired: boolean;
  /** What of it callers give. */
  readonly schema: unknown;
  readonly write: (value: unknown, boundary: string) => Pick<HttpRequest, "headers" | "body">;
}

/** In the order of preference. */
const writers: readonly {
  readonly accepts: RegExp;
  readonly kind: "json" | "form" | "multipart" | "text" | "bytes";
}[] = [
  { accepts: /^application\/(?:[\w.+-]*\+)?json\b/iu, kind: "json" },
  { accepts: /^multipart\/form-data\b/iu, kind: "multipart" },
  { accepts: /^application\/x-www-form-urlencoded\b/iu, kind: "form" },
  { accepts: /^text\//iu, kind: "text" },
  {
    accepts: /^(?:application\/octet-stream|image\/|audio\/|video\/|application\/(?:zip|pdf|gzip))/iu,
    kind: "bytes",
  },
  { accepts: /^\*\/\*$/u, kind: "json" },
];

const fileDescription = "The content of the file, as base64.";

/** The body of an operation; undefined if it has none. Throws if it is of no media type that is supported. */
export function readBody(document: OpenApiDocument, given: unknown, schemas: Schemas): Body | undefined {
  if (given === undefined) return undefined;
  const { content, required, description } = document.object(given);
  const media = isJsonObject(content) ? content : {};
  const isRequired = required === true;
  for (const { accepts, kind } of writers) {
    const mediaType = Object.keys(media).find((type) => accepts.test(type));
    if (mediaType === undefined) continue;
    const { schema: own, encoding } = document.object(media[mediaType]);
    const said = typeof description === "string" ? { description } : {};
    switch (kind) {
      case "json": {
        const type = mediaType === "*/*" ? "application/json" : mediaType;
        const write = (value: unknown) => ({
          headers: { "content-type": type },
          body: JSON.stringify(value),
        });
        return { mediaType, isRequired, schema: withDescription(schemas.of(own), said), write };
      }
      case "text": {
        const write = (value: unknown) => ({ headers: { "content-type": mediaType }, body: textOf(value) });
        return { mediaType, isRequired, schema: { type: "string", ...said }, write };
      }
      case "bytes": {
        const schema = { type: "string", contentEncoding: "base64", description: fileDescription };
        const write = (value: unknown) => ({
          headers: { "content-type": mediaType },
          body: new Uint8Array(Buffer.from(textOf(value), "base64")),
        });
        return { mediaType, isRequired, schema, write };
      }
      case "form":
      case "multipart": {
        const files = filesOf(document, own);
        const schema = withFiles(schemas.of(document.resolve(own)), files);
        const types = isJsonObject(encoding) ? encoding : {};
        const write = (value: unknown, boundary: string) => {
          const fields = isJsonObject(value) ? value : {};
          return kind === "form" ? form(fields) : multipart(fields, files, types, boundary);
        };
        return { mediaType, isRequired, schema: withDescription(schema, said), write };
      }
    }
  }
  throw new Error(`a body of ${Object.keys(media).join(", ") || "no media type"} is not supported`);
}

function withDescription(schema: unknown, said: JsonObject): unknown {
  return isJsonObject(schema) ? { ...said, ...schema } : schema;
}

/** The fields that are files. */
function filesOf(document: OpenApiDocument, schema: unknown): ReadonlySet<string> {
  const { properties } = document.object(schema);
  const isFile = (given: unknown): boolean => {
    const { type, format, contentMediaType, items } = document.object(given);
    if (type === "array") return isFile(items);
    return format === "binary" || contentMediaType === "application/octet-stream";
  };
  const entries = isJsonObject(properties) ? Object.entries(properties) : [];
  return new Set(entries.filter(([, given]) => isFile(given)).map(([name]) => name));
}

function withFiles(schema: unknown, files: ReadonlySet<string>): unknown {
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) return schema;
  const properties = Object.entries(schema["properties"]).map(([name, own]) => {
    if (!files.has(name)) return [name, own] as const;
    const file = { type: "string", contentEncoding: "base64", description: fileDescription };
    const isList = isJsonObject(own) && own["type"] === "array";
    return [name, isList ? { type: "array", items: file } : file] as const;
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

function form(fields: JsonObject): Pick<HttpRequest, "headers" | "body"> {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value]) body.append(name, textOf(each));
  return { headers: { "content-type": "application/x-www-form-urlencoded" }, body: body.toString() };
}

function multipart(
  fields: JsonObject,
  files: ReadonlySet<string>,
  encoding: JsonObject,
  boundary: string,
): Pick<HttpRequest, "headers" | "body"> {
  const parts: Buffer[] = [];
  for (const [name, value] of Object.entries(fields)) {
    const isFile = files.has(name);
    const own = encoding[name];
    const said = isJsonObject(own) && typeof own["contentType"] === "string" ? own["contentType"] : undefined;
    for (const each of Array.isArray(value) ? value : [value]) {
      const type =
        said ?? (isFile ? "application/octet-stream" : isJsonObject(each) ? "application/json" : undefined);
      const quoted = name.replaceAll('"', "%22").replaceAll(/[\r\n]/gu, " ");
      const lines = [
        `--${boundary}`,
        `content-disposition: form-data; name="${quoted}"${isFile ? `; filename="${quoted}"` : ""}`,
        ...(type === undefined ? [] : [`content-type: ${type}`]),
        "",
        "",
      ];
      parts.push(Buffer.from(lines.join("\r\n")));
      parts.push(isFile ? Buffer.from(textOf(each), "base64") : Buffer.from(textOf(each)));
      parts.push(Buffer.from("\r\n"));
    }
  }
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
  return { headers, body: new Uint8Array(Buffer.concat(parts)) };
}

/** Where a parameter is in the request. */
export type ParameterPlace = "path" | "query" | "header" | "cookie";

export interface Parameter {
  readonly place: ParameterPlace;
  readonly name: string;
  /** Its name among the arguments of the tool. */
  readonly argument: string;
  readonly style: string;
  readonly explode: boolean;
  /** Whether characters with a meaning in addresses stay as they are. */
  readonly allowReserved: boolean;
  /** It is written as JSON. */
  readonly isJson: boolean;
}

const defaultStyle: Readonly<Record<ParameterPlace, string>> = {
  path: "simple",
  query: "form",
  header: "simple",
  cookie: "form",
};

const styles: Readonly<Record<ParameterPlace, readonly string[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};

/** A parameter of a document. Throws what of it is not supported. */
export function readParameter(given: JsonObject, argument: string): Parameter {
  const { name, in: place, content } = given;
  if (typeof name !== "string" || !isPlace(place))
    throw new Error("a parameter has no name, or no place that is known");
  const style = typeof given["style"] === "string" ? given["style"] : defaultStyle[place];
  if (!styles[place].includes(style))
    throw new Error(`the style "${style}" of parameter ${name} is not supported`);
  const explode =
    typeof given["explode"] === "boolean" ? given["explode"] : style === "form" || style === "deepObject";
  const media = isJsonObject(content) ? Object.keys(content) : [];
  const isJson = media.length > 0;
  if (isJson && !media.some((type) => /[/+]json\b/u.test(type)))
    throw new Error(`parameter ${name} is of ${media.join(", ")}, which is not supported`);
  return { place, name, argument, style, explode, isJson, allowReserved: given["allowReserved"] === true };
}

function isPlace(given: unknown): given is ParameterPlace {
  return typeof given === "string" && Object.hasOwn(defaultStyle, given);
}

/** A path parameter in its place. */
export function inPath(parameter: Parameter, value: unknown): string {
  const { name, style, explode } = parameter;
  const separator = style === "label" ? "." : style === "matrix" ? ";" : ",";
  const encode = (text: string): string => encodeURIComponent(text);
  const pairs = membersOf(parameter, value);
  const isList = Array.isArray(value);
  if (style === "matrix") {
    if (isList && explode) return pairs.map(([, each]) => `;${name}=${encode(each)}`).join("");
    if (isJsonObject(value) && explode)
      return pairs.map(([key, each]) => `;${encode(key)}=${encode(each)}`).join("");
    return `;${name}=${joined(pairs, isJsonObject(value), ",", encode)}`;
  }
  const isExploded = isJsonObject(value) && explode && !parameter.isJson;
  const text = isExploded
    ? pairs.map(([key, each]) => `${encode(key)}=${encode(each)}`).join(separator)
    : joined(pairs, isJsonObject(value) && !parameter.isJson, explode ? separator : ",", encode);
  return style === "label" ? `.${text}` : text;
}

/** The pairs of a query, or of cookies, that a parameter becomes; they are encoded already. */
export function inQuery(parameter: Parameter, value: unknown): readonly string[] {
  const { name, style, explode, allowReserved, isJson } = parameter;
  const encode = (text: string): string =>
    allowReserved ? encodeURI(text).replaceAll(/[#&+]/gu, encodeURIComponent) : encodeURIComponent(text);
  const pairs = membersOf(parameter, value);
  const key = encodeURIComponent(name);
  if (isJson) return [`${key}=${encode(JSON.stringify(value))}`];
  if (isJsonObject(value)) {
    if (style === "deepObject")
      return pairs.map(([each, text]) => `${key}[${encodeURIComponent(each)}]=${encode(text)}`);
    if (explode) return pairs.map(([each, text]) => `${encodeURIComponent(each)}=${encode(text)}`);
    return [`${key}=${joined(pairs, true, ",", encode)}`];
  }
  if (!Array.isArray(value)) return [`${key}=${encode(textOf(value))}`];
  if (explode && style === "form") return pairs.map(([, text]) => `${key}=${encode(text)}`);
  const separator = style === "spaceDelimited" ? "%20" : style === "pipeDelimited" ? "%7C" : ",";
  return [`${key}=${joined(pairs, false, separator, encode)}`];
}

export function inHeader(parameter: Parameter, value: unknown): string {
  if (parameter.isJson) return JSON.stringify(value);
  const pairs = membersOf(parameter, value);
  if (!isJsonObject(value)) return pairs.map(([, text]) => text).join(",");
  return pairs.map(([key, text]) => (parameter.explode ? `${key}=${text}` : `${key},${text}`)).join(",");
}

/** The members of a list or an object as texts; of anything else, itself. */
function membersOf({ isJson }: Parameter, value: unknown): readonly (readonly [string, string])[] {
  if (isJson) return [["", JSON.stringify(value)]];
  if (Array.isArray(value)) return value.map((each) => ["", textOf(each)] as const);
  if (isJsonObject(value)) return Object.entries(value).map(([key, each]) => [key, textOf(each)] as const);
  return [["", textOf(value)]];
}

function joined(
  pairs: readonly (readonly [string, string])[],
  isObject: boolean,
  separator: string,
  encode: (text: string) => string,
): string {
  return pairs
    .map(([key, text]) => (isObject ? `${encode(key)}${separator}${encode(text)}` : encode(text)))
    .join(separator);
}

/** A value as text; what is inside of it as JSON. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
