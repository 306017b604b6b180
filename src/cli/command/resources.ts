import type { ReadResourceResult, Resource, ResourceTemplateType } from "@modelcontextprotocol/client";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../errors.ts";
import { sizeText } from "../output/amounts.ts";
import { fittedTable, type Column } from "../output/table.ts";
import type { Output, Said } from "../output/output.ts";
import { isArtifact, linksOf, saveContent, SaveFolder, saveResource } from "../output/save-content.ts";
import { withNewline } from "../output/show-content.ts";
import { request, serverInfo, type Session, withServer } from "../server/with-server.ts";
import { resolveServer } from "../server/resolve-server.ts";

/** `holdfast resources SERVER` */
export async function resources(
  context: Context,
  { server, options }: Given<"resources">,
): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  const { output } = context;
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const { resources: listed, problems } = await client.listResources({ signal });
    const { resourceTemplates: templates, problems: others } = await client.listResourceTemplates({ signal });
    terminal.display.end();
    const text = listsText(listed, templates, output.columns);
    return output.say({
      json: { server: serverInfo(client), resources: listed, resourceTemplates: templates },
      text,
      warnings: [...problems, ...others].map((problem) => `holdfast: ${problem}`),
      notes: [text === "" && "holdfast: the server has no resources"],
    });
  });
}

type Listed = Resource | ResourceTemplateType;

/** Text to copy into another command is never cut. */
const whole = Number.POSITIVE_INFINITY;

function listsText(
  listed: readonly Resource[],
  templates: readonly ResourceTemplateType[],
  cells: number | undefined,
): string {
  const columns = (title: string): readonly Column<Listed>[] => [
    [title, whole, (each) => ("uriTemplate" in each ? each.uriTemplate : each.uri)],
    ["TYPE", 4, typeOf],
    ["ABOUT", 10, aboutOf],
  ];
  const tables = [
    ...(listed.length === 0 ? [] : [fittedTable(columns("RESOURCE"), listed, cells)]),
    ...(templates.length === 0 ? [] : [fittedTable(columns("TEMPLATE"), templates, cells)]),
  ];
  return tables.join(cells === undefined ? "" : "\n");
}

function typeOf({ mimeType = "", size }: Partial<Resource>): string {
  return [mimeType, size === undefined ? "" : sizeText(size)].filter((part) => part !== "").join(", ");
}

/** Its title or name, and its description. */
function aboutOf({ name, title = name, description = "" }: Listed): string {
  return [title, description].filter((text) => text !== "").join(": ");
}

/** `holdfast read SERVER URI` */
export async function read(context: Context, { server, uri, options }: Given<"read">): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  const { output, io } = context;
  const folder = await SaveFolder.open(options.save, io.cwd);
  return withServer(context, { server: asked }, options, async (session) => {
    const once = async (): Promise<ExitCode> => readOnce(session, { uri, folder, output, options });
    return options.follow === true ? follow(session, uri, once) : once();
  });
}

interface ReadOnce {
  readonly uri: string;
  readonly folder: SaveFolder | undefined;
  readonly output: Output;
  readonly options: Given<"read">["options"];
}

async function readOnce(
  { client, signal, terminal, server }: Session,
  { uri, folder, output, options }: ReadOnce,
): Promise<ExitCode> {
  const links = linksOf(client, signal);
  const isSaved = folder !== undefined && isArtifact(uri);
  // An artifact may be too large to be read at once.
  const result = isSaved ? { contents: [] } : await client.readResource(uri, { signal });
  terminal.display.end();
  const files =
    folder &&
    (await (isSaved
      ? saveContent([{ type: "resource_link", uri, name: uri }], folder, links)
      : saveResource(result, folder, links)));
  const problems = files?.problems ?? [];
  return output.say({
    json: { server: server.shown, uri, result, ...(files && { saved: files.saved }) },
    line: options.follow,
    ...(files === undefined ? { maxChars: options.maxChars } : { text: files.text }),
    ...(files === undefined && !output.json && contentsOf(uri, result, output)),
    warnings: problems.map((problem) => `holdfast: ${problem}`),
    code: problems.length === 0 ? exitCodes.done : exitCodes.failed,
  });
}

/** Reads a resource, and again with each change that the server tells of, until the command is ended. */
async function follow(
  { client: { sdk }, signal }: Session,
  uri: string,
  readAgain: () => Promise<ExitCode>,
): Promise<ExitCode> {
  let changed = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  const lost = (): void =>
    ended.reject(new TaskClientError("connection", "The server ended the subscription"));
  signal.addEventListener("abort", () => ended.reject(signal.reason as Error), { once: true });
  sdk.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    if (params.uri === uri) changed.resolve();
  });
  sdk.onclose = lost;
  // First, so that no change is missed.
  if (sdk.getProtocolEra() === "modern") {
    const subscription = await request(
      async (how) => sdk.listen({ resourceSubscriptions: [uri] }, how),
      signal,
    );
    void subscription.closed.then(lost);
  } else await request(async (how) => sdk.subscribeResource({ uri }, how), signal);
  for (;;) {
    await readAgain();
    await Promise.race([changed.promise, ended.promise]);
    changed = Promise.withResolvers<void>();
  }
}

type Content = ReadResourceResult["contents"][number];

/** Text unchanged, and bytes for a pipe. */
function contentsOf(
  uri: string,
  { contents }: ReadResourceResult,
  { isTerminal }: Output,
): Pick<Said, "text" | "notes"> {
  const [first] = contents;
  if (contents.length === 1 && first !== undefined && "blob" in first && !isTerminal)
    return { text: Buffer.from(first.blob, "base64") };
  const binary = contents.find((content) => "blob" in content);
  if (binary !== undefined) {
    const what = isTerminal ? "is not written to a terminal" : "cannot be separated from the other parts";
    const how = isTerminal ? ", pipe it" : "";
    throw new UsageError(`${uri} has ${describe(binary)}, which ${what}: use --save DIR${how}, or --json.`);
  }
  const isOnly = contents.length === 1 && !isTerminal;
  const texts = contents.map((content) => ("text" in content ? content.text : ""));
  return {
    text: texts.map((text) => (isOnly ? text : withNewline(text))).join(""),
    notes: [contents.length === 0 && "holdfast: the resource is empty"],
  };
}

function describe(content: Content): string {
  const size = "blob" in content ? Buffer.byteLength(content.blob, "base64") : 0;
  return `${content.mimeType ?? "binary data"} of ${sizeText(size)}`;
}
