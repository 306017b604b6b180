import type { StandardSchemaV1 } from "@modelcontextprotocol/server";

/** A schema's issues with a value, in one line. */
export function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues
    .map(({ path, message }) => {
      const at = path
        ?.map((segment) => String(typeof segment === "object" ? segment.key : segment))
        .join(".");
      return at === undefined || at === "" ? message : `${at}: ${message}`;
    })
    .join(", ");
}
