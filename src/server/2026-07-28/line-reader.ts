import { generation } from "../../generation/2026-07-28.ts";
import { generation as plain } from "../plain/plain-call.ts";
import type { Access } from "../request.ts";
import type { LineReader } from "../task-resources.ts";

/** The sender of a request of this revision, as a reader of logs and outputs. */
export function lineReader({
  principal,
  access,
}: {
  readonly principal: string | null;
  readonly access?: Access | undefined;
}): LineReader {
  return { principal, session: undefined, scopes: access?.scopes, generations: [generation, plain] };
}
