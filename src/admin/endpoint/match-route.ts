import { HoldfastError } from "../../task/fault.ts";
import { routes, type AdminRoute } from "./routes.ts";

/** The route of a path with the name in it, or the methods that the path supports instead. */
export type Match =
  { readonly route: AdminRoute; readonly name: string } | { readonly allowed: readonly string[] };

const split = routes.map((route) => ({ route, segments: route.path.split("/") }));

/** `path` is relative to the endpoint, as sent; undefined if there is no such path. Throws `invalid_params` for a name that is not text. */
export function matchRoute(method: string, path: string): Match | undefined {
  const given = path.split("/");
  const found = split.filter(({ segments }) => isAt(given, segments));
  const hit = found.find(({ route }) => route.method === method);
  if (hit !== undefined) return { route: hit.route, name: nameIn(given, hit.segments) };
  return found.length === 0 ? undefined : { allowed: found.map(({ route }) => route.method) };
}

function isAt(given: readonly string[], segments: readonly string[]): boolean {
  return (
    given.length === segments.length &&
    segments.every((segment, place) => (isName(segment) ? given[place] !== "" : segment === given[place]))
  );
}

function nameIn(given: readonly string[], segments: readonly string[]): string {
  const encoded = given[segments.findIndex(isName)] ?? "";
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw new HoldfastError("invalid_params", "A name in the path is not percent-encoded UTF-8.");
  }
}

function isName(segment: string): boolean {
  return segment.startsWith("{");
}
