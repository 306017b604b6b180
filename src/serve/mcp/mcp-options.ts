import type { ClientCapabilities } from "@modelcontextprotocol/client";
import { protocolVersions, type ProtocolVersion } from "../../generation/generations.ts";
import {
  assertOptions,
  choice,
  flag,
  isObject,
  list,
  options,
  tableOf,
  text,
  time,
  value,
} from "../../options/options.ts";
import type { ToolOptions } from "../../runtime/tool/tool-options.ts";
import { isLoopback } from "../../server/http/listen.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TimeSpan } from "../../task/time.ts";
import type { Approval } from "../approval.ts";
import {
  closedSchema,
  flagSchema,
  servedOptions,
  servedToolSchemas,
  textsByNameSchema,
  textSchema,
  textsSchema,
  timeSchema,
  type JsonSchema,
} from "../file-schemas.ts";

const repeat: JsonSchema = {
  enum: ["annotations", "always", "never"],
  description:
    "Whether a call is made again if its answer was lost: if the tool's annotations allow it, always, or never.",
};

/** The options of `mcpUpstream`, as a file gives them. */
export const mcpOptionsSchema: JsonSchema = closedSchema({
  command: textSchema("The program to start, which speaks over its stdin and stdout. Either this or url."),
  args: textsSchema("The arguments of the program."),
  env: textsByNameSchema("Variables for the program, besides the few that it gets, such as PATH and HOME."),
  cwd: textSchema("The folder in which the program starts."),
  url: textSchema("The address of the server."),
  headers: textsByNameSchema("Sent with every request to the url."),
  token: textSchema("The bearer token for the url. The caller's own token is never passed on."),
  exchange: closedSchema(
    {
      tokenEndpoint: textSchema("The token endpoint of the authorization server."),
      clientId: textSchema("The id of this server there."),
      clientSecret: textSchema("Its secret there."),
      audience: textSchema("The name of the other server there."),
      resource: textSchema("The URL of the other server, as its tokens name it."),
      scope: textSchema("Scopes, separated by spaces."),
    },
    ["tokenEndpoint"],
  ),
  prefix: { type: "string", description: "Before the names of its tools and prompts." },
  include: textsSchema(
    "The tools to serve, by their names at the server; * stands for any characters. Default: all.",
  ),
  exclude: textsSchema("The tools to leave out, in the same way."),
  tools: {
    type: "object",
    additionalProperties: closedSchema({
      ...servedToolSchemas,
      timeoutMs: timeSchema("How long a call may work without a wait."),
      task: {
        enum: ["optional", "required"],
        description:
          "required: clients without tasks are refused. Default: they are answered, or get a ticket.",
      },
      asksFirst: flagSchema(
        "Whether the server asks questions before it makes a task of a call (2026-07-28).",
      ),
      largeResults: { enum: ["error", "link"], description: "What becomes of a result that is too large." },
      repeat,
    }),
    description: "Options of single tools, by their names at the server.",
  },
  durable: flagSchema(
    "false: calls are passed through while the caller waits, and nothing is stored. Default true.",
  ),
  repeat,
  connections: {
    enum: ["shared", "call"],
    description:
      "call: each call has a connection of its own. Choose it for a server without tasks that asks questions.",
  },
  refreshMs: timeSchema(
    "How often the list of tools is read again besides when the server says that it has changed.",
  ),
  protocolVersion: {
    enum: [...protocolVersions, "earlier"],
    description: "The only protocol version to speak.",
  },
  capabilities: { type: "object", description: "What the server is told that can be answered." },
});

const isText = (given: unknown): boolean => typeof given === "string";
const isFilled = (given: string): boolean => given !== "";

/** Whether nobody on the network can read what is sent there. */
function isForSecrets(given: string): boolean {
  if (!URL.canParse(given)) return false;
  const { protocol, hostname } = new URL(given);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname.replaceAll(/[[\]]/g, "")));
}

/** Whether a call is made again if it is not known what became of it. */
export type Repeat =
  /** if the tool's annotations say that it reads only, or is idempotent */
  "annotations" | "always" | "never";

const repeats = ["annotations", "always", "never"] as const;

/** What `tasks.tool` takes as it is. */
export const passedOn = [
  "concurrency",
  "limit",
  "priority",
  "plain",
  "plainDeadlineMs",
  "task",
  "ttlMs",
  "maxRunMs",
  "timeoutMs",
  "inputTimeoutMs",
  "largeResults",
  "title",
  "description",
] as const;

/** What of a tool's options its server cannot say. */
export interface UpstreamToolOptions extends Pick<ToolOptions, (typeof passedOn)[number]> {
  /** Its name for clients, with the prefix if there is one. Default: the prefix and its own name. */
  readonly name?: string;
  /** `false`: calls are passed through while the caller waits, and nothing is stored. Default: that of the server. */
  readonly durable?: boolean;
  /** Default: that of the server. */
  readonly repeat?: Repeat;
  /**
   * Whether the server answers a call with questions before it makes a task of it, as protocol 2026-07-28 allows. They are then put in the same way, and
   * the call is a task here once it is one there. A client that sends a call again, since it lost the answer, has it made again. Default false: its
   * questions are those of the task here. Not together with `approval`, before which nothing may begin.
   */
  readonly asksFirst?: boolean;
  readonly approval?: Approval;
}

class DeclaredUpstreamToolOptions {
  readonly name?: string = text("a non-empty string", isFilled, {});
  readonly durable?: boolean = flag();
  readonly repeat?: Repeat = choice(repeats);
  readonly asksFirst?: boolean = flag();
  readonly approval?: Approval = value('who has to agree: { by: "user" }', isObject);
}

export const upstreamToolOptions = servedOptions(DeclaredUpstreamToolOptions, passedOn);

class DeclaredTokenExchange {
  /** The token endpoint of the authorization server: an `https` URL, or one of this machine, because it is sent callers' tokens. */
  readonly tokenEndpoint: string = text("an https URL, or one of this machine", isForSecrets, {
    required: true,
  });
  readonly clientId?: string = text("a non-empty string", isFilled, {});
  readonly clientSecret?: string = text("a non-empty string", isFilled, { secret: true });
  /** The name of the server at the authorization server. */
  readonly audience?: string = text("a non-empty string", isFilled, {});
  /** The URL of the server, as its tokens name it. */
  readonly resource?: string = text("a URL", (url) => URL.canParse(url), {});
  readonly scope?: string = text("scopes, separated by spaces", isFilled, {});
}

/** How the caller's token is exchanged for one that is for the server (RFC 8693). */
export interface TokenExchange extends DeclaredTokenExchange {}

class DeclaredMcpOptions {
  /** The program to start, which speaks over its stdin and stdout. Either this or `url`. */
  readonly command?: string = text("the name of a program", isFilled, {});
  readonly args?: readonly string[] = list("arguments", isText);
  /** Added to the few variables that a program gets, such as PATH and HOME. */
  readonly env?: Readonly<Record<string, string>> = value("an object of variables", isObject, {
    secret: true,
  });
  readonly cwd?: string = text("the path of a folder", isFilled, {});
  /** The server's address. */
  readonly url?: string = text("a URL", (url) => URL.canParse(url), {});
  /** Sent with every request to the `url`. */
  readonly headers?: Readonly<Record<string, string>> = value("an object of headers", isObject, {
    secret: true,
  });
  /** The bearer token for the `url`. The caller's own token is never passed on. */
  readonly token?: string = text("a token", isFilled, { secret: true });
  /** Gets a token for the `url` on behalf of each caller. Each call then has a connection of its own. Default: the same `token` for all. */
  readonly exchange?: TokenExchange = options(tableOf<TokenExchange>(DeclaredTokenExchange));
  /** Before the names of its tools and prompts. Default: nothing. */
  readonly prefix?: string = value("a string", isText);
  /** The tools to serve, by their names at the server; `*` stands for any characters. Default: all. */
  readonly include?: readonly string[] = list("names of tools", isFilled);
  /** The tools to leave out, in the same way. */
  readonly exclude?: readonly string[] = list("names of tools", isFilled);
  /** Options of single tools, by their names at the server. */
  readonly tools?: Readonly<Record<string, UpstreamToolOptions>> = value(
    "an object of options by tool",
    isObject,
  );
  /**
   * `false`: calls are passed through while the caller waits, and nothing is stored. Since protocol 2026-07-28 such calls cannot ask anything: the
   * server is then told that its question was cancelled. Default `true`.
   */
  readonly durable?: boolean = flag({ default: true });
  /**
   * Whether a call is made again if its answer was lost, or if the server has lost the task that it made of it. A server that recognises a repeated
   * call, as one of Holdfast does, gets it again in any case. Default `annotations`.
   */
  readonly repeat?: Repeat = choice(repeats, { default: "annotations" });
  /**
   * `call`: each call has a connection of its own, with a program a process of its own. Choose it for a server that asks questions before protocol
   * 2026-07-28 without tasks, since it does not say which of several calls asks. Default `shared`.
   */
  readonly connections?: "shared" | "call" = choice(["shared", "call"], { default: "shared" });
  /** How often the list of tools is read again besides when the server says that it has changed. Default 5 minutes. */
  readonly refreshMs?: TimeSpan = time({ min: 1_000, default: 300_000 });
  /** The only protocol version to speak. Default: the latest that the server supports. */
  readonly protocolVersion?: ProtocolVersion | "earlier" = choice([
    ...(protocolVersions as readonly ProtocolVersion[]),
    "earlier",
  ]);
  /** What the server is told that can be answered. Default: questions to the user with forms and links, to the model, and for roots. */
  readonly capabilities?: ClientCapabilities = value("an object", isObject);
}

/** Another MCP server: how it is reached, and how its tools are served. */
export interface McpUpstreamOptions extends DeclaredMcpOptions {}

export const mcpUpstreamOptions = tableOf<McpUpstreamOptions>(DeclaredMcpOptions);

/** Throws `configuration` for options that are wrong. */
export function assertMcpOptions(what: string, given: unknown): asserts given is McpUpstreamOptions {
  assertOptions(what, given, mcpUpstreamOptions);
  const { command, url, tools = {}, exchange, args, env, cwd, headers, token } = given;
  const fail = (problem: string): never => {
    throw new HoldfastError("configuration", `${what}: ${problem}`);
  };
  if ((command === undefined) === (url === undefined)) fail("set either command or url.");
  const stray = Object.entries(url === undefined ? { headers, token, exchange } : { args, env, cwd });
  for (const [name, set] of stray)
    if (set !== undefined)
      fail(`${name} belongs to ${url === undefined ? "url" : "command"}, which is not set.`);
  for (const [name, each] of Object.entries(tools)) {
    assertOptions(`${what}: tools.${name}`, each, upstreamToolOptions);
    if (each.asksFirst === true && each.approval !== undefined)
      fail(`tools.${name}: asksFirst begins the call before its approval. Remove one of the two.`);
  }
}
