import { plainRead } from "../../client/call/read.ts";
import type { RequestOptions } from "@modelcontextprotocol/client";

/** A request by the SDK's client, within its time limit. Rejects with a TaskClientError. */
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

/** All items of a paged list. Also stops if a server repeats a cursor. */
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
