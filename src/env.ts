export { configFromEnv } from "./env/config-from-env.ts";
export type { EnvConfig } from "./env/config-from-env.ts";
export type { Environment } from "./env/env-reader.ts";
