import type { ClientName } from "./clients/open-client.ts";

/** In a session, as in protocol 2025-11-25; all but SDK v2 use the transport of SDK v1. */
export const inSessions: readonly ClientName[] = ["SDK v1", "SDK v2", "LangChain", "mcp-use"];

/** In protocol 2026-07-28, where each request stands alone and a stream that broke is not resumed. */
export const withoutSessions: readonly ClientName[] = ["AI SDK", "OpenAI Agents", "Mastra"];
