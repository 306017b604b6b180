import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { s3Blobs, type Blobs } from "holdfast/store";
import { expect, it, onTestFinished } from "vitest";
import { sampleBytes } from "../kit/sample-bytes.ts";

const listed = (keys: readonly string[], next: string | undefined): string =>
  `<?xml version="1.0"?><ListBucketResult><IsTruncated>${next !== undefined}</IsTruncated>${keys
    .map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`)
    .join(
      "",
    )}${next === undefined ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`}</ListBucketResult>`;

/** A bucket that answers as S3 does, two keys to a page, to requests with a signature. */
async function bucket(): Promise<{ readonly url: string; readonly stored: ReadonlyMap<string, Buffer> }> {
  const stored = new Map<string, Buffer>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const name = decodeURIComponent(pathname.replace("/files/", ""));
    const end = (status: number, body: string | Buffer = ""): void =>
      void response.writeHead(status).end(body);
    if (request.headers.authorization !== "signed")
      return end(403, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>");
    if (!pathname.startsWith("/files/"))
      return end(404, "<Error><Code>NoSuchBucket</Code><Message>No such bucket</Message></Error>");
    if (searchParams.has("list-type")) {
      const keys = [...stored.keys()]
        .toSorted()
        .filter((key) => key.startsWith(searchParams.get("prefix") ?? ""));
      const from = Number(searchParams.get("continuation-token") ?? 0);
      return end(
        200,
        listed(keys.slice(from, from + 2), from + 2 < keys.length ? String(from + 2) : undefined),
      );
    }
    if (request.method === "PUT") stored.set(name, Buffer.concat(chunks));
    if (request.method === "DELETE") return end(stored.delete(name) ? 204 : 404);
    const found = stored.get(name);
    return found === undefined ? end(404, "<Error><Code>NoSuchKey</Code></Error>") : end(200, found);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/files`, stored };
}

async function namesOf(blobs: Blobs, prefix: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const name of blobs.list(prefix)) names.push(name);
  return names;
}

it("keeps blobs in a bucket, by requests that somebody else signs", async () => {
  const { url, stored } = await bucket();
  const blobs = s3Blobs(url, (address, init) =>
    fetch(address, { ...init, headers: { authorization: "signed" } }),
  );
  const data = Buffer.from(sampleBytes(300_000));
  const names = ["s/a%2eb/x.0", "s/task/x.0", "s/task/x.1", "s/task/x.2", "s/task/x.3"];
  expect(await blobs.get("s/task/x.0")).toBeUndefined();
  expect(await namesOf(blobs, "s/")).toEqual([]);
  for (const name of names) await blobs.put(name, data);
  await blobs.put("t/task/x.0", new Uint8Array());
  expect([...stored.keys()]).toEqual([...names, "t/task/x.0"]);
  expect(data.equals((await blobs.get("s/a%2eb/x.0")) ?? new Uint8Array())).toBe(true);
  expect((await blobs.get("t/task/x.0"))?.length).toBe(0);
  expect(await namesOf(blobs, "s/")).toEqual(names);
  for (const name of [...names, "s/task/x.0"]) await blobs.delete(name);
  expect([...stored.keys()]).toEqual(["t/task/x.0"]);
});

it("rejects with the answer of a bucket that refuses", async () => {
  const { url } = await bucket();
  const blobs = s3Blobs(`${url}/`, (address, init) => fetch(address, init));
  const refused = "the object store answered 403: Access Denied";
  await expect(blobs.put("s/task/x.0", new Uint8Array(1))).rejects.toThrow(refused);
  await expect(blobs.get("s/task/x.0")).rejects.toThrow(refused);
  await expect(blobs.delete("s/task/x.0")).rejects.toThrow(refused);
  await expect(namesOf(blobs, "s/")).rejects.toThrow(refused);
  const signed = (address: string, init: RequestInit): Promise<Response> =>
    fetch(address, { ...init, headers: { authorization: "signed" } });
  const elsewhere = s3Blobs(url.replace("files", "fiels"), signed);
  await expect(elsewhere.get("s/task/x.0")).rejects.toThrow("404: No such bucket");
  await expect(elsewhere.delete("s/task/x.0")).rejects.toThrow("404: No such bucket");
});

it("takes a 404 that is not of the bucket for no answer, and reads no more of one than a blob can have", async () => {
  const page = s3Blobs("http://files", async () => new Response("<html>Not Found</html>", { status: 404 }));
  await expect(page.get("s/task/x.0")).rejects.toThrow("the object store answered 404");
  let pulled = 0;
  const endless = (): Response =>
    new Response(
      new ReadableStream({
        pull(controller) {
          if (++pulled > 100) controller.error(new Error("read on and on"));
          else controller.enqueue(new Uint8Array(256 * 1024));
        },
      }),
    );
  const data = await s3Blobs("http://files", async () => endless()).get("s/task/x.0");
  expect(data?.length).toBeGreaterThan(1024 * 1024);
  expect(pulled).toBeLessThan(10);
});
