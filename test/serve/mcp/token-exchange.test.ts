import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { askForToken, Sender } from "../../../src/serve/http/send.ts";
import { exchangedTokens, mcpUpstream } from "../../../src/serve/mcp/mcp-upstream.ts";

async function tokenFrom(answer: RequestListener): Promise<unknown> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const exchange = { tokenEndpoint: `http://127.0.0.1:${port}/token` };
  const tokens = exchangedTokens(exchange, async () => "ann's");
  return tokens.then(
    async (token) => token(),
    (error: unknown) => error,
  );
}

it("is not kept by an authorization server that answers without an end", async () => {
  const part = Buffer.alloc(1 << 20, "a");
  let sent = 0;
  const fault = await tokenFrom((_, response) => {
    response.write('{"access_token":"');
    const more = (): void => {
      while (!response.destroyed && sent < 200 * part.length) {
        sent += part.length;
        if (!response.write(part)) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  });
  expect(String(fault)).toMatch(/authorization server gave no token/);
  expect(sent).toBeLessThan(100 * part.length);
});

it.each([
  [400, '{"error":"invalid_target"}', /gave no token \(HTTP 400: invalid_target\)/, "NonRetryableError"],
  [200, "<html>", /gave no token \(HTTP 200\)/, "NonRetryableError"],
  [200, '{"access_token":5}', /gave no token \(HTTP 200\)/, "NonRetryableError"],
  [200, '{"access_token":"a","token_type":"mac"}', /gave a token of type "mac"/, "NonRetryableError"],
  [503, "", /gave no token \(HTTP 503\)/, "Error"],
])("says why there is no token: %s %s", async (status, body, why, name) => {
  const fault = await tokenFrom((_, response) => void response.writeHead(status).end(body));
  expect(fault).toMatchObject({ name, message: expect.stringMatching(why) });
});

it("says that an authorization server cannot be reached, and why", async () => {
  const fault = await tokenFrom((request) => void request.socket.destroy());
  expect(String(fault)).toMatch(/authorization server http:.*\/token does not answer: socket hang up/);
});

it("is not asked again for where an authorization server may not be reached", async () => {
  const asked = askForToken(new Sender(), "http://127.0.0.1:9/token", new URLSearchParams(), {});
  await expect(asked).rejects.toMatchObject({
    name: "NonRetryableError",
    message: expect.stringMatching(/^http:.*\/token may not be reached: .* list it in allow/),
  });
});

it("sends callers' tokens nowhere that others on the network can read them", () => {
  const upstream = (tokenEndpoint: string) => () =>
    mcpUpstream("up", { url: "https://up.example/mcp", exchange: { tokenEndpoint } });
  for (const url of ["https://login.example/token", "http://127.0.0.1:1/token", "http://[::1]:1/token"])
    expect(upstream(url)).not.toThrow();
  for (const url of ["http://login.example/token", "http://localhost.example/token", "ftp://[::1]/", ""])
    expect(upstream(url)).toThrow(/tokenEndpoint.* must be an https URL, or one of this machine/);
});
