import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { UsageError } from "../usage-error.ts";

/** One server in a host's config file, with its variables not yet filled in. */
export type HostEntry =
  | {
      readonly kind: "process";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | undefined;
    }
  | { readonly kind: "http"; readonly url: string; readonly headers: Readonly<Record<string, string>> };

const httpTypes: ReadonlySet<unknown> = new Set([undefined, "http", "streamable-http", "streamableHttp"]);

/** `where` names the entry in what is thrown about it. */
export function readHostEntry(value: unknown, where: string): HostEntry {
  if (!isJsonObject(value)) throw new UsageError(`${where}: it has to be an object.`);
  const { type, command, url } = value;
  if (type === "sse") {
    throw new UsageError(`${where}: the HTTP+SSE transport of 2024-11-05 is not spoken here, only "http".`);
  }
  if (typeof url === "string" && command === undefined && httpTypes.has(type)) {
    return { kind: "http", url, headers: texts(value, "headers", where) };
  }
  if (typeof command === "string" && url === undefined && (type === undefined || type === "stdio")) {
    const { args = [], cwd } = value;
    if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) {
      throw new UsageError(`${where}: "args" has to be a list of strings.`);
    }
    if (cwd !== undefined && typeof cwd !== "string") {
      throw new UsageError(`${where}: "cwd" has to be a string.`);
    }
    return { kind: "process", command, args, env: texts(value, "env", where), cwd };
  }
  throw new UsageError(`${where}: it needs either "command" (type "stdio") or "url" (type "http").`);
}

function texts(entry: JsonObject, name: string, where: string): Record<string, string> {
  const value = entry[name] ?? {};
  if (!isJsonObject(value)) throw new UsageError(`${where}: "${name}" has to be an object of strings.`);
  const found: [string, string][] = Object.entries(value).map(([key, text]) => {
    if (typeof text === "string") return [key, text];
    throw new UsageError(`${where}: "${name}.${key}" has to be a string.`);
  });
  return Object.fromEntries(found);
}
