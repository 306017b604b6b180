import { connect, logIn, logOut, memoryLogins } from "holdfast/client";
import { expect, it } from "vitest";
import { connected, visits } from "../client/auth/connected.ts";
import { OAuthServer } from "../client/auth/oauth-server.ts";
import { freePort } from "../client/auth/protected.ts";
import { newFolder, serveExample } from "../docs/example-process.ts";
import { text } from "../kit/messages.ts";

const env = (oauth: OAuthServer, port: number) => ({
  ISSUER: oauth.issuer,
  INTROSPECTION_SECRET: "secret",
  PORT: String(port),
  PUBLIC_URL: `http://127.0.0.1:${port}/mcp`,
});

it("forwards registration, logins, renewals and revocations upstream, and gives tasks to the token's subject [B-038]", async () => {
  const oauth = await OAuthServer.start({ metadataDocuments: false, issuerInAnswers: false });
  oauth.clients.set("reports", { id: "reports", secret: "secret", redirectUris: [] });
  const { url } = await serveExample(
    "authentication/proxy.ts",
    await newFolder(),
    env(oauth, await freePort()),
  );
  await expect(connect(url)).rejects.toMatchObject({ code: "unauthorized" });

  const store = memoryLogins();
  const login = await logIn(url, { store, onAddress: visits });
  expect(new URL(login.issuer).origin).toBe(new URL(url).origin);
  for (const path of ["/register", "/authorize", "/token"])
    expect([path, oauth.times(path)]).toEqual([path, 1]);
  expect(oauth.last("/authorize").get("resource")).toBe(url);

  const client = await connected(url, store);
  const handle = await client.startTool("send_report");
  expect(await handle.result()).toMatchObject(text("sent for ann"));

  oauth.expireAll();
  expect(await client.callTool("send_report")).toMatchObject(text("sent for ann"));
  expect([oauth.times("/token"), oauth.last("/token").get("grant_type")]).toEqual([2, "refresh_token"]);
  expect(await (await client.resume(handle.reference)).result()).toMatchObject(text("sent for ann"));

  oauth.user = "bob";
  const others = memoryLogins();
  await logIn(url, { store: others, onAddress: visits });
  const bob = await connected(url, others);
  await expect((await bob.resume(handle.reference)).result()).rejects.toMatchObject({ code: "unknown_task" });

  await logOut(url, { store });
  expect(oauth.times("/revoke")).toBeGreaterThan(0);
  await expect(client.callTool("send_report")).rejects.toMatchObject({ code: "unauthorized" });
  expect(await bob.callTool("send_report")).toMatchObject(text("sent for bob"));
});
