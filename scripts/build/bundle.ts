import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown, type OutputChunk, type OutputOptions, type Plugin } from "rolldown";

export const root = fileURLToPath(new URL("../../", import.meta.url));
const src = `${root}src/`;
export const dist = `${root}dist/`;

/**
 * Modules of `src` that are loaded without each other, by what a user has of them. Modules that the same of these need are one file, so
 * that a server, a client and a command load few files, and each only what it needs.
 */
const uses: Readonly<Record<string, readonly string[]>> = {
  server: ["index.ts", "http.ts", "stdio.ts"],
  client: ["client.ts"],
  command: ["cli/main.ts"],
  connection: ["client/connect.ts"],
  sqlite: ["sqlite.ts"],
  postgres: ["postgres.ts"],
  memory: ["memory.ts"],
};

/** What only the command line needs, and small libraries, are part of the bundle, so that servers do not install them. */
const bundled =
  /^(?:@clack\/|commander$|fastest-levenshtein$|jsonc-parser$|fast-string-|openid-client$|oauth4webapi$|fast-wrap-|shlex$|sisteransi$|yaml$|ipaddr\.js$|superjson$|zod\/mini$|@noble\/hashes\/|rate-limiter-flexible|@oxc-project\/runtime)/;

/** The library's entry loads the clients of eight databases for the two files that are used. */
const rateLimiterInMemory: Plugin = {
  name: "rate-limiter-in-memory",
  resolveId: (id) => (id === "rate-limiter-flexible" ? "\0rate-limiter-in-memory" : undefined),
  load: (id) =>
    id !== "\0rate-limiter-in-memory"
      ? undefined
      : ["RateLimiterMemory", "RateLimiterRes"]
          .map((name) => `export { default as ${name} } from "rate-limiter-flexible/lib/${name}.js";`)
          .join("\n"),
};

/** The library's main file loads its parts in a way that cannot be bundled. */
const jsoncParserAsModule: Plugin = {
  name: "jsonc-parser-as-module",
  resolveId: (id) => (id === "jsonc-parser" ? `${root}node_modules/jsonc-parser/lib/esm/main.js` : undefined),
};

const sdk = "@modelcontextprotocol/server";

/** Threads need the one class of the SDK that errors are compared with, and not the schemas that come with it. */
const protocolErrorAlone: Plugin = {
  name: "protocol-error-alone",
  resolveId: (id) => (id === sdk ? "\0protocol-error-alone" : undefined),
  load: (id) =>
    id !== "\0protocol-error-alone"
      ? undefined
      : `export class ProtocolError extends Error {
          name = "ProtocolError";
          constructor(code, message, data) {
            super(message);
            this.code = code;
            this.data = data;
          }
        }`,
};

/** A module beside which there is one named `.web.ts` is that one in browsers and workers, which have neither processes nor files. */
const webTwins: Plugin = {
  name: "web-twins",
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith(".")) return undefined;
    const twin = resolve(dirname(importer), source.replace(/\.ts$/, ".web.ts"));
    return existsSync(twin) ? twin : undefined;
  },
};

/** Bundles `src` into one file for each public entry, the files that they share, and threads. */
export async function bundleSources(): Promise<readonly OutputChunk[]> {
  const entries = (await entryNames()).filter((name) => name !== "worker");
  const [shared, web, writer, watchdog, thread] = await Promise.all([
    bundleEntries(Object.fromEntries(entries.map((name) => [name, `${src}${name}.ts`]))),
    // One file: what pages load is one request.
    bundle({ "client-web": `${src}client.ts` }, false, [webTwins], "browser"),
    // Apart, so that a thread loads one file with what it needs.
    bundle({ "writer-worker": `${src}store/sqlite/writer-worker.ts` }, false),
    bundle({ "watchdog-thread": `${src}runtime/watchdog/watchdog-thread.ts` }, false),
    // What authors import on a thread is part of what runs it, so that classes exist once.
    bundle(
      { worker: `${src}worker.ts`, "worker-thread": `${src}runtime/threads/worker-thread.ts` },
      { groups: [{ name: (id) => (/\/(?:worker|worker-thread)\.ts$/.test(id) ? null : "thread") }] },
      [protocolErrorAlone],
    ),
  ]);
  const chunks = [...shared, ...web, ...writer, ...watchdog, ...thread];
  await removeAllBut(new Set(chunks.flatMap(({ fileName }) => [fileName, `${fileName}.map`])));
  return chunks;
}

/** Each file beside the folders of `src` is a public entry. */
export async function entryNames(): Promise<readonly string[]> {
  return (await readdir(src)).filter((name) => name.endsWith(".ts")).map((name) => name.slice(0, -3));
}

async function bundleEntries(input: Record<string, string>): Promise<readonly OutputChunk[]> {
  const shared = new SharedModules();
  // A module's imports are used by whatever uses the module, so files never depend on each other in a circle.
  const groups = [{ debugName: "shared by uses", name: (id: string) => shared.chunkOf(id) }];
  const chunks = await bundle(input, { includeDependenciesRecursively: false, groups }, [shared.plugin]);
  assertEntriesApart(chunks);
  return chunks;
}

async function bundle(
  input: Record<string, string>,
  codeSplitting: NonNullable<OutputOptions["codeSplitting"]>,
  plugins: readonly Plugin[] = [],
  platform: "node" | "browser" = "node",
): Promise<readonly OutputChunk[]> {
  const build = await rolldown({
    input,
    platform,
    external: (id) =>
      !/^[./\0]/.test(id) && !bundled.test(id) && !(id === sdk && plugins.includes(protocolErrorAlone)),
    plugins: [rateLimiterInMemory, jsoncParserAsModule, ...plugins],
    transform: { target: platform === "node" ? "node22.18" : "es2023" },
    treeshake: { moduleSideEffects: (id) => id.endsWith("/require-node.ts") },
    preserveEntrySignatures: "allow-extension",
    checks: { bundlerTimings: false },
    onLog: (level, { message }) => {
      if (level === "warn") throw new Error(message);
    },
  });
  const { output } = await build.write({
    dir: dist,
    chunkFileNames: "chunk-[name].js",
    codeSplitting,
    comments: { legal: false, jsdoc: false, annotation: true },
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await build.close();
  return output.filter((file): file is OutputChunk => file.type === "chunk");
}

/** Which chunk a module belongs to: named for the uses that load it at once. */
class SharedModules {
  readonly #uses = new Map<string, string[]>();
  readonly plugin: Plugin;

  constructor() {
    const found = this.#uses;
    this.plugin = {
      name: "shared-modules",
      buildEnd() {
        for (const [use, roots] of Object.entries(uses)) {
          const seen = new Set(roots.map((name) => src + name));
          for (const id of seen) {
            found.set(id, [...(found.get(id) ?? []), use]);
            for (const imported of this.getModuleInfo(id)?.importedIds ?? []) seen.add(imported);
          }
        }
      },
    };
  }

  chunkOf(id: string): string | null {
    const isEntry = id.startsWith(src) && !id.slice(src.length).includes("/");
    return isEntry ? null : (this.#uses.get(id)?.join("-") ?? null);
  }
}

/** An entry that another file imported would export more than its source does. */
function assertEntriesApart(chunks: readonly OutputChunk[]): void {
  const entries = new Set(chunks.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName));
  for (const { fileName, imports, dynamicImports } of chunks) {
    const entry = [...imports, ...dynamicImports].find((imported) => entries.has(imported));
    if (entry !== undefined) throw new Error(`${fileName} imports the entry ${entry}.`);
  }
}

/** Removes scripts of an earlier build, without which nothing changes under those that run meanwhile. */
async function removeAllBut(names: ReadonlySet<string>): Promise<void> {
  const scripts = (await readdir(dist)).filter((name) => /\.js(?:\.map)?$/.test(name));
  await Promise.all(scripts.filter((name) => !names.has(name)).map((name) => rm(`${dist}${name}`)));
}
