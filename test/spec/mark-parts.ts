import { fileURLToPath } from "node:url";
import type { Plugin } from "vitest/config";
import type { Part } from "./driven.ts";

const driven = fileURLToPath(new URL("./driven.ts", import.meta.url));

/** The first that fits a file. */
const parts: readonly [path: RegExp, part?: Part][] = [
  [/\/src\/client\/(?:session\/receiver\/|[\w-]+\/received-tasks\.ts)/, "clientAsReceiver"],
  [/\/src\/(?:client|cli)\//, "client"],
  [/\/src\/server\/connection\/client-task\.ts/, "serverAsRequestor"],
  [/\/src\/(?:server|sdk-v1)\//, "server"],
  [/\/src\/runtime\//, "runtime"],
];

/**
 * Has every function of client and server note that it ran, so that what a test drives is known from what it ran and
 * not from where it stands or what it says.
 */
export function markParts(): Plugin {
  return {
    name: "mark-parts",
    enforce: "post",
    transform(code, id) {
      const part = parts.find(([path]) => path.test(id))?.[1];
      if (part === undefined) return;
      const places = bodies(this.parse(code)).toSorted((one, other) => one - other);
      const ends = [...places.slice(1), code.length];
      const marked = places.map((place, i) => `$driven.${part}=true;${code.slice(place, ends[i])}`);
      // On the first line, so that lines keep their numbers.
      const record = `import { driven as $driven } from ${JSON.stringify(driven)};`;
      return { code: record + code.slice(0, places[0]) + marked.join(""), map: null };
    },
  };
}

/** Where the bodies of all functions under `node` begin. */
function bodies(node: unknown): number[] {
  if (typeof node !== "object" || node === null) return [];
  const inner = Object.values(node).flatMap(bodies);
  const { type, body } = node as { type?: unknown; body?: { type?: unknown; start: number } };
  const isFunction = typeof type === "string" && type.includes("Function");
  return isFunction && body?.type === "BlockStatement" ? [body.start + 1, ...inner] : inner;
}
