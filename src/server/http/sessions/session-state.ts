import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import type { SessionSettings } from "../http-options.ts";
import type { StoreClock } from "../../../runtime/clock.ts";
import { isJsonObject, type JsonObject } from "../../../generation/message.ts";
import { taskResourceAt } from "../../../generation/extensions.ts";
import {
  generationsUsedIn,
  isSessionGeneration,
  paramsThatUse,
  type SessionGeneration,
} from "../../sessions/session-context.ts";
import { mostFollowedLists } from "../../subscriptions/subscriptions.ts";

interface UseSettings extends Pick<SessionSettings, "sessionIdleMs" | "unusedSessionMs"> {
  readonly clock: StoreClock;
}

interface UseListener {
  /** The session becomes idle, or is used again. */
  readonly idle: (idle: boolean) => void;
  /** Its idle time is over; `isUnused` says whether nothing has used it since. */
  readonly over: (isUnused: () => boolean) => void;
  /** It is used, so that it has to be stored when it ends. */
  readonly store: () => void;
}

/** How often in its idle time it is stored that a session was used. */
export const storedUses = 4;

/** What uses a session, and when it ends if nothing does. */
export class SessionUse {
  readonly #settings: UseSettings;
  readonly #on: UseListener;
  /** The first one is the handshake. */
  #requests = 0;
  #open = 0;
  #entered = 0;
  /** Since when it is idle, and when it ends (epoch ms); undefined while it is used, and before. */
  #idle: { readonly since: number; readonly endsAt: number } | undefined;
  /** By the time elapsed. */
  #storedAt: number;
  #isOver = false;
  #cancelIdle: () => void = () => undefined;

  constructor(settings: UseSettings, on: UseListener) {
    this.#settings = settings;
    this.#on = on;
    this.#storedAt = settings.clock.elapsed();
  }

  /** Whether something came after the handshake. */
  get isUsed(): boolean {
    return this.#requests > 1;
  }

  /** When it ends unless it is used, in epoch milliseconds. */
  get endsAt(): number {
    const { clock } = this.#settings;
    const now = clock.now();
    if (this.#idle === undefined) return now + this.#leftMs;
    const { since, endsAt } = this.#idle;
    return Math.max(endsAt, clock.afterJumps(endsAt, since));
  }

  /** It was used in another process. */
  goesOn(): void {
    this.#requests = 2; // its handshake, and what used it
  }

  /** A request has arrived. */
  requested(): void {
    const { clock, sessionIdleMs } = this.#settings;
    this.#requests += 1;
    // After the handshake, it had less time. Later, other processes may delete a session of whose use they do not know.
    if (this.#requests === 2 || clock.elapsed() - this.#storedAt >= sessionIdleMs / storedUses)
      this.#on.store();
  }

  /** It is known to others when it ends. */
  stored(): void {
    this.#storedAt = this.#settings.clock.elapsed();
  }

  enter(): void {
    this.#open += 1;
    this.#entered += 1;
    this.#idle = undefined;
    this.#cancelIdle();
    this.#on.idle(false);
  }

  leave(): void {
    this.#open -= 1;
    if (this.#open > 0 || this.#isOver) return;
    const { clock } = this.#settings;
    this.#on.idle(true);
    const since = clock.now();
    this.#idle = { since, endsAt: since + this.#leftMs };
    const entered = this.#entered;
    this.#cancelIdle = clock.after(this.#leftMs, () => this.#on.over(() => entered === this.#entered));
  }

  /** The session has ended, for any reason. */
  end(): void {
    this.#isOver = true;
    this.#cancelIdle();
  }

  get #leftMs(): number {
    const { sessionIdleMs, unusedSessionMs } = this.#settings;
    return this.isUsed ? sessionIdleMs : Math.min(sessionIdleMs, unusedSessionMs);
  }
}

/** What is replayed to an author's server when a session continues in another process. */
export interface SessionState {
  /** The params of `initialize`. */
  readonly initialize: JsonObject;
  /** The revision that was agreed on. */
  readonly version: string;
  readonly logLevel?: string;
  /** The URIs of resources. */
  readonly subscriptions: readonly string[];
  /** The generations of tasks that its client has used. */
  readonly used?: readonly SessionGeneration[];
}

/** A state, and its text in the store. */
export interface StoredState {
  readonly state: SessionState;
  readonly text: string;
}

/** The most that is stored of one session, in characters of JSON. */
const mostChars = 64 * 1024;

const methods: readonly string[] = [
  "initialize",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
];

/** Whether a request may change the state of its session. */
export function changesState({ method }: JSONRPCRequest): boolean {
  return methods.includes(method);
}

/** The state after a request that was answered with `result`; undefined before the handshake. */
export function stateAfter(
  state: SessionState | undefined,
  { method, params = {} }: JSONRPCRequest,
  { protocolVersion }: JsonObject,
): SessionState | undefined {
  if (method === "initialize") {
    const first = { initialize: params, version: String(protocolVersion), subscriptions: [] };
    return stateUsing(first, params) ?? first;
  }
  if (state === undefined) return undefined;
  const { level, uri } = params;
  if (method === "logging/setLevel") return { ...state, logLevel: String(level) };
  const others = state.subscriptions.filter((each) => each !== uri);
  const subscriptions = method === "resources/subscribe" ? [...others, String(uri)] : others;
  return { ...state, subscriptions: withoutOldLists(subscriptions) };
}

/** The state after a request with these params, if it uses a generation that the state does not name. */
export function stateUsing(state: SessionState, params: JsonObject): SessionState | undefined {
  const { used = [] } = state;
  const more = generationsUsedIn(params).filter((generation) => !used.includes(generation));
  return more.length === 0 ? undefined : { ...state, used: [...used, ...more] };
}

/** Clients may leave the subscriptions to logs and outputs as they are when their tasks have ended: as many are kept as may be open. */
function withoutOldLists(subscriptions: readonly string[]): readonly string[] {
  const lists = subscriptions.filter((uri) => taskResourceAt(uri) !== undefined);
  const old = new Set(lists.slice(0, -mostFollowedLists));
  return subscriptions.filter((uri) => !old.has(uri));
}

/** The requests that bring an author's server from the state `from` to the state `to`, without ids; `from` is undefined for a fresh one. */
export function requestsBetween(
  from: SessionState | undefined,
  to: SessionState,
): Omit<JSONRPCRequest, "id">[] {
  const request = (method: string, params: JsonObject): Omit<JSONRPCRequest, "id"> => ({
    jsonrpc: "2.0",
    method,
    params,
  });
  const { initialize, logLevel, subscriptions, used = [] } = to;
  const before = from?.subscriptions ?? [];
  const ended = before.filter((uri) => !subscriptions.includes(uri));
  const added = used.filter((generation) => from?.used?.includes(generation) !== true);
  const begun = subscriptions.filter((uri) => !before.includes(uri));
  return [
    ...(from === undefined ? [request("initialize", initialize)] : []),
    ...(logLevel === undefined || logLevel === from?.logLevel
      ? []
      : [request("logging/setLevel", { level: logLevel })]),
    ...added.map((generation) => request("ping", paramsThatUse(generation))),
    ...ended.map((uri) => request("resources/unsubscribe", { uri })),
    ...begun.map((uri) => request("resources/subscribe", { uri })),
  ];
}

/** Undefined for a state that is too large to be stored. */
export function encodeState(state: SessionState): string | undefined {
  const text = JSON.stringify(state);
  return text.length > mostChars ? undefined : text;
}

/** Undefined for what `encodeState` did not write. */
export function decodeState(text: string): StoredState | undefined {
  let state: unknown;
  try {
    state = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isState(state) ? { state, text } : undefined;
}

function isState(state: unknown): state is SessionState & JsonObject {
  if (!isJsonObject(state)) return false;
  const { initialize, version, logLevel, subscriptions, used } = state;
  return (
    isJsonObject(initialize) &&
    typeof version === "string" &&
    (logLevel === undefined || typeof logLevel === "string") &&
    (used === undefined || (Array.isArray(used) && used.every(isSessionGeneration))) &&
    Array.isArray(subscriptions) &&
    subscriptions.every((uri) => typeof uri === "string")
  );
}
