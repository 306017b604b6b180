import {
  assertSecureTokenEndpoint,
  fetchToken,
  OAuthError,
  registerClient,
  type OAuthTokens,
  type StoredOAuthClientInformation,
} from "@modelcontextprotocol/client";
import { isJsonObject } from "../../generation/message.ts";
import { TaskClientError } from "../task-client-error.ts";
import { type Login } from "./login.ts";
import {
  assertClient,
  configuredClient,
  defaultClientName,
  endpointOf,
  type LoginAddress,
  loginAuthority,
  loginClient,
  LoginFlow,
  type LoginRun,
  resourceOf,
  scopeFor,
} from "./login-run.ts";
import { authFailure, isOutage, withTokens } from "./tokens.ts";

const grantType = "urn:ietf:params:oauth:grant-type:device_code";
/** The seconds between two requests if the server names none, and how many to add each time it asks for more (RFC 8628, 3.5). */
const pauseSeconds = 5;

/** Logs in from any other device: the user enters a code on a page while this program polls (RFC 8628). */
export async function deviceLogin(run: LoginRun): Promise<Login> {
  const { authority, options, server, clock } = run;
  const { onAddress } = options;
  if (onAddress === undefined)
    throw new RangeError("logIn needs onAddress, to show the user where to log in.");
  try {
    const client = await clientFor(run);
    const flow = new LoginFlow({ ...flowOptions(run), clientInformation: client });
    const resource = await resourceOf(server, flow, authority.info);
    const scope = scopeFor(options.scope, authority);
    const device = await askForCode(run, client, { scope, resource });
    await onAddress(device.address);
    const tokens = await untilLoggedIn(run, client, { ...device, resource });
    const grant = "device_code";
    const known = { ...loginAuthority(authority), client: loginClient(client), grant } as const;
    return withTokens(known, { scope, ...tokens }, clock.now());
  } catch (cause) {
    throw authFailure("The login failed", cause);
  }
}

/** Identified by its metadata document if the server supports that, otherwise registered. */
async function clientFor(run: LoginRun): Promise<StoredOAuthClientInformation> {
  const { authority, options, fetch: fetchIt } = run;
  assertClient(options, authority);
  const configured = configuredClient(options, authority);
  if (configured !== undefined) return configured;
  const { clientMetadataUrl } = options;
  const { issuer, info } = authority;
  const metadata = info.authorizationServerMetadata;
  const takesUrls = metadata?.["client_id_metadata_document_supported"] === true;
  if (clientMetadataUrl !== undefined && takesUrls) return { client_id: clientMetadataUrl, issuer };
  const { clientMetadata } = new LoginFlow(flowOptions(run));
  const more = metadata === undefined ? {} : { metadata };
  return { ...(await registerClient(issuer, { clientMetadata, fetchFn: fetchIt, ...more })), issuer };
}

function flowOptions({ options: { clientName = defaultClientName } }: LoginRun): {
  readonly clientName: string;
  readonly grantType: string;
} {
  return { clientName, grantType };
}

interface Device {
  readonly code: string;
  readonly address: LoginAddress;
  readonly intervalSeconds: number;
}

interface Asked {
  readonly scope: string | undefined;
  readonly resource: string | undefined;
}

async function askForCode(
  { authority, fetch: fetchIt }: LoginRun,
  { client_id: id, client_secret: secret }: StoredOAuthClientInformation,
  asked: Asked,
): Promise<Device> {
  const endpoint = endpointOf(authority.info, "device_authorization_endpoint");
  if (endpoint === undefined)
    throw new TaskClientError("protocol", `${authority.issuer} does not support logging in with a code`);
  const given = { client_id: id, client_secret: secret, ...asked };
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) if (value !== undefined) form.set(name, value);
  const response = await fetchIt(assertSecureTokenEndpoint(endpoint), {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
    body: form,
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!isJsonObject(answer)) throw unreadable(authority.issuer, response.status);
  const { error, error_description: description } = answer;
  if (typeof error === "string")
    throw new OAuthError(error, typeof description === "string" ? description : error);
  return readDevice(answer) ?? raise(unreadable(authority.issuer, response.status));
}

function readDevice(answer: Readonly<Record<string, unknown>>): Device | undefined {
  const { device_code: code, user_code: userCode, interval } = answer;
  const complete = answer["verification_uri_complete"];
  const page = typeof complete === "string" ? complete : answer["verification_uri"];
  if (typeof code !== "string" || typeof userCode !== "string" || typeof page !== "string") return undefined;
  const url = URL.parse(page);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") return undefined;
  const intervalSeconds = typeof interval === "number" && interval > 0 ? interval : pauseSeconds;
  return { code, address: { url, code: userCode }, intervalSeconds };
}

async function untilLoggedIn(
  run: LoginRun,
  client: StoredOAuthClientInformation,
  { code, intervalSeconds, resource }: Device & Pick<Asked, "resource">,
): Promise<OAuthTokens> {
  const { authority, clock, signal, fetch: fetchIt } = run;
  const tokenRequest = (): URLSearchParams =>
    new URLSearchParams({ grant_type: grantType, device_code: code });
  const flow = new LoginFlow({ ...flowOptions(run), clientInformation: client, tokenRequest });
  const metadata = authority.info.authorizationServerMetadata;
  for (let seconds = intervalSeconds; ;) {
    await clock.sleep(seconds * 1000, signal);
    try {
      return await fetchToken(flow, authority.issuer, {
        fetchFn: fetchIt,
        ...(metadata !== undefined && { metadata }),
        ...(resource !== undefined && { resource }),
      });
    } catch (error) {
      const reason = error instanceof OAuthError ? error.code : undefined;
      // Retry too if the request was lost, or the server could not answer it now (RFC 8628, 3.5).
      const isLost = (!(error instanceof OAuthError) || isOutage(error)) && !signal.aborted;
      if (reason === "slow_down") seconds += pauseSeconds;
      else if (reason === "expired_token")
        throw new TaskClientError("timeout", "The code was not entered in time");
      else if (reason !== "authorization_pending" && !isLost) throw error;
    }
  }
}

function unreadable(issuer: string, status: number): TaskClientError {
  return new TaskClientError("protocol", `${issuer} answered HTTP ${status} when asked for a code`);
}

function raise(error: Error): never {
  throw error;
}
