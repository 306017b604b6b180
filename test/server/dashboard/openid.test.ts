import type { Operator } from "holdfast/http";
import { expect, it } from "vitest";
import { Browser } from "./browser.ts";
import { IdentityProvider, type NextLogin } from "./identity-provider.ts";
import { shown, type ShownServer } from "./shown.ts";

/** Where the dashboard seems to be: nobody listens there, and the test takes the way back itself. */
const home = "https://ops.example.com";

const people: Readonly<Record<string, Operator>> = {
  "ann@example.com": { actor: "ann@example.com", role: "act" },
};

interface World extends ShownServer {
  readonly provider: IdentityProvider;
  /** Begins a login, and resolves with the path and query that the provider sends the browser back to. */
  readonly sentBack: (browser: Browser, next?: string) => Promise<string>;
}

async function world(): Promise<World> {
  const provider = await IdentityProvider.start();
  const server = await shown({
    dashboard: {
      openId: {
        issuer: provider.issuer,
        clientId: provider.client.id,
        clientSecret: provider.client.secret,
        redirectUri: `${home}/holdfast/login/openid/callback`,
        label: "Log in with Example",
        operator: ({ email }) => people[String(email)],
      },
    },
  });
  const sentBack = async (browser: Browser, next = "/holdfast/tools"): Promise<string> => {
    const begun = await browser.ask(`/holdfast/login/openid?next=${encodeURIComponent(next)}`);
    expect(begun.status).toBe(303);
    const { headers } = await fetch(begun.headers.get("location") ?? "", { redirect: "manual" });
    const { origin, pathname, search } = new URL(headers.get("location") ?? "");
    expect(origin).toBe(home);
    return `${pathname}${search}`;
  };
  return { ...server, provider, sentBack };
}

it("logs in whom the provider knows and the server wants, with the role that it gives, and records that", async () => {
  const { browser, sentBack, tasks } = await world();
  const page = await (await browser.ask("/holdfast/tools")).text();
  expect(page).toContain('<a href="/holdfast/login/openid?next=%2Fholdfast%2Ftools">Log in with Example</a>');
  const back = await browser.ask(await sentBack(browser));
  expect([back.status, back.headers.get("location")]).toEqual([303, "/holdfast/tools"]);
  for (const cookie of browser.set) expect(cookie).toMatch(/; HttpOnly/);
  expect(browser.set.filter((cookie) => cookie.startsWith("holdfast-operator"))).toEqual([
    expect.stringMatching(/SameSite=Lax; Secure$/),
  ]);
  expect(await browser.session()).toMatchObject({ actor: "ann@example.com", role: "act" });
  expect(browser.cookies.has("holdfast-openid")).toBe(false);
  expect(await tasks.admin.actions()).toMatchObject([{ actor: "ann@example.com", action: "login" }]);
});

it("leads nowhere else", async () => {
  const { browser, sentBack } = await world();
  const back = await browser.ask(await sentBack(browser, "https://evil.example/"));
  expect(back.headers.get("location")).toBe("/holdfast/");
});

it("takes no answer that it did not ask for, in this browser and just now", async () => {
  const { browser, origin, sentBack } = await world();
  const stolen = await sentBack(browser);
  const refused = async (by: Browser, path: string): Promise<void> => {
    const answer = await by.ask(path);
    expect([path, answer.status]).toEqual([path, 401]);
    expect(await answer.text()).toContain('<p role="alert">');
    expect(by.cookies.has("holdfast-operator")).toBe(false);
  };
  await refused(new Browser(origin), stolen);
  await refused(browser, stolen.replace(/state=[^&]+/, "state=other"));
  const used = await sentBack(browser);
  expect((await browser.ask(used)).status).toBe(303);
  const another = new Browser(origin);
  await sentBack(another);
  await refused(another, used);
  await refused(another, "/holdfast/login/openid/callback");
});

it.each<[string, NextLogin]>([
  ["for another client", { claims: { sub: "1" }, wrong: { aud: "other" } }],
  ["of another issuer", { claims: { sub: "1" }, wrong: { iss: "https://other.example" } }],
  ["of another login", { claims: { sub: "1" }, wrong: { nonce: "other" } }],
  ["that is too old", { claims: { sub: "1" }, wrong: { exp: 1 } }],
  ["that another key has signed", { claims: { sub: "1", email: "ann@example.com" }, isForged: true }],
  ["for nobody that is an operator", { claims: { sub: "2", email: "eve@example.com" } }],
])("refuses an id token %s", async (_, next) => {
  const { browser, provider, sentBack, tasks } = await world();
  provider.next = next;
  expect((await browser.ask(await sentBack(browser))).status).toBe(401);
  expect(browser.cookies.has("holdfast-operator")).toBe(false);
  expect(await tasks.admin.actions()).toEqual([]);
});

it("lets each tab end the login that it began, and none of them one that failed", async () => {
  const { browser, sentBack } = await world();
  const tabs = [await sentBack(browser, "/holdfast/a"), await sentBack(browser, "/holdfast/b")];
  await browser.ask("/holdfast/login/openid/callback?state=other&code=1");
  for (const [tab, page] of [
    [0, "/holdfast/a"],
    [1, "/holdfast/b"],
  ] as const) {
    const back = await browser.ask(tabs[tab] ?? "");
    expect([back.status, back.headers.get("location")]).toEqual([303, page]);
  }
  expect(browser.cookies.has("holdfast-openid")).toBe(false);
});

it("gives a browser no cookie that it does not keep", async () => {
  const { browser, sentBack } = await world();
  for (let tab = 0; tab < 4; tab++) await sentBack(browser, `/holdfast/tasks?q=${"é".repeat(290)}`);
  const longest = Math.max(...browser.set.map((cookie) => cookie.length));
  expect([longest > 2_000, longest < 4_096]).toEqual([true, true]);
  const back = await browser.ask(await sentBack(browser, `/holdfast/tasks?q=${"x".repeat(4_000)}`));
  expect(back.headers.get("location")).toBe("/holdfast/");
});

it("asks the provider ten times a minute for an address, and lets in whoever it confirms", async () => {
  const { browser, origin, sentBack, provider } = await world();
  const state = { state: "s", nonce: "n", verifier: "v", next: "" };
  const made = Buffer.from(JSON.stringify([state])).toString("base64url");
  const answers: number[] = [];
  const failing = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      const { status } = await fetch(`${origin}/holdfast/login/openid/callback?state=s&code=1`, {
        headers: { cookie: `holdfast-openid=${made}` },
      });
      answers.push(status);
    }
  };
  await failing(9);
  expect((await browser.ask(await sentBack(browser))).status).toBe(303);
  await failing(11);
  expect(answers).toEqual([...Array.from({ length: 19 }, () => 401), 429]);
  const asked = provider.asked;
  const refused = await browser.ask(await sentBack(browser));
  expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
  expect(provider.asked).toBe(asked);
});

it("reports nothing of answers that somebody made up", async () => {
  const { origin, sentBack, errors } = await world();
  for (const made of [{ code: "x" }, { code: "" }, {}, { response: "x.y.z" }, { error: "denied" }]) {
    const browser = new Browser(origin);
    const state = new URL(await sentBack(browser), home).searchParams.get("state") ?? "";
    const query = new URLSearchParams({ ...made, state });
    expect((await browser.ask(`/holdfast/login/openid/callback?${query.toString()}`)).status).toBe(401);
  }
  expect(errors).toEqual([]);
});

it("says that the provider is away, and asks it again", async () => {
  const server = await shown({
    dashboard: {
      openId: {
        issuer: "http://127.0.0.1:1",
        clientId: "dashboard",
        redirectUri: `${home}/holdfast/login/openid/callback`,
        operator: () => undefined,
      },
    },
  });
  for (let time = 0; time < 2; time++) {
    const answer = await server.browser.ask("/holdfast/login/openid");
    expect([answer.status, await answer.text()]).toEqual([
      503,
      expect.stringContaining("The identity provider does not answer. Try again."),
    ]);
  }
  expect(server.errors).toHaveLength(2);
});

it("reports why a login fails that its operator cannot mend, and no refusal of a person", async () => {
  const { browser, provider, sentBack, errors } = await world();
  const path = await sentBack(browser);
  const state = new URL(path, home).searchParams.get("state") ?? "";
  const denied = `/holdfast/login/openid/callback?error=access_denied&state=${state}`;
  expect((await browser.ask(denied)).status).toBe(401);
  expect(errors).toEqual([]);
  Object.assign(provider.client, { secret: "changed" });
  expect((await browser.ask(await sentBack(browser))).status).toBe(401);
  expect(errors).toEqual([expect.objectContaining({ error: "invalid_client" })]);
});

it.each(["http://localhost.example.com", "http://127.0.0.1.example.com"])(
  "asks no provider without TLS that only looks as if it were here: %s",
  async (issuer) => {
    const redirectUri = `${home}/holdfast/login/openid/callback`;
    const operator = (): undefined => undefined;
    const server = await shown({
      dashboard: { openId: { issuer, clientId: "dashboard", redirectUri, operator } },
    });
    expect((await server.browser.ask("/holdfast/login/openid")).status).toBe(503);
    expect(server.errors).toEqual([expect.objectContaining({ code: "OAUTH_HTTP_REQUEST_FORBIDDEN" })]);
  },
);
