import {
  Client as SdkV2Client,
  StreamableHTTPClientTransport as SdkV2Transport,
} from "@modelcontextprotocol/client";
import { Client as SdkClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

type Args = Readonly<Record<string, string>>;

/** A client library that is connected to a server, as a host without a model would use it. */
export interface PeerClient {
  /** The names of the tools, asked of the server each time. */
  list(): Promise<readonly string[]>;
  /** The text of the result. `timeout` (ms) counts where the library has one for each call, else that of the client does. */
  call(tool: string, args: Args, timeout?: number): Promise<string>;
}

interface Content {
  readonly text?: string;
}
interface Tool {
  readonly name: string;
}

const textOf = (content: readonly Content[]): string => content.map(({ text = "" }) => text).join("");
/** In ms, of one call; left to the library without one. */
const given = (timeout?: number): { timeout?: number } => (timeout === undefined ? {} : { timeout });
const namesOf = (tools: readonly Tool[]): string[] => tools.map(({ name }) => name);

async function sdkV1(url: string, usual?: number): Promise<PeerClient> {
  const client = new SdkClient({ name: "peer", version: "1.0.0" });
  const transport: object = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport as Transport); // the SDK's own types disagree on what may be undefined
  return {
    list: async () => namesOf((await client.listTools()).tools),
    call: async (name, args, timeout = usual) => {
      const { content } = await client.callTool({ name, arguments: { ...args } }, undefined, given(timeout));
      return textOf(content as Content[]);
    },
  };
}

async function sdkV2(url: string, usual?: number): Promise<PeerClient> {
  const client = new SdkV2Client({ name: "peer", version: "1.0.0" });
  await client.connect(new SdkV2Transport(new URL(url)));
  return {
    list: async () => namesOf((await client.listTools()).tools),
    call: async (name, args, timeout = usual) => {
      const { content } = await client.callTool({ name, arguments: { ...args } }, given(timeout));
      return textOf(content as Content[]);
    },
  };
}

// The others are installed by the slow suite alone: only what is used of them is declared, and the name of a package
// stands in a variable, so that the compiler does not look for it.

interface LangChain {
  readonly MultiServerMCPClient: new (options: object) => {
    getTools(): Promise<readonly (Tool & { invoke(args: Args): Promise<string | readonly Content[]> })[]>;
    getClient(server: string): Promise<{ listTools(): Promise<{ tools: readonly Tool[] }> } | undefined>;
  };
}

async function langChain(url: string, timeout?: number): Promise<PeerClient> {
  const { MultiServerMCPClient } = await load<LangChain>("@langchain/mcp-adapters");
  const client = new MultiServerMCPClient({
    mcpServers: { peers: { transport: "http", url } },
    ...(timeout !== undefined && { defaultToolTimeout: timeout }),
  });
  const tools = await client.getTools();
  const connection = await client.getClient("peers");
  return {
    list: async () => namesOf((await connection?.listTools())?.tools ?? []),
    call: async (name, args) => {
      const result = await named(tools, name).invoke(args);
      return typeof result === "string" ? result : textOf([result].flat());
    },
  };
}

interface McpUse {
  readonly MCPClient: new (options: object) => {
    createSession(server: string): Promise<{
      listTools(): Promise<readonly Tool[]>;
      callTool(name: string, args: Args, options: object): Promise<{ content: readonly Content[] }>;
    }>;
  };
}

async function mcpUse(url: string, usual?: number): Promise<PeerClient> {
  const { MCPClient } = await load<McpUse>("mcp-use/client");
  const session = await new MCPClient({ mcpServers: { peers: { url } } }).createSession("peers");
  return {
    list: async () => namesOf(await session.listTools()),
    call: async (name, args, timeout = usual) =>
      textOf((await session.callTool(name, args, given(timeout))).content),
  };
}

interface AiSdkTool {
  execute(args: Args, options: object): Promise<{ content: readonly Content[] }>;
}
interface AiSdk {
  readonly createMCPClient: (options: object) => Promise<{
    tools(): Promise<Readonly<Record<string, AiSdkTool>>>;
  }>;
}

async function aiSdk(url: string, usual?: number): Promise<PeerClient> {
  const { createMCPClient } = await load<AiSdk>("@ai-sdk/mcp");
  const client = await createMCPClient({ transport: { type: "http", url } });
  const tools = await client.tools();
  return {
    list: async () => Object.keys(await client.tools()),
    call: async (name, args, timeout = usual) => {
      const abort = timeout === undefined ? {} : { abortSignal: AbortSignal.timeout(timeout) };
      const options = { toolCallId: "1", messages: [], ...abort };
      return textOf((await tools[name]?.execute(args, options))?.content ?? []);
    },
  };
}

interface OpenAiAgents {
  readonly MCPServerStreamableHttp: new (options: object) => {
    connect(): Promise<void>;
    listTools(): Promise<readonly Tool[]>;
    callTool(name: string, args: Args): Promise<readonly Content[]>;
  };
}

async function openAiAgents(url: string, timeout?: number): Promise<PeerClient> {
  const { MCPServerStreamableHttp } = await load<OpenAiAgents>("@openai/agents-core");
  const server = new MCPServerStreamableHttp({ name: "peers", url, ...given(timeout) });
  await server.connect();
  return {
    list: async () => namesOf(await server.listTools()),
    call: async (name, args) => textOf(await server.callTool(name, args)),
  };
}

/** The structured content alone, where there is any: a ticket has its text there too. */
type MastraResult = Content & { readonly content?: readonly Content[] };
interface MastraTool {
  execute(args: Args, options: object): Promise<MastraResult>;
}
interface Mastra {
  readonly MCPClient: new (options: object) => {
    listTools(): Promise<Readonly<Record<string, MastraTool>>>;
  };
}

async function mastra(url: string, timeout?: number): Promise<PeerClient> {
  const { MCPClient } = await load<Mastra>("@mastra/mcp");
  const client = new MCPClient({ servers: { peers: { url: new URL(url) } }, ...given(timeout) });
  const tools = await client.listTools();
  return {
    list: async () => Object.keys(await client.listTools()).map((name) => name.replace(/^peers_/, "")),
    call: async (name, args) => {
      const result = await tools[`peers_${name}`]?.execute(args, {});
      return textOf(result?.content ?? [result ?? {}]);
    },
  };
}

export const openClient = {
  "SDK v1": sdkV1,
  "SDK v2": sdkV2,
  LangChain: langChain,
  "mcp-use": mcpUse,
  "AI SDK": aiSdk,
  "OpenAI Agents": openAiAgents,
  Mastra: mastra,
} satisfies Record<string, (url: string, timeout?: number) => Promise<PeerClient>>;

export type ClientName = keyof typeof openClient;

async function load<Module>(name: string): Promise<Module> {
  return (await import(name)) as Module;
}

function named<T extends Tool>(tools: readonly T[], name: string): T {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}.`);
  return tool;
}
