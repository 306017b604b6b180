import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { systemClock } from "../../../runtime/clock.ts";
import { HoldfastError } from "../../../task/fault.ts";
import { millisecondsOf } from "../../../task/time.ts";
import { packageVersion } from "../../../task/package.ts";
import { assertOptions } from "../../../options/options.ts";
import {
  adaptedRefusal,
  operatorEndpoint,
  type OperatorEndpoint,
  OperatorGate,
  type OperatorRequests,
  refusal,
  refusalOf,
} from "../operator-endpoint.ts";
import { dashboardOptions, type DashboardOptions, type Operator } from "../operator-options.ts";
import { type Administered, AdminRequests } from "../admin-endpoint.ts";
import { AllowedNames, reportHttpRefusal } from "../admission.ts";
import { BodyReads, type ParsedBody, bodyReadLimits } from "../request-body.ts";
import { pathOf } from "../http-request.ts";
import {
  csrfCookie,
  csrfIn,
  escapeHtml,
  Login,
  newCsrf,
  noCookie,
  operatorCookie,
  repeatsCsrf,
  strictCookie,
} from "./login.ts";
import { ledgerInMemory, OperatorSessions, sessionsOf } from "../../../admin/operator-sessions.ts";
import { OpenIdLogin, openIdPath } from "./openid.ts";
import type { Admin } from "../../../admin/operations.ts";
import { errorReporter } from "../../../runtime/error-reporter.ts";
import { defaultSettings } from "../../../runtime/options.ts";
import { insideOf } from "../../request.ts";
import type { Tasks } from "../../tasks.ts";

const mostLoginBytes = 16 * 1024;

const usualSessionMs = 8 * 3_600_000;

/** What a dashboard is made for. */
interface Shown extends Administered {
  /** Whether a link with the token in its query logs in. Use it only for links to one operator on the same machine. */
  readonly linksLogIn?: boolean;
}

/** Serves the page of operators, and the admin endpoint that it speaks to. */
export class DashboardRequests implements OperatorRequests {
  readonly path: string;
  readonly #shown: Shown;
  readonly #names: AllowedNames;
  readonly #gate: OperatorGate;
  readonly #bodies: BodyReads;
  readonly #login: Login;
  readonly #files: PageFiles;
  readonly #openId: OpenIdLogin | undefined;
  /** Where the page links to. */
  readonly #urls: { readonly traceUrl: string | null; readonly runbookUrl: string | null };
  readonly #api: AdminRequests;
  /** The operators of requests to the admin endpoint below. */
  readonly #operators = new WeakMap<Request, Operator>();

  /** Throws `configuration` for options that would admit everyone, or no one, and if the page was not built. */
  constructor(shown: Shown, options: DashboardOptions) {
    assertOptions("createDashboard", options, dashboardOptions);
    const { path = "/holdfast", authenticate, traceUrl, runbookUrl, openId, ...others } = options;
    const { sessionMs, allowedHosts, allowedOrigins, ...limits } = others;
    this.path = path;
    this.#shown = shown;
    this.#names = new AllowedNames(
      { ...(allowedHosts && { allowedHosts }), ...(allowedOrigins && { allowedOrigins }) },
      undefined,
    );
    const any = { allowedHosts: "any", allowedOrigins: "any" } as const;
    this.#gate = new OperatorGate("dashboard", { authenticate, ...any });
    // Nobody is known yet who logs in, and his form is small.
    this.#bodies = new BodyReads({ ...bodyReadLimits(shown, limits), maxBytes: mostLoginBytes });
    this.#login = new Login({
      path,
      gate: this.#gate,
      bodies: this.#bodies,
      sessions:
        sessionsOf(shown.admin) ??
        new OperatorSessions(
          ledgerInMemory(() => systemClock.now()),
          systemClock,
        ),
      lastsMs: sessionMs === undefined ? usualSessionMs : millisecondsOf(sessionMs),
      offer: openId && { path: openIdPath, label: openId.label ?? "Log in with your organization" },
      elapsed: () => systemClock.elapsed(),
    });
    this.#openId = openId && new OpenIdLogin(openId, path, this.#login, shown.onError);
    this.#files = new PageFiles(path);
    this.#urls = { traceUrl: traceUrl ?? null, runbookUrl: runbookUrl ?? null };
    const { admin, options: forms, onError } = shown;
    this.#api = new AdminRequests(
      { admin, options: forms, onError, events: undefined },
      {
        path: `${path}/api`,
        authenticate: async (request) => this.#operators.get(request),
        ...any,
        ...limits,
      },
    );
  }

  serves(pathname: string): boolean {
    return pathname === this.path || pathname.startsWith(`${this.path}/`);
  }

  async fetch(request: Request, parsed?: ParsedBody, address = ""): Promise<Response> {
    const { onError, events } = this.#shown;
    const answer = await this.#answer(request, parsed, address).catch((error: unknown) =>
      refusalOf(error, onError),
    );
    // A page without a login is no refused action, so nothing is reported.
    const isStranger = answer.status === 401 && saysWho(request);
    if (events !== undefined && (isStranger || answer.status === 403 || answer.status === 429))
      reportHttpRefusal(events, answer, { principal: null });
    return withPageHeaders(answer);
  }

  close(): void {
    this.#gate.close();
    this.#bodies.close();
    this.#api.close();
  }

  async #answer(request: Request, parsed: ParsedBody | undefined, address: string): Promise<Response> {
    const pathname = pathOf(request);
    if (!this.serves(pathname)) return refusal(404, "method_not_found", `Nothing is served at ${pathname}.`);
    const forbidden = this.#names.refusal(request);
    // The page is served under a name that was allowed, so it may ask under the same.
    if (forbidden !== undefined && !this.#isOwnPage(request)) return adaptedRefusal(forbidden);
    const [, place = ""] = pathname.slice(this.path.length).split("/");
    if (place === "login") return this.#logIn(request, parsed, address);
    const changes = request.method !== "GET" && request.method !== "HEAD";
    // For everyone: a cookie that can no longer be read should be removed.
    if (place === "logout") return this.#logOut(request);
    const operator = await this.#login.operatorOf(request);
    const isIn = !(operator instanceof Response);
    if (changes && isIn && !repeatsCsrf(request)) throw strange();
    if (!isIn) return isPage(place) && !changes ? this.#login.instead(request, operator) : operator;
    if (place === "api") {
      this.#operators.set(request, operator);
      return this.#api.fetch(request, parsed);
    }
    if (changes)
      return refusal(405, "invalid_request", "Only GET and HEAD are allowed.", { Allow: "GET, HEAD" });
    if (pathname === this.path) return this.#toItsFolder(request);
    return this.#show(request, place, operator);
  }

  #show(request: Request, place: string, operator: Operator): Response {
    if (place === "session") return this.#session(request, operator);
    if (this.#files.isAsset(place)) return this.#files.asset(place, request);
    if (isPage(place)) return this.#files.page(request);
    return refusal(404, "method_not_found", `Nothing is served at ${pathOf(request)}.`);
  }

  #session(request: Request, { actor, role = "admin" }: Operator): Response {
    const known = csrfIn(request);
    const csrf = known ?? newCsrf();
    const scope = { path: this.path, secure: request.url.startsWith("https:") };
    const session = { actor, role, csrf, version: packageVersion, ...this.#urls };
    return Response.json(session, {
      headers: known === undefined ? { "Set-Cookie": strictCookie(csrfCookie, csrf, scope) } : {},
    });
  }

  async #logIn(request: Request, parsed: ParsedBody | undefined, address: string): Promise<Response> {
    const { method, url } = request;
    const elsewhere = this.#openId?.answer(request, address);
    if (elsewhere !== undefined) return elsewhere;
    if (method === "POST") return this.#login.byForm(request, parsed, address);
    if (method !== "GET")
      return refusal(405, "invalid_request", "Only GET and POST are allowed.", { Allow: "GET, POST" });
    const { searchParams } = new URL(url);
    const token = searchParams.get("token");
    if (this.#shown.linksLogIn !== true || token === null) return this.#login.page();
    return this.#login.logIn(request, token, searchParams.get("next") ?? "", address);
  }

  async #logOut(request: Request): Promise<Response> {
    if (request.method !== "POST")
      return refusal(405, "invalid_request", "Only POST is allowed.", { Allow: "POST" });
    if (!repeatsCsrf(request)) throw strange();
    await this.#login.leave(request);
    const headers = new Headers();
    for (const name of [operatorCookie, csrfCookie]) headers.append("Set-Cookie", noCookie(name, this.path));
    return new Response(null, { status: 204, headers });
  }

  /** The page is a folder, so its address ends with a slash. */
  #toItsFolder({ url }: Request): Response {
    return new Response(null, { status: 302, headers: { Location: `${this.path}/${new URL(url).search}` } });
  }

  #isOwnPage({ headers }: Request): boolean {
    const [host, origin] = [headers.get("host") ?? "", headers.get("origin") ?? ""];
    if (!this.#names.allowsHost(host) || !URL.canParse(origin)) return false;
    const { protocol, host: from } = new URL(origin);
    // The port of the scheme may be left out.
    return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === from;
  }
}

/** Whether the script shows a page there: names with a dot are of files. */
function isPage(place: string): boolean {
  return !place.includes(".") && !["api", "session", "login", "logout"].includes(place);
}

function saysWho({ method, headers }: Request): boolean {
  return method !== "GET" || headers.has("authorization") || headers.has("cookie");
}

function strange(): HoldfastError {
  const message = "The X-CSRF-Token header is missing or does not match the page's cookie. Reload the page.";
  return new HoldfastError("insufficient_scope", message);
}

/** What the page may load: only its own script and style sheet. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const always: Readonly<Record<string, string>> = {
  "Content-Security-Policy": pagePolicy,
  "Cross-Origin-Opener-Policy": "same-origin",
  // With no-referrer browsers say of the login's form that it comes from nowhere (`Origin: null`).
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  // What operators see is for one of them; the files of the page say otherwise themselves.
  "Cache-Control": "no-store",
};

/** Adds headers that keep an answer out of other pages and caches, unless it sets its own. */
export function withPageHeaders(answer: Response): Response {
  // Headers of some responses cannot be changed.
  const response = new Response(answer.body, answer);
  for (const [name, value] of Object.entries(always))
    if (!response.headers.has(name)) response.headers.set(name, value);
  return response;
}

/** Where the build puts the page: beside the bundle that this is part of. */
const folder = new URL(
  import.meta.url.endsWith(".ts") ? "../../../../dist/dashboard/" : "./dashboard/",
  import.meta.url,
);

const contentTypes = {
  "app.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
} as const;

type AssetName = keyof typeof contentTypes;

interface Asset {
  readonly content: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  /** Made by the first request that takes it. */
  gzipped?: Uint8Array<ArrayBuffer>;
}

/** What is served of the page: its HTML, one script and one style sheet. */
export class PageFiles {
  readonly #html: string;
  readonly #assets = new Map<string, Asset>();

  /** Throws `configuration` if the page was not built. */
  constructor(path: string) {
    this.#html = read("index.html").toString("utf8").replaceAll("%BASE%", escapeHtml(path));
    for (const name of Object.keys(contentTypes)) {
      const content = read(name);
      // Weak, since it is that of the compressed form, too.
      const etag = `W/"${createHash("sha256").update(content).digest("base64url")}"`;
      this.#assets.set(name, { content, etag });
    }
  }

  isAsset(name: string): name is AssetName {
    return this.#assets.has(name);
  }

  page({ method }: Request): Response {
    const headers = { "Content-Type": "text/html; charset=utf-8" };
    return new Response(method === "HEAD" ? null : this.#html, { headers });
  }

  asset(name: AssetName, { method, headers: asked }: Request): Response {
    const asset = this.#assets.get(name);
    if (asset === undefined) throw new Error(`The dashboard has no file ${name}.`);
    const headers = new Headers({
      // The browser asks each time, and gets it only if it has changed.
      "Cache-Control": "private, no-cache",
      ETag: asset.etag,
      Vary: "Accept-Encoding",
    });
    const known = (asked.get("if-none-match") ?? "").split(/\s*,\s*/);
    if (known.includes(asset.etag)) return new Response(null, { status: 304, headers });
    headers.set("Content-Type", contentTypes[name]);
    const zipped = takesGzip(asked.get("accept-encoding") ?? "");
    if (zipped) headers.set("Content-Encoding", "gzip");
    const content = zipped ? (asset.gzipped ??= gzipSync(asset.content)) : asset.content;
    return new Response(method === "HEAD" ? null : content, { headers });
  }
}

function takesGzip(accepted: string): boolean {
  return /(?:^|,)\s*(?:gzip|\*)\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(accepted);
}

function read(name: string): Buffer<ArrayBuffer> {
  try {
    return readFileSync(new URL(name, folder));
  } catch (cause) {
    const message = `The dashboard's file dist/dashboard/${name} is missing from the holdfast package. In a clone, run npm run build; if you bundle your server, leave holdfast out of the bundle.`;
    throw new HoldfastError("configuration", message, { cause });
  }
}

/**
 * Serves the operators' dashboard on `options.path`, to operators that `authenticate` identifies. It shows the tasks of a server, or of an
 * `Admin`, such as the `remoteAdmin` of `holdfast/client` for a server that runs elsewhere. It neither starts nor stops the tasks. Throws
 * `configuration` without authentication.
 *
 * ```ts
 * app.use(createDashboard(tasks, { authenticate: adminToken(process.env.ADMIN_TOKEN, "on-call") }));
 * ```
 */
export function createDashboard(source: Tasks | Admin, options: DashboardOptions): OperatorEndpoint {
  const shown = shownOf(source);
  return operatorEndpoint(new DashboardRequests(shown, options), shown.onError);
}

function shownOf(source: Tasks | Admin): Shown {
  const inside = insideOf(source);
  if (inside !== undefined && "admin" in source) {
    const { runtime, onError, events } = inside;
    return { admin: source.admin, options: runtime.options, onError, events };
  }
  if (isAdmin(source)) {
    return { admin: source, options: defaultSettings, onError: errorReporter(undefined), events: undefined };
  }
  const message =
    "createDashboard takes what createTasks returns, or an Admin: createDashboard(tasks, { authenticate }).";
  throw new HoldfastError("configuration", message);
}

function isAdmin(source: Tasks | Admin): source is Admin {
  return "as" in source && "counts" in source;
}
