import { acceptedContent, inputResponse } from "@modelcontextprotocol/server";
import * as z from "zod";

type Responses = Parameters<typeof inputResponse>[0];

/** The `field` of an accepted form; undefined if there is no such answer, and the tool asks again. */
export function acceptedText(responses: Responses, key: string, field: string): string | undefined {
  const schema = z.object({ [field]: z.string() });
  return acceptedContent(responses, key, schema)?.[field];
}

/** The text that the client's model answered with. */
export function sampledText(responses: Responses, key: string): string | undefined {
  const answer = inputResponse(responses, key);
  if (answer.kind !== "sampling") return undefined;
  const [block] = [answer.result.content].flat();
  return block?.type === "text" ? block.text : undefined;
}

/** The URIs of the client's roots. */
export function rootUris(responses: Responses, key: string): string[] | undefined {
  const answer = inputResponse(responses, key);
  return answer.kind === "roots" ? answer.roots.map(({ uri }) => uri) : undefined;
}
