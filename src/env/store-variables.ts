import { encryptedStore } from "../store/encryption/encrypted-store.ts";
import { isPostgresUrl, storeFromUrl } from "../store/from-url.ts";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import { readAll, type EnvReader } from "./env-reader.ts";
import { numberKind, orNone } from "./kind.ts";
import { switchKind, textKind } from "./text-kinds.ts";
import { variable } from "./variable.ts";

const defaultUrl = "sqlite:tasks.db";

const storeUrl = variable("store", textKind("`sqlite:PATH`, `postgres://HOST/DATABASE` or `memory:`"), {
  meaning: "where tasks are stored; a Postgres URL may have the parameter `schema=NAME`",
  default: defaultUrl,
  isSecret: true,
});
const migrate = variable("migrate", switchKind, {
  meaning: "whether opening the store creates its file or migrates its schema",
  default: "true",
});
const busyTimeoutMs = variable("sqliteBusyTimeoutMs", numberKind("time", { min: 1 }), {
  meaning: "how long a write waits while another program locks the file",
  default: "5s",
});
const maxBytes = variable("sqliteMaxBytes", numberKind("size", { min: 1 }), {
  meaning: "the largest size of the database file",
});
const directUrl = variable(
  "postgresDirectUrl",
  orNone(textKind("`postgres://HOST/DATABASE`", isPostgresUrl)),
  {
    meaning: "bypasses a pooler, for `LISTEN` and the queue; if not set: `HOLDFAST_STORE`",
    isSecret: true,
  },
);
const maxConnections = variable("postgresMaxConnections", numberKind("number", { min: 2 }), {
  meaning: "how many connections this process opens at most",
  default: "10",
});
const timeoutMs = variable("postgresTimeoutMs", numberKind("time", { min: 1 }), {
  meaning: "how long the database may take to answer",
  default: "5s",
});
const leaseMs = variable("postgresLeaseMs", numberKind("time", { min: 1_000 }), {
  meaning: "how long after its last heartbeat a process is taken for dead; must be the same for all",
  default: "15s",
});
const queue = variable("postgresQueue", switchKind, {
  meaning:
    "whether only one of several processes is woken for a new task; if not set: `true` when graphile-worker is installed",
});

const encryptionKeys = variable("encryptionKeys", textKind("`ID:BASE64`, with commas between several"), {
  meaning: "encrypts the content of tasks; the first key encrypts, all of them decrypt",
  isSecret: true,
});

export const storeVariables = [
  storeUrl,
  encryptionKeys,
  migrate,
  busyTimeoutMs,
  maxBytes,
  directUrl,
  maxConnections,
  timeoutMs,
  leaseMs,
  queue,
];

/** The store that an environment names. If the store refuses, throws with all mistakes. */
export function readStore(reader: EnvReader): TaskStore {
  const url = reader.read(storeUrl) ?? defaultUrl;
  const keys = reader.read(encryptionKeys);
  const migrates = readAll(reader, { migrate });
  const sqlite = { ...migrates, ...readAll(reader, { busyTimeoutMs, maxBytes }) };
  const ofPostgres = readAll(reader, { directUrl, maxConnections, timeoutMs, leaseMs, queue });
  const store = made(reader, {
    by: () => storeFromUrl(url, { sqlite, postgres: { ...migrates, ...ofPostgres } }),
    // An invalid store URL may still contain a password.
    refused: (error) => (error.code === "store_url" ? reader.refuse(storeUrl, url) : reader.found(error)),
  });
  if (keys === undefined) return store;
  return made(reader, {
    by: () => encryptedStore(store, { keys }),
    refused: (error) => reader.foundIn(encryptionKeys, error),
  });
}

function made(
  reader: EnvReader,
  { by, refused }: { readonly by: () => TaskStore; readonly refused: (error: HoldfastError) => void },
): TaskStore {
  try {
    return by();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    refused(error);
    throw reader.fault() ?? error;
  }
}
