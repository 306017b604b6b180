import type { CallToolResult } from "@modelcontextprotocol/client";
import type {
  AdminAction,
  BulkAction,
  BulkResult,
  Counts,
  FailureGroup,
  TaskSummary,
  WebhookBacklog,
} from "../../admin/admin.ts";
import type { WireGenerationName } from "../../generation/generations.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskClientErrorCode } from "../../client/task-client-error.ts";

/** What `--json` prints of a task: `call`, `get`, `watch` (one for each line), `result`, `answer`, `cancel`. */
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
  /** With `--save`: the files of what the result has besides text. */
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

/** What `ls --json` prints. */
export interface ListJson {
  readonly tasks: readonly ListedTaskJson[];
}

export interface ListedTaskJson {
  readonly id: string;
  /** False for a call whose answer never came: nobody knows whether there is a task, and the id is the call's own. */
  readonly isTask: boolean;
  readonly server: string;
  readonly tool: string;
  /** ISO 8601, by this machine's clock. */
  readonly startedAt: string;
  /**
   * With `--refresh`: as in a task, `expired` where the server no longer knows it, `unreachable` where it was not reached,
   * `unauthorized` where it wants a token, or another one.
   */
  readonly status?: TaskJson["status"] | "expired" | "unknown" | "unreachable" | "unauthorized";
  readonly statusMessage?: string;
  /** With `--all`: its outcome was printed, and was `status`. */
  readonly isOver?: true;
}

/** What `login --json` prints. */
export interface LoginJson {
  /** As it was given. */
  readonly server: string;
  readonly issuer: string;
  /** With a space between; `null` where the authorization server does not say. */
  readonly scope: string | null;
  /** ISO 8601: the end of the token; `null` where the authorization server does not say. */
  readonly expiresAt: string | null;
  /** Whether it is renewed without you. */
  readonly renews: boolean;
}

/** What `logout --json` prints. */
export interface LogoutJson {
  readonly server: string;
  readonly wasLoggedIn: boolean;
  /** Whether the authorization server has revoked the tokens. Otherwise they end by themselves. */
  readonly revoked: boolean;
}

/** What `journal ls --json` prints. */
export interface StoredTasksJson {
  readonly tasks: readonly StoredTaskJson[];
}

export interface StoredTaskJson {
  readonly id: string;
  readonly tool: string;
  /** The version of the tool that the task began with; `null` before its start. */
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
  /** What it wrote there. */
  readonly files: readonly string[];
}

/** What `migrate --json` prints. */
export interface MigrationJson {
  readonly schema: string;
  /** The version that the schema had, 0 for none, and the one that it has now, or would have. */
  readonly from: number;
  readonly to: number;
  /** The schema of the queue; `null` where that was left alone. */
  readonly queue: string | null;
  /** Whether nothing was done. */
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
  /** Whether calls become tasks: `unknown` where the protocol does not let a server say. */
  readonly task: "required" | "optional" | "forbidden" | "unknown";
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** A command that calls it; for one tool only. */
  readonly example?: string;
}

/** What `doctor --json` prints. */
export interface DoctorJson {
  /** As it was given. */
  readonly server: string;
  readonly connected: boolean;
  /** Such as `2026-07-28`; missing where there is no connection. */
  readonly protocolVersion?: string;
  /** The generation of the Tasks protocol; `null` for a server without tasks. */
  readonly tasks?: WireGenerationName | null;
  readonly checks: readonly CheckJson[];
}

export interface CheckJson {
  readonly check:
    | "connection"
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
  /** `null` for what cannot be known, or is only told. */
  readonly works: boolean | null;
  readonly detail: string;
}

/** What `admin … cancel|retry|delete|extend --all --json` prints. Its other documents are the types `TaskPage`, `TaskDetails`, `TaskSummary` and `Counts` of `holdfast`. */
export interface ManyTasksJson extends BulkResult {
  readonly action: BulkAction;
  /** Whether nothing was done. */
  readonly dryRun: boolean;
  /** Why it did not go on from `next`. */
  readonly error?: string;
}

/** What `admin … failures --json` prints. */
export interface FailuresJson {
  readonly tool: string;
  readonly failures: readonly FailureGroup[];
}

/** What `admin … actions --json` prints. */
export interface ActionsJson {
  readonly actions: readonly AdminAction[];
}

/** What `admin … webhooks --json` prints. */
export interface WebhooksJson {
  readonly webhooks: readonly WebhookBacklog[];
}

/** What `admin … top --json` prints. */
export interface TopJson {
  readonly counts: Counts;
  /** The newest that have not ended. */
  readonly tasks: readonly TaskSummary[];
}

/** What `dashboard --json` prints. */
export interface DashboardJson {
  /** Opens the page, and logs in. */
  readonly link: string;
}

/** What `admin … backup --json` prints. */
export interface BackupJson {
  readonly file: string;
  readonly tasks: number;
  readonly bytes: number;
  readonly seconds: number;
}

/** What `admin … restore --json` prints. */
export interface RestoreJson {
  readonly file: string;
  readonly tasks: number;
  /** When the backup was made (epoch ms), and the version of the schema that it has. */
  readonly at: number;
  readonly schema: number;
  /** Whether servers may have the original open. */
  readonly beside: boolean;
}

/** What `admin … gc --json` prints. */
export interface GcJson {
  /** What was deleted. */
  readonly tasks: number;
  readonly sessions: number;
  /** Messages for webhooks. */
  readonly deliveries: number;
  /** What the store takes on disk. */
  readonly bytes: { readonly before: number; readonly after: number };
  /** What could not be done, and why. */
  readonly left: string | null;
}

/** What `admin … delete-principal --json` prints. */
export interface DeletedPrincipalJson {
  readonly principal: string;
  /** Rows, by their tables. */
  readonly deleted: Readonly<Record<string, number>>;
  /** Tasks that have not ended, and so were not deleted. */
  readonly left: readonly string[];
  /** False where free space of the database may still have what was deleted. */
  readonly isClean: boolean;
}

/** What `--json` prints where a command ends without what it was asked for. */
export interface ErrorJson {
  readonly error: {
    readonly kind: TaskClientErrorCode | "usage" | "stopped" | "fault";
    readonly message: string;
    /** The task that it is about, if there is one. */
    readonly id?: string;
    /** Where a server answered with one. */
    readonly rpc?: JsonRpcError;
  };
  readonly exitCode: number;
}
