import type { McpServer } from "@modelcontextprotocol/server";
import { generation as core } from "../../generation/2025-11-25/name.ts";
import { declaresTasks, executionOf, serverTasksCapability } from "../../generation/2025-11-25/negotiate.ts";
import { idempotencyKeyMeta, recognition } from "../../generation/idempotency-key.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import {
  declaresTask,
  requestMethods,
  serverTasksCapability as sepTasksCapability,
} from "../../generation/sep-1686/negotiate.ts";
import type { OtherRequest, Registry } from "../../runtime/tool/registry.ts";
import { Connection } from "../connection/connection.ts";
import { listedToPlain, withoutCompanions } from "../plain/list.ts";
import { recognisedMsOfAsked } from "../recognised-ms.ts";
import { isStopping } from "../stopping.ts";
import { cancelNamed } from "../sep-1686/cancel.ts";
import { cancelling, partyOf, type Party } from "../sep-1686/party.ts";
import type { Attachment } from "./attachment.ts";

/** The generations of which an earlier revision's client can have tasks. */
type Spoken = "2025-11-25" | "sep-1686";

/** The client of one connection of an earlier revision: what it knows of tasks, and what it is told of ours. */
export class Client {
  readonly connection: Connection;
  /** As one of SEP-1686, where it can be one. */
  readonly party: Party | undefined;
  /** Whether callers are told apart, so that tasks of 2025-11-25 can be listed. */
  readonly lists: boolean;
  readonly #mcp: McpServer;
  readonly #attachment: Attachment;
  #asked: Spoken | undefined;
  #onCancelled: (request: unknown) => void = () => undefined;

  constructor(mcp: McpServer, attachment: Attachment) {
    const { runtime, rates, principal, streams, sepDesk } = attachment;
    this.#mcp = mcp;
    this.#attachment = attachment;
    this.lists = principal !== null;
    this.connection = new Connection({
      principal,
      streams,
      declare: (version, own) => this.#declare(version, own),
      cancelled: (params) => this.#cancelled(params),
      list: (tool) => this.#listed(tool),
    });
    this.party = partyOf({ runtime, desk: sepDesk, rates, connection: this.connection });
  }

  /** Whether it was told that the server has tasks of 2025-11-25: one that comes alone had its handshake elsewhere. */
  get hasCore(): boolean {
    return !this.connection.streams.initialized || this.connection.protocolVersion === core;
  }

  /** Whether it knows nothing of tasks, as far as it has shown. */
  get isPlain(): boolean {
    const { capabilities } = this.connection;
    return (
      this.#asked === undefined && (!this.hasCore || !declaresTasks(capabilities)) && !this.#declaresSep()
    );
  }

  /** Of which generation it asked for a task last, or says that it takes them. */
  get speaks(): Spoken {
    return this.#asked ?? (this.#declaresSep() ? "sep-1686" : "2025-11-25");
  }

  asked(generation: Spoken): void {
    this.#asked = generation;
  }

  /** Whether the author's own server answers such requests. */
  serves(method: OtherRequest): boolean {
    try {
      this.#mcp.server.assertCanSetRequestHandler(method);
      return false;
    } catch {
      return true; // it has a handler
    }
  }

  /** Calls `listener` with the id of each request that the client cancels. */
  onCancelled(listener: (request: unknown) => void): void {
    this.#onCancelled = listener;
  }

  #declaresSep(): boolean {
    const { capabilities } = this.connection;
    return (
      declaresTask(capabilities, "elicitation/create") || declaresTask(capabilities, "sampling/createMessage")
    );
  }

  #cancelled(params: JsonObject): void {
    this.#onCancelled(params["requestId"]);
    if (this.party === undefined) return;
    cancelling(this.party, cancelNamed(params, this.party)).catch((error: unknown) => {
      if (!isStopping(error)) this.#attachment.onError(error);
    });
  }

  #declare(version: string, own: JsonObject): JsonObject {
    if (version === core) {
      const { registry, options } = this.#attachment.runtime;
      return declaredCore(own, this.lists, recognisedMsOfAsked(registry, options));
    }
    if (this.party === undefined) return {};
    return {
      tasks: sepTasksCapability(requestMethods.filter((each) => each === "tools/call" || this.serves(each))),
    };
  }

  #listed(tool: JsonObject): JsonObject | undefined {
    const { plain, runtime } = this.#attachment;
    const listed = this.isPlain
      ? listedToPlain(tool, runtime.registry, plain.policies)
      : withoutCompanions(tool, plain.policies);
    if (listed === undefined || !this.hasCore) return listed && withoutExecution(listed);
    return withExecution(listed, runtime.registry);
  }
}

/** With the word that a call can be repeated under its key, and for how long, where this revision has a place for it. */
function declaredCore({ experimental }: JsonObject, lists: boolean, keptMs: number): JsonObject {
  const others = isJsonObject(experimental) ? experimental : {};
  return {
    tasks: serverTasksCapability({ list: lists }),
    experimental: { ...others, [idempotencyKeyMeta]: recognition(keptMs) },
  };
}

/** Listed with what each tool makes of tasks; the SDK says of all that they have none. */
function withExecution(listed: JsonObject, registry: Registry): JsonObject {
  const tool = registry.get(String(listed["name"]));
  return tool === undefined ? listed : { ...listed, execution: executionOf(tool.task) };
}

function withoutExecution({ execution: _, ...listed }: JsonObject): JsonObject {
  return listed;
}
