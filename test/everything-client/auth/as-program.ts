import {
  CrossAppAccessProvider,
  discoverOAuthServerInfo,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
} from "@modelcontextprotocol/client";
import { logIn, memoryLogins } from "holdfast/client";
import * as z from "zod";
import { withHost } from "../host.ts";
import type { Run } from "../run.ts";
import { callEachTool } from "../tools.ts";
import { WorkloadProvider } from "./workload-provider.ts";

const secret = z.object({ client_id: z.string(), client_secret: z.string() });

/** The program logs in itself, by its secret. */
export async function withSecret(run: Run): Promise<void> {
  const { client_id: id, client_secret } = secret.parse(run.context);
  const store = memoryLogins();
  await logIn(run.url, { store, flow: "client", client: { id, secret: client_secret } });
  await withHost(run, callEachTool, { auth: store });
}

const key = z.object({ client_id: z.string(), private_key_pem: z.string(), signing_algorithm: z.string() });

/** The program proves its identity by a signature (`private_key_jwt`). */
export async function withKey(run: Run): Promise<void> {
  const {
    client_id: clientId,
    private_key_pem: privateKey,
    signing_algorithm: algorithm,
  } = key.parse(run.context);
  const expectedIssuer = await issuerFor(run);
  const auth = new PrivateKeyJwtProvider({ clientId, privateKey, algorithm, expectedIssuer });
  await withHost(run, callEachTool, { auth });
}

const employee = z.object({
  ...secret.shape,
  idp_client_id: z.string(),
  idp_id_token: z.string(),
  idp_token_endpoint: z.string(),
});

/** The user has logged in at his company already, whose identity provider vouches for him (SEP-990). */
export async function withEmployee(run: Run): Promise<void> {
  const context = employee.parse(run.context);
  const expectedIssuer = await issuerFor(run);
  const auth = new CrossAppAccessProvider({
    clientId: context.client_id,
    clientSecret: context.client_secret,
    expectedIssuer,
    assertion: async ({ resourceUrl: resource }) => {
      const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
        tokenEndpoint: context.idp_token_endpoint,
        clientId: context.idp_client_id,
        idToken: context.idp_id_token,
        audience: expectedIssuer,
        resource,
      });
      return jwtAuthGrant;
    },
  });
  await withHost(run, callEachTool, { auth });
}

const workload = z.object({ client_id: z.string(), valid_jwt: z.string() });

/** The machine on which the program runs vouches for it (SEP-1933). */
export async function withWorkload(run: Run): Promise<void> {
  const { client_id: clientId, valid_jwt: assertion } = workload.parse(run.context);
  await withHost(run, callEachTool, {
    auth: new WorkloadProvider(clientId, assertion, await issuerFor(run)),
  });
}

/**
 * Who gets the credentials. The suite tells nothing about that, so it is whoever the server names; a program of yours
 * is configured with its issuer.
 */
async function issuerFor({ url }: Run): Promise<string> {
  const { authorizationServerMetadata, authorizationServerUrl } = await discoverOAuthServerInfo(url);
  return authorizationServerMetadata?.issuer ?? authorizationServerUrl;
}
