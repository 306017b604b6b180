import type { Blobs } from "./blobs.ts";

/** Sends a request with a signature, such as `fetch` of a client of `aws4fetch`. */
export type SignedFetch = (
  url: string,
  init: { readonly method: string; readonly body?: Uint8Array<ArrayBuffer> },
) => Promise<Response>;

/**
 * Keeps the bytes of artifacts in a bucket of an object store with the API of S3. For the `blobs` of `createTasks`. `bucket` is the address of
 * the bucket, with its name in the host or as the path; `fetch` signs requests.
 *
 * ```ts
 * const aws = new AwsClient({ accessKeyId, secretAccessKey, service: "s3" });
 * const blobs = s3Blobs("https://files.s3.eu-central-1.amazonaws.com", (url, init) => aws.fetch(url, init));
 * ```
 */
export function s3Blobs(bucket: string, fetch: SignedFetch): Blobs {
  const root = new URL(bucket).href.replace(/\/+$/, "");
  const addressOf = (name: string): string => `${root}/${encoded(name)}`;
  return {
    async put(name, data) {
      await discard(await answer(fetch(addressOf(name), { method: "PUT", body: Uint8Array.from(data) })));
    },
    async get(name) {
      const found = await answerIfAny(fetch(addressOf(name), { method: "GET" }));
      return found && beginningOf(found);
    },
    async delete(name) {
      const deleted = await answerIfAny(fetch(addressOf(name), { method: "DELETE" }));
      if (deleted !== undefined) await discard(deleted);
    },
    list: (prefix) => keysIn(fetch, `${root}/`, prefix),
  };
}

async function* keysIn(fetch: SignedFetch, bucket: string, prefix: string): AsyncGenerator<string> {
  for (let next: string | undefined = ""; next !== undefined;) {
    const query = new URLSearchParams({
      "list-type": "2",
      prefix,
      ...(next !== "" && { "continuation-token": next }),
    });
    const response = await answer(fetch(`${bucket}?${query.toString()}`, { method: "GET" }));
    const page = await response.text();
    for (const [, key = ""] of page.matchAll(/<Key>([^<]*)<\/Key>/g)) yield key;
    next = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(page)?.[1];
  }
}

function encoded(name: string): string {
  return name.split("/").map(encodeURIComponent).join("/");
}

/** Rejects with what the object store says if it refuses. */
async function answer(asked: Promise<Response>): Promise<Response> {
  const response = await asked;
  if (response.ok) return response;
  throw refusal(response, (await beginningOf(response)).toString());
}

/** The same; undefined if there is no such key in the bucket. */
async function answerIfAny(asked: Promise<Response>): Promise<Response | undefined> {
  const response = await asked;
  if (response.ok) return response;
  const text = (await beginningOf(response)).toString();
  if (response.status === 404 && (text === "" || text.includes("<Code>NoSuchKey</Code>"))) return undefined;
  throw refusal(response, text);
}

function refusal({ status, statusText }: Response, text: string): Error {
  const said = /<Message>([^<]*)<\/Message>/.exec(text)?.[1] ?? statusText;
  return new Error(`the object store answered ${status}: ${said}`);
}

/** A blob is no longer than that: what comes after it is of something else, and is not read. */
const mostBytes = 1024 * 1024;

async function beginningOf({ body }: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > mostBytes) break;
  }
  return Buffer.concat(chunks);
}

/** Its connection can be used again. */
async function discard(response: Response): Promise<void> {
  await response.body?.cancel();
}
