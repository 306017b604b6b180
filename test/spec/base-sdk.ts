import type { Requirement } from "./requirement.ts";

/** What MCP has besides tasks: what the official SDK offers to servers and clients, and how their connection begins. */
// One requirement per line, as in a table.
// prettier-ignore
export const baseSdk: readonly Requirement[] = [
  // 1. The server
  { id: "B-008", level: "IMPLIED", who: "server", text: "The model calls tools, the application reads resources, the user picks prompts." },
  // 7. The client
  { id: "B-037", level: "IMPLIED", who: "client", text: "Logs in to protected servers by OAuth: discovery, registration, a code with PKCE, renewal, and tokens that a provider stores." },
  // 8. Messages and the lifecycle
  { id: "B-042", level: "MUST", who: "both", text: "Messages are JSON-RPC 2.0 in UTF-8." },
  { id: "B-047", level: "SHOULD", who: "client", text: "Supports stdio." },
];
