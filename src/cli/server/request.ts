import { plainRead } from "../../client/call/read.ts";
import type { RequestOptions } from "@modelcontextprotocol/client";

/** A request by the SDK's client, within the time that it gives one. Rejects with a TaskClientError. */
export async function request<Result>(
  send: (options: RequestOptions) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return plainRead(async () => send({ signal }), signal);
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | undefined;
}

/** All items of a list that comes in pages. Ends also where a server sends the same cursor again. */
export async function allPages<Item>(
  readPage: (params: { readonly cursor?: string }) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  const seen = new Set<string>();
  for (let cursor: string | undefined; ;) {
    const page = await readPage(cursor === undefined ? {} : { cursor });
    for (const item of page.items) items.push(item);
    cursor = page.nextCursor;
    if (cursor === undefined || seen.has(cursor)) return items;
    seen.add(cursor);
  }
}
