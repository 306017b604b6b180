import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import {
  declaresTaskLines,
  idempotencyKeyMeta,
  recognition,
  taskResourceTemplates,
  withTaskLines,
} from "../../generation/extensions.ts";
import type { Amend } from "./dispatch-transport.ts";
import { generation as core, executionOf, serverTasksCapability } from "../../generation/2025-11-25.ts";
import { type Capabilities, declaresTasks, extensionId } from "../../generation/2026-07-28.ts";
import {
  requestMethods as sepRequestMethods,
  serverTasksCapability as sepTasksCapability,
} from "../../generation/sep-1686.ts";
import type { RuntimeSettings } from "../../runtime/options.ts";
import type { OtherRequest, Registry } from "../../runtime/tool/registry.ts";
import type { PlainPolicies } from "../plain/plain-policies.ts";

/**
 * What to add about logs and outputs to the answer of a 2026-07-28 request that asks for it; undefined for all others. No cache may give
 * such an answer to another client.
 */
export function linesAnnouncement(
  method: string,
  params: unknown,
  clientCapabilities: JsonObject,
): Amend | undefined {
  if (!declaresTaskLines(clientCapabilities, "extensions")) return undefined;
  if (method === "resources/templates/list") {
    return (result) => ({ ...withTemplates(result, params), cacheScope: "private" });
  }
  if (method !== "server/discover") return undefined;
  return ({ capabilities, ...result }) => ({
    ...result,
    capabilities: withTaskLines(capabilities, "extensions"),
    cacheScope: "private",
  });
}

/** Adds the templates of logs and outputs to the first page of a list of resource templates. */
export function withTemplates(result: JsonObject, params: unknown): JsonObject {
  const { resourceTemplates } = result;
  const isFirst = !isJsonObject(params) || params["cursor"] === undefined;
  if (!isFirst || !Array.isArray(resourceTemplates)) return result;
  return { ...result, resourceTemplates: [...(resourceTemplates as unknown[]), ...taskResourceTemplates] };
}

/** What decides how tools are listed. */
export interface ListedTools {
  readonly registry: Registry;
  readonly policies: PlainPolicies;
}

/** What the server declares about tasks at the beginning of a session. */
export interface SessionCapabilities {
  /** Whether tasks can be listed. */
  readonly lists: boolean;
  /** As `recognisedMs`. */
  readonly keptMs: number;
  /** Whether the client can have tasks of SEP-1686. */
  readonly sep: boolean;
  /** Whether the author's server answers such requests. */
  readonly serves: (method: OtherRequest) => boolean;
  /** Whether the client asked for notifications about logs and outputs. */
  readonly lines: boolean;
}

/**
 * The shortest time, in ms from its creation, for which a call of any tool is recognised by its idempotency key: as long as its task is
 * stored; Infinity if tasks are stored forever. If no tool makes tasks yet, one may be added. Tools that make no task refuse a repeat at
 * any time.
 */
export function recognisedMs(
  registry: Registry,
  { keepMs, ttlMs: serverTtlMs = keepMs }: Pick<RuntimeSettings, "keepMs" | "ttlMs">,
): number {
  const lives = registry
    .all()
    .filter(({ task }) => task !== "forbidden")
    .map(({ ttlMs = serverTtlMs }) => ttlMs ?? Infinity);
  return lives.length === 0 ? (serverTtlMs ?? Infinity) : Math.min(...lives);
}

/**
 * The same if clients may ask for a ttl: it is cut to `maxTtlMs`. A client that asks for less than this can tell, because its task is
 * stored for at least as long as it asked.
 */
export function recognisedMsOfAsked(
  registry: Registry,
  options: Pick<RuntimeSettings, "keepMs" | "ttlMs" | "maxTtlMs">,
): number {
  return Math.min(recognisedMs(registry, options), options.maxTtlMs);
}

/** What `server/discover` declares about tasks, and about repeating a call under its idempotency key. */
export function extensions(
  registry: Registry,
  options: Pick<RuntimeSettings, "keepMs" | "ttlMs">,
): Record<string, Record<string, number>> {
  return { [extensionId]: {}, [idempotencyKeyMeta]: { ...recognition(recognisedMs(registry, options)) } };
}

/** The answer to `initialize`: what the author's server declares, and tasks. */
export function initializeResult(result: JsonObject, setup: SessionCapabilities): JsonObject {
  const { protocolVersion, capabilities } = result;
  const own = isJsonObject(capabilities) ? capabilities : {};
  const declared =
    protocolVersion === core ? coreCapabilities(own, setup) : setup.sep ? sepCapabilities(setup) : {};
  const merged = { ...own, ...declared };
  return { ...result, capabilities: setup.lines ? withTaskLines(merged, "experimental") : merged };
}

/** They also declare that a call can be repeated under its idempotency key, and for how long. */
function coreCapabilities({ experimental }: JsonObject, { lists, keptMs }: SessionCapabilities): JsonObject {
  const others = isJsonObject(experimental) ? experimental : {};
  return {
    tasks: serverTasksCapability({ list: lists }),
    experimental: { ...others, [idempotencyKeyMeta]: recognition(keptMs) },
  };
}

function sepCapabilities({ serves }: SessionCapabilities): JsonObject {
  const methods = sepRequestMethods.filter((method) => method === "tools/call" || serves(method));
  return { tasks: sepTasksCapability(methods) };
}

/** The list of tools before 2026-07-28; `hasCore`: tasks of 2025-11-25 were declared to the client. */
export function sessionTools(
  result: JsonObject,
  { isPlain, hasCore }: { readonly isPlain: boolean; readonly hasCore: boolean },
  listed: ListedTools,
): JsonObject {
  return withTools(result, (tool) => {
    if (!isPlain && isPollingTool(tool, listed)) return undefined;
    const { execution: _, ...others } = isPlain ? forPlain(tool, listed) : tool;
    if (!hasCore) return others;
    const own = listed.registry.get(String(tool["name"]));
    return own === undefined ? tool : { ...others, execution: executionOf(own.task) };
  });
}

/**
 * A page of the list of tools for the client of one request of 2026-07-28. A client that did not declare the extension sees polling tools,
 * and no tool that runs only as a task. If the lists differ, no cache may share them between clients. The cursor stays as it is, even if no
 * tool of the page remains.
 */
export function toolsOfRequest(
  capabilities: Capabilities,
  result: JsonObject,
  { listRequiredTools, ...listed }: ListedTools & { readonly listRequiredTools: boolean },
): JsonObject {
  if (!Array.isArray(result["tools"])) return result;
  const { registry, policies } = listed;
  const isPlain = !declaresTasks(capabilities);
  const amended = withTools(result, (tool) => {
    if (!isPlain) return isPollingTool(tool, listed) ? undefined : tool;
    const isRequired = registry.get(String(tool["name"]))?.task === "required";
    return isRequired && !listRequiredTools ? undefined : forPlain(tool, listed);
  });
  const differs =
    policies.hasTickets || (!listRequiredTools && registry.all().some(({ task }) => task === "required"));
  return differs ? { ...amended, cacheScope: "private" } : amended;
}

function withTools(result: JsonObject, amend: (tool: JsonObject) => JsonObject | undefined): JsonObject {
  const { tools } = result;
  if (!Array.isArray(tools)) return result;
  const amended = tools.map((tool: unknown) => (isJsonObject(tool) ? amend(tool) : tool));
  return { ...result, tools: amended.filter((tool) => tool !== undefined) };
}

/**
 * A tool as it is listed to a client without tasks. A tool with tickets has no output schema there, since clients validate
 * structured content with it, and that of a ticket would not fit.
 */
function forPlain(tool: JsonObject, { registry, policies }: ListedTools): JsonObject {
  const own = registry.get(String(tool["name"]));
  if (own === undefined || policies.of(own) !== "ticket") return tool;
  const { outputSchema: _, ...without } = tool;
  return without;
}

/** Polling tools are for clients without tasks only. */
function isPollingTool(tool: JsonObject, { policies }: ListedTools): boolean {
  return policies.pollingTool(tool["name"]) !== undefined;
}
