import { isJsonObject, type JsonObject } from "../../generation/message.ts";

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
