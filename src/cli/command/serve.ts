import { access, readFile, writeFile, constants } from "node:fs/promises";
import { resolve, dirname } from "node:path";
import { split } from "shlex";
import { type ServedPlace, settingsOf } from "../../serve/file/serve-file.ts";
import type { SourceTool, Finding, ToolSource } from "../../serve/source.ts";
import { HoldfastError } from "../../task/fault.ts";
import { readInputSchema } from "../arguments/input-schema.ts";
import { didYouMean } from "../arguments/words.ts";
import { completeArguments, parseArguments, readPairs } from "../arguments/parse-arguments.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, interruptedBy, UsageError } from "../errors.ts";
import { aborted, watchSignals } from "../terminal/signal-watch.ts";
import { packageRoot } from "../io.ts";
import { existsSync } from "node:fs";
import { placeOfStore, readStore } from "../../store/from-url.ts";
import { filesAtRisk } from "../../store/sqlite/private-files.ts";
import type { Variables } from "../../serve/file/read-tools-file.ts";

/** `holdfast serve tools.yaml`: serves the tools of a file, or of another server, until it is interrupted. */
export async function serve(context: Context, command: Given<"serve">): Promise<ExitCode> {
  return sayingMistakes(() => run(context, command));
}

/** What is wrong with a file, or with its settings, is a mistake of whoever runs the command. */
export async function sayingMistakes<T>(command: () => Promise<T>): Promise<T> {
  try {
    return await command();
  } catch (error) {
    const isMistake = error instanceof HoldfastError && mistakes.has(error.code);
    if (isMistake || (error instanceof Error && error.name === "ToolsFileError"))
      throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** What whoever serves has to correct. */
const mistakes: ReadonlySet<string> = new Set([
  "configuration",
  "address_in_use",
  "store_url",
  "store_locked",
]);

async function run(context: Context, { file: named, pairs, options }: Given<"serve">): Promise<ExitCode> {
  const { output, io } = context;
  const file = named ?? "tools.yaml";
  if (options.init === true) return init(context, file);
  if (options.schema === true) {
    await output.print(await schemaText());
    return exitCodes.done;
  }
  // Loaded on demand, so that other commands start faster.
  const { serveFile, toolsFileAt, upstreamPlace } = await import("../../serve/file/serve-file.ts");
  const { program, upstream = program === undefined ? undefined : split(program) } = options;
  if (upstream !== undefined && named !== undefined)
    throw new UsageError(`Give either the file ${file}, or a command line after --, or --upstream URL.`);
  const place =
    upstream === undefined ? toolsFileAt(resolve(io.cwd, file), io.env) : upstreamPlace(upstream, io.cwd);
  if (options.check === true) return checkFile(context, place);
  if (options.dryRun !== undefined) return dryRun(context, place, options.dryRun, pairs);
  if (pairs.length > 0) throw new UsageError(`${pairs.join(" ")} is not understood: serve takes one file.`);
  using interrupts = watchSignals();
  const note = (line: string): void => output.note(line);
  const running = await serveFile(place, { env: io.env, stdio: options.stdio, port: options.port, note });
  const reload = (): void => {
    void running
      .reload()
      .catch((error: unknown) => note(error instanceof Error ? error.message : String(error)));
  };
  process.on("SIGHUP", reload);
  try {
    if (running.url !== undefined) await output.print(`${running.url}\n`);
    await Promise.race([running.closed, aborted(interrupts.signal)]);
  } finally {
    process.off("SIGHUP", reload);
    await running.close();
  }
  return interrupts.signal.aborted ? interruptedBy(interrupts) : exitCodes.done;
}

async function checkFile({ output, io }: Context, place: ServedPlace): Promise<ExitCode> {
  const findings = await checkServed(place, io.env);
  for (const { check: name, works, detail } of findings)
    await output.print(`${works === null ? "-" : works ? "yes" : "no"}  ${name}: ${detail}\n`);
  const isFine = findings.every(({ works }) => works !== false);
  if (isFine) output.note(`${place.path} can be served.`);
  return isFine ? exitCodes.done : exitCodes.usage;
}

/** Prints what a call would run or send. */
async function dryRun(
  { output, io }: Context,
  place: ServedPlace,
  name: string,
  pairs: readonly string[],
): Promise<ExitCode> {
  const tools: SourceTool[] = [];
  const open = async (source: ToolSource): Promise<void> => {
    const host = {
      setTools: (found: readonly SourceTool[]) => void tools.push(...found),
      onError: () => undefined,
    };
    await (await source.open(host)).close();
  };
  await Promise.all(place.load().sources.map(open));
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined)
    throw new UsageError(
      `${place.path} has no tool ${JSON.stringify(name)}. ${didYouMean(
        name,
        tools.map((each) => each.name),
      )}`,
    );
  if (tool.preview === undefined)
    throw new UsageError(`${name} is a tool of another server, which alone knows what its calls do.`);
  const { inputSchema } = tool.config;
  const { jsonSchemaOf } = await import("../../serve/tool-settings.ts");
  const schema = readInputSchema(jsonSchemaOf(inputSchema) ?? {});
  const args = completeArguments(parseArguments(await readPairs(pairs, io.cwd), schema, {}), schema);
  await output.print(`${(await tool.preview(args)).trimEnd()}\n`);
  return exitCodes.done;
}

async function schemaText(): Promise<string> {
  const { toolsFileSchema } = await import("../../serve/file/schema.ts");
  return `${JSON.stringify(toolsFileSchema(), null, 2)}\n`;
}

async function init({ output, io }: Context, file: string): Promise<ExitCode> {
  const path = resolve(io.cwd, file);
  const schema = resolve(path, "../tools.schema.json");
  for (const each of [path, schema])
    if (await exists(each)) throw new UsageError(`${each} exists already, and is left as it is.`);
  await writeFile(path, await readFile(new URL("templates/tools.yaml", packageRoot), "utf8"));
  await writeFile(schema, await schemaText());
  await output.print(
    `Wrote ${path}, and tools.schema.json beside it, by which editors complete it.\n\nNext:\n  holdfast serve ${file}\n`,
  );
  return exitCodes.done;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/**
 * What works of all that a file names: its programs, the services and servers that it reaches, with their credentials, and its store. Calls no tool, and
 * creates nothing. Throws a `ToolsFileError` for what is wrong with the file itself, and `configuration` for its settings.
 */
export async function checkServed(place: ServedPlace, env: Variables): Promise<readonly Finding[]> {
  const { file, sources } = place.load();
  const { store } = settingsOf(file, place.path, { env });
  const findings = await Promise.all([
    ...sources.map(async (source) => (await source.check?.()) ?? []),
    checkStore(store),
  ]);
  return findings.flat();
}

async function checkStore(store: string): Promise<readonly Finding[]> {
  const check = "store";
  if (store === "memory:")
    return [{ check, works: null, detail: "is in memory: a restart forgets all tasks" }];
  const place = placeOfStore(store, (path) => path);
  try {
    if (place.kind === "sqlite" && !existsSync(place.path)) {
      const folder = dirname(place.path);
      if (!existsSync(folder))
        return [{ check, works: null, detail: `${folder} is created at the first start` }];
      await access(folder, constants.W_OK);
      return [{ check, works: true, detail: `${place.path} is created at the first start` }];
    }
    await readStore(
      store,
      (path) => path,
      async () => undefined,
    );
    const risks = place.kind === "sqlite" ? filesAtRisk(place.path) : [];
    const shown = place.kind === "sqlite" ? place.path : new URL(store).host;
    if (risks.length > 0) return [{ check, works: false, detail: risks.join("; ") }];
    return [{ check, works: true, detail: `${shown} can be read` }];
  } catch (error) {
    return [{ check, works: false, detail: error instanceof Error ? error.message : String(error) }];
  }
}
