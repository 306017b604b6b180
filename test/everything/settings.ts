import type { Sampler } from "@opentelemetry/sdk-trace";
import type { PlainPolicy } from "holdfast";
import { samplerFrom } from "./sampler.ts";

/** What the environment says about one run of the server. */
export interface Settings {
  readonly port: number;
  /** Where tasks live, as `storeFromUrl` takes it. */
  readonly storeUrl: string;
  /** Principals by bearer token; undefined: all callers are one principal. */
  readonly tokens: ReadonlyMap<string, string> | undefined;
  /** The bearer token of operators; undefined: no admin endpoint, no dashboard and no metrics. */
  readonly adminToken: string | undefined;
  /** Which traces are exported over OTLP, and how often they and metrics are, in ms; undefined: not at all. */
  readonly otlp:
    { readonly sampler: Sampler; readonly spansEveryMs: number; readonly metricsEveryMs: number } | undefined;
  /** How callers without tasks are answered, and how long they wait for a ticket, in ms. */
  readonly plain: PlainPolicy;
  readonly plainDeadlineMs: number;
}

/** Throws an error that names the variable and says what it takes. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const { PORT = "3000", HOLDFAST_STORE = "sqlite:.holdfast/everything.db", EVERYTHING_TOKENS } = env;
  const { EVERYTHING_PLAIN = "wait", EVERYTHING_PLAIN_DEADLINE_MS = "45000", EVERYTHING_ADMIN_TOKEN } = env;
  const tokens = EVERYTHING_TOKENS === undefined ? undefined : tokensOf(EVERYTHING_TOKENS);
  if (EVERYTHING_ADMIN_TOKEN !== undefined && tokens?.has(EVERYTHING_ADMIN_TOKEN) === true)
    throw new Error(
      "EVERYTHING_ADMIN_TOKEN is a token of EVERYTHING_TOKENS, too. Give operators one of their own.",
    );
  return {
    port: portOf(PORT),
    storeUrl: HOLDFAST_STORE,
    tokens,
    adminToken: EVERYTHING_ADMIN_TOKEN,
    otlp: otlpOf(env),
    plain: policyOf(EVERYTHING_PLAIN),
    plainDeadlineMs: millisecondsOf("EVERYTHING_PLAIN_DEADLINE_MS", EVERYTHING_PLAIN_DEADLINE_MS),
  };
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new Error(`PORT is ${JSON.stringify(text)}. Give a number up to 65535, or 0 for any free port.`);
}

function policyOf(text: string): PlainPolicy {
  if (text === "wait" || text === "ticket") return text;
  throw new Error(`EVERYTHING_PLAIN is ${JSON.stringify(text)}. Give wait or ticket.`);
}

function millisecondsOf(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`${name} is ${JSON.stringify(text)}. Give a whole number of milliseconds.`);
}

/** By the variables of OpenTelemetry's SDK. Its exporters read all others themselves. */
function otlpOf(env: Readonly<Record<string, string | undefined>>): Settings["otlp"] {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = "", OTEL_SDK_DISABLED } = env;
  const { OTEL_BSP_SCHEDULE_DELAY = "5000", OTEL_METRIC_EXPORT_INTERVAL = "60000" } = env;
  if (endpoint === "" || OTEL_SDK_DISABLED?.toLowerCase() === "true") return undefined;
  return {
    sampler: samplerFrom(env),
    spansEveryMs: millisecondsOf("OTEL_BSP_SCHEDULE_DELAY", OTEL_BSP_SCHEDULE_DELAY),
    metricsEveryMs: millisecondsOf("OTEL_METRIC_EXPORT_INTERVAL", OTEL_METRIC_EXPORT_INTERVAL),
  };
}

function tokensOf(text: string): ReadonlyMap<string, string> {
  const tokens = new Map<string, string>();
  for (const [index, entry] of text.split(",").entries()) {
    // A token may end in "=", as base64 does, so the last one separates.
    const [, token, principal] = /^(.+)=([^=]+)$/s.exec(entry.trim()) ?? [];
    if (token === undefined || principal === undefined || tokens.has(token)) {
      // Without the entry itself, which is a secret.
      const problem = token !== undefined && tokens.has(token) ? "repeats a token" : "is not token=principal";
      throw new Error(
        `EVERYTHING_TOKENS: entry ${index + 1} ${problem}. Give token=principal,token=principal.`,
      );
    }
    tokens.set(token, principal);
  }
  return tokens;
}
