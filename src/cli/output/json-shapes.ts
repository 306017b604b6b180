import type { InboxMessage } from "../../host/conversation.ts";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { AdminAction, Counts, TaskSummary } from "../../admin/admin.ts";
import type { BulkAction, BulkJobShown, BulkResult } from "../../admin/bulk-job.ts";
import type { Finding } from "../../serve/source.ts";
import type { WireGenerationName } from "../../generation/generations.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskClientErrorCode } from "../../client/task-client-error.ts";

/** What `--json` prints for a task: `call`, `get`, `watch` (one for each line), `result`, `answer`, `cancel`. */
export interface TaskJson {
  /** `null` for a call that was answered at once. */
  readonly id: string | null;
  /** As it was given. */
  readonly server: string;
  readonly tool?: string;
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  readonly statusMessage?: string;
  /** ISO 8601, by the server's clock. */
  readonly createdAt?: string;
  readonly lastUpdatedAt?: string;
  readonly ttlMs?: number | null;
  readonly pollIntervalMs?: number;
  /** With the status `input_required`. */
  readonly questions?: readonly QuestionJson[];
  /** With the status `completed`: as the server sent it. */
  readonly result?: CallToolResult;
  /** With `--save`: the files with the result's content other than text. */
  readonly saved?: readonly string[];
  /** With the status `failed`. */
  readonly error?: JsonRpcError;
}

export interface QuestionJson {
  readonly key: string;
  /** Such as `elicitation/create`. */
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** What `forget --json` prints. */
export interface ForgottenJson {
  readonly ids: readonly string[];
}

/** What `inbox --json` prints. */
export interface InboxJson {
  readonly messages: readonly InboxMessage[];
}

/** What `ls --json` prints. */
export interface ListJson {
  readonly tasks: readonly ListedTaskJson[];
}

export interface ListedTaskJson {
  readonly id: string;
  /** False for an unanswered call: it is unknown whether there is a task, and the id is that of the call. */
  readonly isTask: boolean;
  readonly server: string;
  readonly tool: string;
  /** ISO 8601, by this machine's clock. */
  readonly startedAt: string;
  /**
   * With `--refresh`: as in a task, or `expired` if its time is over, `lost` if the server does not know it with these credentials,
   * `unreachable` if the server could not be reached, `unauthorized` if it wants a token, or another one.
   */
  readonly status?: TaskJson["status"] | "expired" | "lost" | "unreachable" | "unauthorized";
  readonly statusMessage?: string;
  /** With `--all`: its outcome, `status`, was printed. */
  readonly isOver?: true;
}

/** What `login --json` prints. */
export interface LoginJson {
  /** As it was given. */
  readonly server: string;
  readonly issuer: string;
  /** Separated by spaces; `null` if the authorization server does not say. */
  readonly scope: string | null;
  /** When the token expires, in ISO 8601; `null` if the authorization server does not say. */
  readonly expiresAt: string | null;
  /** Whether it is renewed without the user. */
  readonly renews: boolean;
}

/** What `logout --json` prints. */
export interface LogoutJson {
  readonly server: string;
  readonly wasLoggedIn: boolean;
  /** Whether the authorization server has revoked the tokens. Otherwise they stay valid until they expire. */
  readonly revoked: boolean;
}

/** What `open --json` prints. `close` prints `{ name }`. */
export interface OpenJson {
  readonly name: string;
  readonly server: string;
  readonly protocolVersion: string;
}

/** What `servers --json` prints. `servers add` and `servers remove` print `{ name, file }`. */
export interface ServersJson {
  readonly servers: readonly {
    readonly name: string;
    /** Its URL or command line; missing if the entry cannot be used. */
    readonly server?: string;
    /** Why the entry cannot be used. */
    readonly problem?: string;
    /** `null` for an open session. */
    readonly file: string | null;
    /** Whether commands use it without asking: an entry of the user's own file, or one of a folder's that is trusted. */
    readonly trusted: boolean;
  }[];
}

/** What `trust --json` prints. */
export interface TrustJson {
  readonly name: string;
  /** The file that has the entry. */
  readonly file: string;
  readonly trusted: boolean;
}

/** What `journal ls --json` prints. */
export interface StoredTasksJson {
  readonly tasks: readonly StoredTaskJson[];
}

export interface StoredTaskJson {
  readonly id: string;
  readonly tool: string;
  /** The version of the tool that the task started with; `null` before its start. */
  readonly toolVersion: number | null;
  readonly state: TaskRecord["state"];
  /** Whether its handler waits for an answer, a time, an event or a call. */
  readonly waiting: boolean;
  /** ISO 8601, by the server's clock. */
  readonly createdAt: string;
}

/** What `init --json` prints. */
export interface InitJson {
  readonly folder: string;
  /** The files that it wrote. */
  readonly files: readonly string[];
}

/** What `migrate --json` prints. */
export interface MigrationJson {
  readonly schema: string;
  /** The schema's version before, 0 for none, and after, or what it would be. */
  readonly from: number;
  readonly to: number;
  /** Whether it was a dry run. */
  readonly dryRun: boolean;
}

export interface ServerJson {
  readonly name: string;
  readonly version: string;
}

/** What `tools --json` prints. */
export interface ToolsJson {
  readonly server: ServerJson;
  readonly tools: readonly ToolJson[];
}

export interface ToolJson {
  readonly name: string;
  readonly description?: string;
  /** Whether calls become tasks: `unknown` if the protocol does not let a server say. */
  readonly task: "required" | "optional" | "forbidden" | "unknown";
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** A command that calls it; for one tool only. */
  readonly example?: string;
}

/** What `search --json` prints: the first line of each description. */
export interface SearchJson {
  readonly tools: readonly { readonly name: string; readonly server: string; readonly about: string }[];
}

/** What `doctor --json` prints. */
export interface DoctorJson {
  /** As it was given. */
  readonly server: string;
  readonly connected: boolean;
  /** Such as `2026-07-28`; missing without a connection. */
  readonly protocolVersion?: string;
  /** The generation of the Tasks protocol; `null` for a server without tasks. */
  readonly tasks?: WireGenerationName | null;
  readonly checks: readonly CheckJson[];
}

/** What `doctor --json` prints for a store. */
export interface StoreDoctorJson {
  /** As it was given. */
  readonly store: string;
  readonly checks: readonly CheckJson[];
}

/** What `doctor --json` prints for a file of tools. */
export interface FileDoctorJson {
  /** As it was given. */
  readonly file: string;
  /** Such as `command build`, `http render`, `mcp search` and `store`. */
  readonly checks: readonly Finding[];
}

export interface CheckJson {
  readonly check:
    | "connection"
    | "files"
    | "server"
    | "protocol"
    | "authorization"
    | "tasks"
    | "tools"
    | "cancel"
    | "list"
    | "pushes"
    | "repeats"
    | "features";
  /** `null` if it cannot be known, or is only information. */
  readonly works: boolean | null;
  readonly detail: string;
}

/**
 * What `admin … cancel|retry|delete|extend --all --json` prints. Its other documents are the types `TaskPage`, `TaskDetails`, `TaskSummary`
 * and `Counts` of `holdfast`.
 */
export interface ManyTasksJson extends BulkResult, Pick<BulkJobShown, "counts"> {
  readonly action: BulkAction;
  /** Whether it was a dry run. */
  readonly dryRun: boolean;
  /** Why it is not known how it went on. */
  readonly error?: string;
}

/** What `admin … actions --json` prints. */
export interface ActionsJson {
  readonly actions: readonly AdminAction[];
}

/** What `admin … top --json` prints. */
export interface TopJson {
  readonly counts: Counts;
  /** The newest that have not ended. */
  readonly tasks: readonly TaskSummary[];
}

/** What `dashboard --json` prints. */
export interface DashboardJson {
  /** Opens the page and logs in. */
  readonly link: string;
}

/** What `admin … dump --json` prints. */
export interface DumpJson {
  readonly file: string;
  /** How many tasks the store has. */
  readonly tasks: number;
  /** How many of them are in the file: with `--since`, those that changed. */
  readonly changed: number;
  /** The ids of tasks that cannot be read, and are not in the dump. */
  readonly unreadable: readonly string[];
  /** How many tasks have files outside of the store that are not in the dump. */
  readonly withoutFiles: number;
  readonly bytes: number;
  readonly seconds: number;
}

/** What `admin … load --json` prints. */
export interface LoadJson {
  readonly file: string;
  /** How many tasks the store has now. */
  readonly tasks: number;
  /** When the dump was made (epoch ms). */
  readonly at: number;
  /** Whether servers are kept out until another load. */
  readonly partial: boolean;
  /** Whether servers may have the original open. */
  readonly beside: boolean;
}

/** What `admin … gc --json` prints. */
export interface GcJson {
  /** How many were deleted. */
  readonly tasks: number;
  readonly sessions: number;
  /** Messages for webhooks. */
  readonly deliveries: number;
  /** The size of the store on disk. */
  readonly bytes: { readonly before: number; readonly after: number };
  /** What could not be done, and why. */
  readonly left: string | null;
}

/** What `admin … keys --json` prints. Numbers are by table. */
export interface KeysJson {
  /** The keys that are given, and those that texts in the store name. */
  readonly keys: readonly {
    readonly id: string;
    readonly isGiven: boolean;
    /** How many texts it has sealed. */
    readonly texts: Readonly<Record<string, number>>;
  }[];
  /** How many texts are in clear that an encrypted store seals. */
  readonly clear: Readonly<Record<string, number>>;
  /** How many rows the given keys do not open. */
  readonly unopened: Readonly<Record<string, number>>;
}

/** What `admin … reseal --json` prints. */
export interface ResealedJson {
  /** Rows that were sealed anew, by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Rows that cannot be opened and stay as they are, by table. */
  readonly left: Readonly<Record<string, number>>;
  /** Whether text that is not encrypted is refused from now on. */
  readonly isStrict: boolean;
  /** False if the database's free space may still contain what was replaced. */
  readonly isClean: boolean;
}

/** What `admin … rotate-secrets --json` prints. */
export interface RotatedSecretsJson {
  /** The secrets that have a new version. */
  readonly secrets: readonly string[];
  /** When the old ones are no longer accepted (epoch ms); null: they are deleted already. */
  readonly acceptedUntil: number | null;
  /** How many tasks got a key from the new version, by which an equal call finds them. */
  readonly rekeyed: number;
  /** Tasks that cannot be read and were therefore left as they are. */
  readonly left: readonly string[];
}

/** What `admin … delete-principal --json` prints. */
export interface DeletedPrincipalJson {
  readonly principal: string;
  /** Deleted rows, by table. */
  readonly deleted: Readonly<Record<string, number>>;
  /** Tasks that have not ended and were therefore not deleted. */
  readonly left: readonly string[];
  /** False if the database's free space may still contain the deleted data. */
  readonly isClean: boolean;
}

/** What `docs --json` prints without a topic. */
export interface TopicsJson {
  readonly topics: readonly { readonly topic: string; readonly part: string; readonly title: string }[];
}

/** What `docs TOPIC --json` prints. */
export interface DocsJson {
  readonly topic: string;
  /** Markdown: the page, or the sections that were asked for. */
  readonly text: string;
}

/** What `--json` prints when a command fails. */
export interface ErrorJson {
  readonly error: {
    readonly kind: TaskClientErrorCode | "usage" | "stopped" | "fault";
    readonly message: string;
    /** The task in question, if there is one. */
    readonly id?: string;
    /** The server's JSON-RPC error, if it sent one. */
    readonly rpc?: JsonRpcError;
  };
  readonly exitCode: number;
}
