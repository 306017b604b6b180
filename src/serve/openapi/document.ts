import { readFile } from "node:fs/promises";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Sender } from "../http/send.ts";

/** The largest document that is read, in bytes. */
const maxBytes = 32 * 1024 ** 2;
const loadMs = 30_000;

/** An OpenAPI document, of 3.0 or 3.1. */
export class OpenApiDocument {
  readonly root: JsonObject;
  readonly is30: boolean;
  /** Where it came from, if from an address. */
  readonly url: string | undefined;

  constructor(what: string, root: unknown, url?: string) {
    if (!isJsonObject(root)) throw notOne(what, "it is no object");
    const { openapi: version } = root;
    if (root["swagger"] !== undefined)
      throw notOne(what, "it is of Swagger 2.0, which has to be converted to OpenAPI 3 first");
    if (typeof version !== "string" || !/^3\.[01]\./u.test(version))
      throw notOne(what, `its member "openapi" is ${JSON.stringify(version)}, not 3.0 or 3.1`);
    this.root = root;
    this.is30 = version.startsWith("3.0");
    this.url = url;
  }

  /** What a reference refers to, within the document; anything else is itself. Throws for a reference to nothing. */
  resolve(value: unknown): unknown {
    let at = value;
    for (let depth = 0; isJsonObject(at) && typeof at["$ref"] === "string"; depth++) {
      const ref = at["$ref"];
      if (!ref.startsWith("#/")) throw new Error(`it refers to ${ref}, which is outside of the document`);
      if (depth > 100) throw new Error(`${ref} refers to itself`);
      at = this.#at(ref);
      if (at === undefined) throw new Error(`it refers to ${ref}, which does not exist`);
    }
    return at;
  }

  object(value: unknown): JsonObject {
    const found = this.resolve(value);
    return isJsonObject(found) ? found : {};
  }

  #at(ref: string): unknown {
    const path = ref.slice(2).split("/");
    return path.reduce<unknown>((at, step) => {
      const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      const inside = Array.isArray(at) || isJsonObject(at) ? (at as Readonly<Record<string, unknown>>) : {};
      return Object.hasOwn(inside, name) ? inside[name] : undefined;
    }, this.root);
  }
}

/** Reads a document: one that was parsed already, or the path or address of one in JSON or YAML. Rejects with `configuration`. */
export async function loadDocument(
  what: string,
  given: string | Readonly<Record<string, unknown>>,
  sender: Sender,
): Promise<OpenApiDocument> {
  if (typeof given !== "string") return new OpenApiDocument(what, given);
  const isAddress = /^https?:\/\//iu.test(given);
  let text: string;
  try {
    text = isAddress ? await download(given, sender) : await readFile(given, "utf8");
  } catch (cause) {
    throw notOne(what, cause instanceof Error ? cause.message : String(cause), cause);
  }
  return new OpenApiDocument(what, await parse(what, text), isAddress ? given : undefined);
}

async function download(url: string, sender: Sender): Promise<string> {
  const request = { method: "GET", url, headers: { accept: "application/json, application/yaml" } };
  const { status, text, isLarge } = await sender.send(request, {
    maxBytes,
    signal: new AbortController().signal,
    timeoutMs: loadMs,
  });
  if (isLarge === true) throw new Error(`it has more than ${maxBytes} bytes`);
  if (status !== 200 || text === undefined) throw new Error(`${url} was answered with HTTP ${status}`);
  return text;
}

async function parse(what: string, text: string): Promise<unknown> {
  try {
    if (text.trimStart().startsWith("{")) return JSON.parse(text);
    const { parse: parseYaml } = await import("yaml");
    return parseYaml(text);
  } catch (cause) {
    throw notOne(what, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function notOne(what: string, why: string, cause?: unknown): HoldfastError {
  const message = `${what}: the OpenAPI document cannot be used: ${why}.`;
  return new HoldfastError("configuration", message, { cause });
}
