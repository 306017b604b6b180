import { requireBearerAuth } from "@modelcontextprotocol/server";
import { createFetchHandler, type FetchHandler } from "holdfast/http";
import { server, verifier } from "./reports.ts";

const authenticated = requireBearerAuth({ verifier });

// Development servers load a module again when it changes, but a store has one owner: keep the first.
const kept = globalThis as { reports?: FetchHandler };
if (kept.reports === undefined) {
  const handler = createFetchHandler(server, { path: "/api/mcp", anonymous: "refused" });
  kept.reports = handler;
  process.once("SIGTERM", () => void handler.close());
}
const { reports } = kept;

async function answer(request: Request): Promise<Response> {
  const authInfo = await authenticated(request);
  return authInfo instanceof Response ? authInfo : reports.fetch(request, { authInfo });
}

export const GET = answer;
export const POST = answer;
export const DELETE = answer;
