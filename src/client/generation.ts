import type { ClientCapabilities, Implementation, JSONRPCMessage } from "@modelcontextprotocol/client";
import type { JsonObject } from "../generation/message.ts";
import type { ClientClock } from "./clock.ts";
import type { ConnectOptions } from "./connect-options.ts";
import type { UserCallbacks } from "./question/ask-user.ts";
import type { MakeReceivedTasks } from "./session/receiver/receiver.ts";
import type { TaskProtocol } from "./task-protocol.ts";
import type { TaskSessions } from "./session/task-sessions.ts";
import type { RawRequester } from "./transport/raw-requester.ts";

/** A generation of tasks as this client implements it: an entry of `generations.ts`, in its own folder. */
export interface ClientGeneration {
  /** Options of `connect` for a server that may also speak newer generations, which do not show this one's tasks. */
  readonly options: Pick<ConnectOptions, "protocolVersion" | "generation">;
  /** Whether some servers show a task only in the session that created it. */
  readonly mayBindToSession: boolean;
  /** What the client declares in this generation besides its own capabilities, on any connection. */
  declared?(capabilities: ClientCapabilities, listen: boolean): ClientCapabilities;
  /** What a server with these capabilities declares about its tasks, if it has any. Left out if only using tasks shows that. */
  serverTasks?(server: JsonObject): ServerTasks | undefined;
  /** Over HTTP: why calls of a tool with this input schema cannot be sent; undefined if they can. */
  readonly wrongCall?: (inputSchema: unknown) => string | undefined;
  /** How this client runs a server's questions as tasks. Left out if servers cannot ask for that. */
  readonly receiving?: Receiving;
  /** Called before each connection, when its generation is not known yet. */
  prepare(caller: Caller): PreparedGeneration;
}

/** What a server declares about its tasks. */
export interface ServerTasks {
  /** The name of the tasks, for people. */
  readonly title: string;
  readonly cancels: boolean;
  /** Undefined if the generation has no lists. */
  readonly lists: boolean | undefined;
  /** Whether the client can listen to changes, apart from the answers to requests. */
  readonly listens: boolean;
}

interface Receiving {
  /** The value of `capabilities.tasks` for a client that declares these other capabilities. */
  capability(declared: JsonObject): object;
  /** Loaded on demand, since it imports the server's runtime. */
  load(): Promise<MakeReceivedTasks>;
}

export interface Caller {
  readonly capabilities: ClientCapabilities;
  readonly clientInfo: Implementation;
}

/** A generation on one connection, which may turn out not to use it. */
export interface PreparedGeneration {
  /** Changes a message of the SDK's client before it is sent. */
  readonly rewriteOutgoing?: (message: JSONRPCMessage) => JSONRPCMessage;
  /** Changes a message before the SDK's client gets it. */
  readonly rewriteIncoming?: (message: JSONRPCMessage) => JSONRPCMessage;
  /** Starts to use it. */
  protocol(parts: ProtocolParts): TaskProtocol;
}

export interface ProtocolParts {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  /** The server's capabilities. */
  readonly server: JsonObject;
  /** The protocol version of the connection. */
  readonly version: string | undefined;
  /** For tasks that are visible only in their own session. */
  readonly sessions: TaskSessions;
}
