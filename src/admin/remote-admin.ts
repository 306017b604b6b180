import { HoldfastError } from "../task/fault.ts";
import { parametersOf } from "./endpoint/request.ts";
import { invalid, methodsOf, type Input, type Operation } from "./operation.ts";
import { acts, reads, type Admin, type AdminActs, type AdminReads } from "./operations.ts";
import { Endpoint, type RemoteAdminOptions } from "./remote-endpoint.ts";

/**
 * The `Admin` of a server, through its admin endpoint. The endpoint records actions under its own name for the token, whatever name you
 * pass to `as`. Rejects as the server's own `Admin` does, with `unauthenticated` and `insufficient_scope` for a token that is not accepted
 * or may only read, and with `store_failed` if the server does not answer. Throws `configuration` for an invalid URL or token.
 *
 * ```ts
 * const admin = remoteAdmin("https://reports.example.com/admin", { token });
 * const { tasks } = await admin.list({ states: ["failed"], tool: "publish_report" });
 * ```
 */
export function remoteAdmin(url: string, options: RemoteAdminOptions): Admin {
  const endpoint = new Endpoint(url, options);
  const run = (operation: Operation, input: Input, signal?: AbortSignal): unknown => {
    const path = pathOf(operation, input);
    if (operation.isStream === true) return endpoint.follow(path, signal);
    if (operation.method === "POST") return endpoint.ask("POST", path, bodyOf(operation, input));
    return endpoint.ask(operation.method, `${path}${queryOf(operation, input)}`);
  };
  const actor = methodsOf<AdminActs>(acts, run);
  return { ...methodsOf<AdminReads>(reads, run), as: () => actor };
}

function pathOf({ path }: Operation, input: Input): string {
  return path.slice(1).replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, String(input[name])));
}

/** URLs drop these segments, encoded or not. */
function segment(name: string, value: string): string {
  if (value !== "" && value !== "." && value !== ".." && value.isWellFormed())
    return encodeURIComponent(value);
  if (name === "id") throw new HoldfastError("unknown_task", `There is no task ${value}.`);
  throw invalid(`The name ${JSON.stringify(value)} cannot be sent in a URL.`);
}

function bodyOf({ path }: Operation, input: Input): object {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !path.includes(`{${name}}`)));
}

function queryOf(operation: Operation, input: Input): string {
  const search = new URLSearchParams();
  for (const { name, of, isNull = false } of parametersOf(operation)) {
    const value = input[of];
    if (value === undefined || (value === null) !== isNull) continue;
    const values: readonly unknown[] = Array.isArray(value) ? value : [isNull ? true : value];
    if (values.length === 0) throw invalid(`${of} is empty. Leave it out to select all ${of}.`);
    for (const each of values) search.append(name, String(each));
  }
  return search.size === 0 ? "" : `?${search.toString()}`;
}
